"""Whether a task fits an instance: its ports are free, its memory is there, and the instance is of its type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from scripts.local_cloud.ecs.resources import Cluster, ContainerInstance, Task

_TYPE = re.compile(r"^attribute:ecs\.instance-type\s*==\s*(\S+)$")
# What the agent and the system keep of an instance's memory (serving facts §1.5: less than nominal registers).
_USABLE_MEMORY = 0.95
# For types that moto's capture does not have, such as those of Trn3: as large as the largest Trn2 type.
_UNKNOWN_MEMORY_MIB, _UNKNOWN_VCPUS = 2097152, 192


def size_of(instance_type: str) -> tuple[int, int]:
    """Memory in MiB that tasks can have, and vCPUs."""
    known = INSTANCE_TYPES.get(instance_type)
    if known is None:
        return int(_UNKNOWN_MEMORY_MIB * _USABLE_MEMORY), _UNKNOWN_VCPUS
    memory = int(known["MemoryInfo"]["SizeInMiB"] * _USABLE_MEMORY)
    return memory, int(known["VCpuInfo"]["DefaultVCpus"])


def ports(definition: dict[str, Any]) -> set[int]:
    fixed = definition.get("networkMode") == "host"
    return {
        mapping.get("hostPort") or (mapping["containerPort"] if fixed else 0)
        for container in definition["containerDefinitions"]
        for mapping in container.get("portMappings") or ()
        if definition.get("networkMode") != "awsvpc"
    } - {0}


def memory_mib(definition: dict[str, Any]) -> int:
    if definition.get("memory"):
        return int(definition["memory"])
    return sum(
        int(container.get("memoryReservation") or container.get("memory") or 0)
        for container in definition["containerDefinitions"]
    )


def place(cluster: Cluster, task: Task) -> bool:
    """Gives the task an instance of its provider that has room for it; Fargate needs none."""
    if task.launch_type == "FARGATE":
        task.change("PENDING")
        return True
    for instance in cluster.instances.values():
        there = tasks_on(cluster, instance)
        if instance.draining:
            continue
        if task.provider in ("", instance.provider) and fits(task.definition, instance, there):
            task.instance_id, task.container_instance = instance.instance_id, instance.arn
            task.zone = instance.zone
            if task.definition.get("networkMode") == "awsvpc":
                task.address = instance.address
            task.change("PENDING")
            return True
    return False


def tasks_on(cluster: Cluster, instance: ContainerInstance) -> list[Task]:
    """Those that are stopping included: they hold what they had."""
    return [
        task
        for task in cluster.tasks
        if task.instance_id == instance.instance_id and task.status != "STOPPED"
    ]


def fits(definition: dict[str, Any], instance: ContainerInstance, others: Iterable[Task]) -> bool:
    """Beside the tasks that the instance has."""
    return not lack(definition, instance, others)


def lack(definition: dict[str, Any], instance: ContainerInstance, others: Iterable[Task]) -> str:
    """What the instance lacks for a task, as RunTask words it; "" when it has room."""
    there = list(others)
    if not type_allowed(definition, instance.instance_type):
        return "MemberOf placement constraint unsatisfied."
    if any(ports(definition) & ports(task.definition) for task in there):
        return "RESOURCE:PORTS"
    if (takes_all_devices(definition) and there) or any(takes_all_devices(task.definition) for task in there):
        return "RESOURCE:NEURON_DEVICE"
    taken = sum(memory_mib(task.definition) for task in there)
    return "" if taken + memory_mib(definition) <= instance.memory_mib else "RESOURCE:MEMORY"


def type_allowed(definition: dict[str, Any], instance_type: str) -> bool:
    for constraint in definition.get("placementConstraints") or ():
        match = _TYPE.match(constraint.get("expression", ""))
        if match is not None and match.group(1) != instance_type:
            return False
    return True


def takes_all_devices(definition: dict[str, Any]) -> bool:
    return any(
        requirement["type"] == "NeuronDevice"
        for container in definition["containerDefinitions"]
        for requirement in container.get("resourceRequirements") or ()
    )
