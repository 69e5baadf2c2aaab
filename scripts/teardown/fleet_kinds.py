"""What a fleet's stack is made of, one by one: for what CloudFormation failed to delete, and what was made beside it.

By the ARN that the tagging API lists: which kind it is, what its deletion takes, and whether it is really still there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from scripts.aws import alarms, ecs, efs, elbv2, lambda_functions, ssm
from scripts.aws.cloud import Cloud
from stacks.domain.names import FLEET_TAG

ACCESS_POINT: Final = "EFS access point"
ALARM: Final = "alarm"
AUTO_SCALING_GROUP: Final = "Auto Scaling group"
FUNCTION: Final = "Lambda function"
LISTENER: Final = "listener"
LISTENER_RULE: Final = "listener rule"
LOAD_BALANCER: Final = "load balancer"
NODES: Final = "nodes of Auto Scaling group"
"""Not a thing of its own: the instances of a group that CloudFormation deletes afterwards."""
PARAMETER: Final = "parameter"
REGISTERED: Final = "instances registered with ECS cluster"
REPLICAS: Final = "replicas of service"
"""Not a thing of its own: the tasks of a service that is to be drained before its stack goes."""
TARGET_GROUP: Final = "target group"


@dataclass(frozen=True, slots=True)
class FleetKind:
    name: str
    exists: Callable[[Cloud, str], bool]


def _is_service(cloud: Cloud, arn: str) -> bool:
    return any(one.status != "INACTIVE" for one in ecs.services(cloud, cluster_of(arn), [arn]))


def _is_provider(cloud: Cloud, arn: str) -> bool:
    return ecs.find_capacity_provider(cloud, arn) is not None


def _is_parameter(cloud: Cloud, arn: str) -> bool:
    return ssm.find_parameter(cloud, parameter_of(arn)) is not None


_BY_RESOURCE: Final[Mapping[tuple[str, str], FleetKind]] = {
    ("ecs", "cluster"): FleetKind(ecs.CLUSTER, ecs.cluster_is_active),
    ("ecs", "service"): FleetKind(ecs.SERVICE, _is_service),
    ("ecs", "task"): FleetKind(ecs.TASK, ecs.lone_task_runs),
    ("ecs", "task-definition"): FleetKind(ecs.TASK_DEFINITION, ecs.task_definition_is_active),
    ("ecs", "capacity-provider"): FleetKind(ecs.CAPACITY_PROVIDER, _is_provider),
    ("elasticloadbalancing", "loadbalancer"): FleetKind(LOAD_BALANCER, elbv2.load_balancer_exists),
    ("elasticloadbalancing", "targetgroup"): FleetKind(TARGET_GROUP, elbv2.target_group_exists),
    ("elasticloadbalancing", "listener"): FleetKind(LISTENER, elbv2.listener_exists),
    ("elasticloadbalancing", "listener-rule"): FleetKind(LISTENER_RULE, elbv2.rule_exists),
    ("elasticfilesystem", "access-point"): FleetKind(ACCESS_POINT, efs.access_point_exists),
    ("lambda", "function"): FleetKind(FUNCTION, lambda_functions.exists),
    ("cloudwatch", "alarm"): FleetKind(ALARM, alarms.exists),
    ("ssm", "parameter"): FleetKind(PARAMETER, _is_parameter),
}


def kind_of(arn: str) -> FleetKind | None:
    service, resource = arn.split(":", 5)[2], arn.split(":", 5)[5]
    return _BY_RESOURCE.get((service, resource.replace(":", "/").partition("/")[0]))


def is_of_a_fleet(cloud: Cloud, arn: str) -> bool:
    """AWS Batch has clusters, tasks and task definitions in ECS as well, with our tag, and they are its own affair."""
    return arn.split(":", 5)[2] != "ecs" or FLEET_TAG in ecs.tags(cloud, arn)


def name_of_kind(cloud: Cloud, arn: str) -> str:
    """Of one of `kind_of`'s. What the ARN does not say: whether a capacity provider is one of Managed Instances."""
    kind = kind_of(arn)
    if kind is None:
        raise ValueError(f"no part of a fleet: {arn}")
    provider = ecs.find_capacity_provider(cloud, arn) if kind.name == ecs.CAPACITY_PROVIDER else None
    return ecs.MANAGED_PROVIDER if provider is not None and provider.cluster else kind.name


def id_of(arn: str) -> str:
    """What the deletion takes: the ARN but where only a name will do."""
    kind = kind_of(arn)
    return parameter_of(arn) if kind is not None and kind.name == PARAMETER else arn


def parameter_of(arn: str) -> str:
    return f"/{arn.partition(':parameter/')[2]}"


def cluster_of(arn: str) -> str:
    """Of a service or a task: the cluster's name is part of the ARN."""
    return arn.split("/")[1]
