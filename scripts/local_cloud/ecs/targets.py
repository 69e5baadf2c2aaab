"""Tasks as targets of load balancers: registered when they run, healthy after a moment, unhealthy by a planted fault.

A fault {"service": "target-health", "action"?: name of a target group, "times": null} makes targets unhealthy for as
long as it is planted.
"""

from __future__ import annotations

from typing import Any

from moto.elbv2.models import FakeTargetGroup, elbv2_backends

from scripts.local_cloud import runtime
from scripts.local_cloud.ecs.backend import EcsBackend
from scripts.local_cloud.ecs.resources import Service, Task, emulated_seconds

HEALTHY_AFTER_SECONDS = 1.0


def register(backend: EcsBackend, service: Service, task: Task) -> None:
    for group, target in _targets(backend, service, task):
        group.targets[_key(target)] = target


def deregister(backend: EcsBackend, service: Service, task: Task) -> None:
    for group, target in _targets(backend, service, task):
        group.targets.pop(_key(target), None)


def healthy(backend: EcsBackend, service: Service, task: Task) -> bool:
    """True for a running task that no load balancer asks about, too."""
    return task.status == "RUNNING" and all(
        state(group, task) == "healthy" for group, _ in _targets(backend, service, task)
    )


def unhealthy_group(backend: EcsBackend, service: Service, task: Task) -> str:
    """The target group that finds the task unhealthy, or ""."""
    groups = [group for group, _ in _targets(backend, service, task)]
    return next((group.arn for group in groups if state(group, task) == "unhealthy"), "")


def state(group: FakeTargetGroup, task: Task) -> str:
    if runtime.current().faults.take_call("target-health", group.name) is not None:
        return "unhealthy"
    return "healthy" if emulated_seconds(task.since) >= HEALTHY_AFTER_SECONDS else "initial"


def _targets(
    backend: EcsBackend, service: Service, task: Task
) -> list[tuple[FakeTargetGroup, dict[str, Any]]]:
    groups = elbv2_backends[backend.account_id][backend.region_name].target_groups
    return [
        (groups[entry["targetGroupArn"]], _target(task, entry))
        for entry in service.request.get("loadBalancers") or ()
        if entry.get("targetGroupArn") in groups and task.instance_id
    ]


def _target(task: Task, entry: dict[str, Any]) -> dict[str, Any]:
    container = next(
        one for one in task.definition["containerDefinitions"] if one["name"] == entry["containerName"]
    )
    mapping = next(one for one in container["portMappings"] if one["containerPort"] == entry["containerPort"])
    port = mapping.get("hostPort") or mapping["containerPort"]
    return {"Id": task.address or task.instance_id, "Port": port, "task": task}


def _key(target: dict[str, Any]) -> str:
    """A target is its address and its port: slices of an instance share the address."""
    return f"{target['Id']}:{target['Port']}"
