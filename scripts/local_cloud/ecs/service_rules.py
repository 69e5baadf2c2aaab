"""What CreateService and UpdateService refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from moto.elbv2.models import FakeTargetGroup, elbv2_backends

from scripts.local_cloud.ecs.errors import InvalidParameterException
from scripts.local_cloud.ecs.resources import Cluster

_PROVIDERS_MAX = 20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")
_STRATEGY_MAX = {"weight": 1000, "base": 100000}
FARGATE = ("FARGATE", "FARGATE_SPOT")


def check_strategy(cluster: Cluster, strategy: list[dict[str, Any]]) -> None:
    if len(strategy) > _PROVIDERS_MAX:
        raise InvalidParameterException(f"A strategy has up to {_PROVIDERS_MAX} capacity providers.")
    if sum(bool(item.get("base")) for item in strategy) > 1:
        raise InvalidParameterException("Only one capacity provider of a strategy can have a base.")
    if len(strategy) > 1 and not any(item.get("weight") for item in strategy):
        raise InvalidParameterException(
            "At least one capacity provider of a strategy must have a weight above 0."
        )
    for item in strategy:
        _check_item(cluster, item)
    fargate = [item["capacityProvider"] in FARGATE for item in strategy]
    if any(fargate) and not all(fargate):
        raise InvalidParameterException(
            "A capacity provider strategy cannot contain a mix of capacity providers using Auto Scaling groups and "
            "Fargate providers. Specify one or the other and try again."
        )


def _check_item(cluster: Cluster, item: Mapping[str, Any]) -> None:
    if item["capacityProvider"] not in cluster.providers:
        raise InvalidParameterException(
            "The specified capacity provider strategy cannot contain a capacity provider that is not associated with "
            "the cluster. Associate the capacity provider with the cluster and try again."
        )
    for name, most in _STRATEGY_MAX.items():
        if not 0 <= item.get(name, 0) <= most:
            raise InvalidParameterException(f"The {name} of a capacity provider must be from 0 to {most}.")


def launch_type(request: Mapping[str, Any]) -> str:
    """What tasks of the request say of themselves: EC2 or FARGATE, by launch type or capacity provider."""
    strategy = request.get("capacityProviderStrategy") or ()
    fargate = any(item["capacityProvider"] in FARGATE for item in strategy)
    return "FARGATE" if fargate else str(request.get("launchType") or "EC2")


def check_compatibility(request: Mapping[str, Any], definition: Mapping[str, Any]) -> None:
    """Whether the task definition was made for Fargate, if it is to run there."""
    if launch_type(request) == "FARGATE" and "FARGATE" not in definition["compatibilities"]:
        raise InvalidParameterException("Task definition does not support launch_type FARGATE.")
    if launch_type(request) == "EC2" and list(definition["compatibilities"]) == ["FARGATE"]:
        raise InvalidParameterException("Task definition does not support launch_type EC2.")


def check_one_way(request: Mapping[str, Any]) -> None:
    if request.get("launchType") and request.get("capacityProviderStrategy"):
        raise InvalidParameterException(
            "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again."
        )


def check_deployments(request: Mapping[str, Any]) -> None:
    if request.get("desiredCount", 0) < 0:
        raise InvalidParameterException("desiredCount must not be negative.")
    if not _NAME.fullmatch(request.get("serviceName", "a")):
        raise InvalidParameterException(
            "A service name has up to 255 letters, numbers, underscores and hyphens."
        )
    configuration = request.get("deploymentConfiguration") or {}
    least, most = configuration.get("minimumHealthyPercent", 100), configuration.get("maximumPercent", 200)
    if least == most == 100:
        raise InvalidParameterException(
            "Both maximumPercent and minimumHealthyPercent cannot be 100 as this will block deployments."
        )
    if request.get("availabilityZoneRebalancing") == "ENABLED" and most <= 100:
        raise InvalidParameterException("availabilityZoneRebalancing needs a maximumPercent above 100.")
    breaker = configuration.get("deploymentCircuitBreaker") or {}
    if configuration.get("strategy", "ROLLING") != "ROLLING":
        raise InvalidParameterException("Only ROLLING deployments are emulated by the local cloud.")
    threshold = (breaker.get("thresholdConfiguration") or {}).get("value", 1)
    if threshold < 1:
        raise InvalidParameterException("The threshold of the deployment circuit breaker must be at least 1.")


def check_network(request: Mapping[str, Any], definition: Mapping[str, Any]) -> None:
    awsvpc = definition.get("networkMode") == "awsvpc"
    given = (request.get("networkConfiguration") or {}).get("awsvpcConfiguration")
    if awsvpc and not given:
        raise InvalidParameterException(
            "Network Configuration must be provided when networkMode 'awsvpc' is specified."
        )
    if given and not awsvpc:
        raise InvalidParameterException(
            "Network Configuration is not valid for the given networkMode of this task definition."
        )


def check_load_balancers(
    account: str, region: str, request: Mapping[str, Any], definition: Mapping[str, Any]
) -> None:
    for entry in request.get("loadBalancers") or ():
        arn = entry.get("targetGroupArn")
        group = elbv2_backends[account][region].target_groups.get(arn)
        if group is None:
            raise InvalidParameterException(f"Unable to assume role and validate the target group {arn}.")
        if not group.load_balancer_arns:
            raise InvalidParameterException(
                f"The target group with targetGroupArn {arn} does not have an associated load balancer."
            )
        _check_target_type(group, definition)
        _check_container(entry, definition)


def _check_target_type(group: FakeTargetGroup, definition: Mapping[str, Any]) -> None:
    mode = definition.get("networkMode", "bridge")
    wanted = "ip" if mode == "awsvpc" else "instance"
    if group.target_type != wanted:
        raise InvalidParameterException(
            f"The provided target group {group.arn} has target type {group.target_type}, which is incompatible with "
            f"the {mode} network mode specified in the task definition."
        )


def _check_container(entry: Mapping[str, Any], definition: Mapping[str, Any]) -> None:
    name, port = entry.get("containerName"), entry.get("containerPort")
    container = next((one for one in definition["containerDefinitions"] if one["name"] == name), None)
    if container is None:
        raise InvalidParameterException(f"The container {name} does not exist in the task definition.")
    if all(mapping["containerPort"] != port for mapping in container.get("portMappings") or ()):
        raise InvalidParameterException(f"The container {name} did not have a container port {port} defined.")
