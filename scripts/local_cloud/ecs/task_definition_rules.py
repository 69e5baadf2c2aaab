"""What RegisterTaskDefinition refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.ecs.errors import ClientException

_FAMILY = re.compile(r"[A-Za-z0-9_-]{1,255}")
_HEALTH_CHECK = {"interval": (5, 300), "timeout": (2, 60), "retries": (1, 10), "startPeriod": (0, 300)}
_NOT_ON_MANAGED_INSTANCES = (
    "ephemeralStorage",
    "extraHosts",
    "hostname",
    "ipcMode",
    "links",
    "sharedMemorySize",
    "tmpfs",
)
_FARGATE_STOP_SECONDS_MAX = 120


def check(request: Mapping[str, Any]) -> None:
    if not _FAMILY.fullmatch(request["family"]):
        raise ClientException("Invalid 'family' setting for task definition.")
    containers = request.get("containerDefinitions") or ()
    if not any(container.get("essential", True) for container in containers):
        raise ClientException("Invalid setting for container: at least one container has to be essential.")
    names = [container["name"] for container in containers]
    if len(set(names)) != len(names):
        raise ClientException("Two containers of the task definition have the same name.")
    _check_fargate(request)
    _check_managed_instances(request)
    for container in containers:
        _check_container(request, container)
    _check_neuron(request, containers)


def _check_fargate(request: Mapping[str, Any]) -> None:
    if "FARGATE" not in (request.get("requiresCompatibilities") or ()):
        return
    if request.get("networkMode") != "awsvpc":
        raise ClientException("Fargate only supports network mode 'awsvpc'.")
    if not request.get("cpu") or not request.get("memory"):
        raise ClientException("Fargate requires task definition to have cpu and memory defined.")
    for container in request.get("containerDefinitions") or ():
        if int(container.get("stopTimeout") or 0) > _FARGATE_STOP_SECONDS_MAX:
            raise ClientException("Fargate's stopTimeout is 120 seconds at most.")


def _check_managed_instances(request: Mapping[str, Any]) -> None:
    """ECS developer guide, managed-instances-tasks-services: parameters that are not valid there."""
    if "MANAGED_INSTANCES" not in (request.get("requiresCompatibilities") or ()):
        return
    found = [name for name in _NOT_ON_MANAGED_INSTANCES if request.get(name)]
    for container in request.get("containerDefinitions") or ():
        found += [name for name in _NOT_ON_MANAGED_INSTANCES if container.get(name)]
        linux = container.get("linuxParameters") or {}
        found += [name for name in _NOT_ON_MANAGED_INSTANCES if linux.get(name)]
    if found:
        raise ClientException(f"{found[0]} is not valid for tasks on Amazon ECS Managed Instances.")


def _check_container(request: Mapping[str, Any], container: Mapping[str, Any]) -> None:
    name = container.get("name")
    if not container.get("image"):
        raise ClientException("Container.image should not be null or empty.")
    hard, soft = container.get("memory"), container.get("memoryReservation")
    if not request.get("memory") and not hard and not soft:
        raise ClientException(
            f"Invalid setting for container '{name}'. At least one of 'memory' or 'memoryReservation' must be "
            "specified."
        )
    if hard and soft and hard < soft:
        raise ClientException(f"Invalid setting for container '{name}': memory is below memoryReservation.")
    for mapping in container.get("portMappings") or ():
        host = mapping.get("hostPort")
        if request.get("networkMode") in ("awsvpc", "host") and host not in (None, mapping["containerPort"]):
            raise ClientException(
                f"When networkMode={request['networkMode']}, the host ports and container ports in port mappings "
                "must match."
            )
    _check_references(request, container)
    _check_health_check(container)


def _check_references(request: Mapping[str, Any], container: Mapping[str, Any]) -> None:
    if container.get("secrets") and not request.get("executionRoleArn"):
        raise ClientException(
            "When you are specifying container secrets, you must also specify a value for 'executionRoleArn'."
        )
    volumes = {volume["name"] for volume in request.get("volumes") or ()}
    for mount in container.get("mountPoints") or ():
        if mount.get("sourceVolume") not in volumes:
            raise ClientException(f"Unknown volume '{mount.get('sourceVolume')}'.")


def _check_health_check(container: Mapping[str, Any]) -> None:
    for name, value in (container.get("healthCheck") or {}).items():
        least, most = _HEALTH_CHECK.get(name, (None, None))
        if least is not None and most is not None and not least <= value <= most:
            raise ClientException(f"Health check {name} must be between {least} and {most} seconds.")


def _check_neuron(request: Mapping[str, Any], containers: Any) -> None:
    """Devices are counted on Managed Instances only, all or none, for one container (serving facts §1.1)."""
    wanting = [
        (container, requirement)
        for container in containers
        for requirement in container.get("resourceRequirements") or ()
        if requirement["type"] == "NeuronDevice"
    ]
    if not wanting:
        return
    if list(request.get("requiresCompatibilities") or ()) != ["MANAGED_INSTANCES"]:
        raise ClientException(
            "NeuronDevice resource requirements need requiresCompatibilities MANAGED_INSTANCES."
        )
    if len(wanting) > 1:
        raise ClientException("NeuronDevice resource requirements belong to one container of a task.")
    container, requirement = wanting[0]
    if requirement["value"] != "ALL":
        raise ClientException(f"The value of NeuronDevice must be ALL, not {requirement['value']}.")
    if (container.get("linuxParameters") or {}).get("devices"):
        raise ClientException("Use either NeuronDevice or linuxParameters.devices, not both.")
