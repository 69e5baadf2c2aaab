"""Tasks of RunTask: accepted once for a client token, placed like those of services, and soon over with exit code 0.

No container runs, so nothing is done by them, and each says so. Faults that tests can plant:
{"service": "ecs-task", "action": "PlaceTask", "message": "RESOURCE:MEMORY"}: RunTask answers with this failure;
{"service": "ecs-task", "action": "ExitTask", "exit_code": 137, "message"?: …}: a running task ends with that code, its
container with that reason; without exit_code it runs on for as long as the fault is planted.
For tasks that never start, or fail when they start, see `emulation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from scripts.local_cloud import runtime
from scripts.local_cloud.ecs import placement, run_task_rules, service_rules
from scripts.local_cloud.ecs.backend import EcsBackend, lower_tags
from scripts.local_cloud.ecs.errors import ConflictException
from scripts.local_cloud.ecs.resources import (
    STARTED_AFTER_SECONDS,
    Cluster,
    Task,
    emulated_seconds,
    new_id,
    now,
)

ENDED_AFTER_SECONDS = 1.0
# A task waits for capacity 10 to 30 minutes (AWS's blog on cluster auto scaling).
PROVISIONING_SECONDS_MAX = 30 * 60.0
FORGOTTEN_AFTER_SECONDS = 3600.0

Failures = list[dict[str, str]]


# ---- RunTask


def run(backend: EcsBackend, cluster: Cluster, request: Mapping[str, Any]) -> tuple[list[Task], Failures]:
    run_task_rules.check_words(request)
    token = request.get("clientToken", "")
    if token in cluster.run_requests:
        return _again(cluster.run_requests[token], request), []
    asked = dict(request)
    if not asked.get("launchType") and not asked.get("capacityProviderStrategy"):
        asked["capacityProviderStrategy"] = list(cluster.default_strategy)
    definition = backend.check_run(cluster, asked)
    run_task_rules.check_overrides(asked, definition)
    run_task_rules.check_instances(cluster, asked)
    tasks = [_new_task(backend, cluster, asked, definition) for _ in range(asked.get("count", 1))]
    started, failures = _sorted_out(backend, cluster, tasks)
    cluster.run_tasks += started
    if token and started:
        cluster.run_requests[token] = (deepcopy(dict(request)), started)
    return started, failures


def _again(known: tuple[dict[str, Any], list[Task]], request: Mapping[str, Any]) -> list[Task]:
    before, tasks = known
    if before != request:
        raise ConflictException(
            "The RunTask request could not be processed due to conflicts. The provided clientToken is already in use "
            f"with a different RunTask request: {', '.join(task.arn for task in tasks)}"
        )
    return tasks


def _new_task(
    backend: EcsBackend, cluster: Cluster, request: Mapping[str, Any], definition: dict[str, Any]
) -> Task:
    strategy = sorted(
        request.get("capacityProviderStrategy") or (), key=lambda item: -int(item.get("weight") or 0)
    )
    task = Task(
        backend.arn(f"task/{cluster.name}/{new_id()}"),
        "",
        request.get("startedBy", ""),
        definition,
        strategy[0]["capacityProvider"] if strategy else "",
        request.get("group") or f"family:{definition['family']}",
        service_rules.launch_type(request),
    )
    inherited = definition["tags"] if request.get("propagateTags") == "TASK_DEFINITION" else {}
    task.tags = {**inherited, **lower_tags(request)}
    return task


def _sorted_out(backend: EcsBackend, cluster: Cluster, tasks: list[Task]) -> tuple[list[Task], Failures]:
    """Those that can start or wait for capacity, and why the others cannot."""
    started: list[Task] = []
    failures: Failures = []
    for task in tasks:
        fault = runtime.current().faults.take_call("ecs-task", "PlaceTask")
        if fault is not None:
            failures.append({"arn": cluster.arn, "reason": fault.message})
        elif placement.place(cluster, task) or _gets_capacity(backend, task):
            started.append(task)
        else:
            failures += _lacks(backend, cluster, task)
    return started, failures


def _gets_capacity(backend: EcsBackend, task: Task) -> bool:
    """Only behind a provider that starts instances a task waits; elsewhere it fails at once."""
    provider = backend.providers.get(task.provider)
    return provider is not None and (provider.scales or bool(provider.cluster_arn))


def _lacks(backend: EcsBackend, cluster: Cluster, task: Task) -> Failures:
    there = [one for one in cluster.instances.values() if task.provider in ("", one.provider)]
    if not there:
        arn = backend.providers[task.provider].arn
        return [{"arn": arn, "reason": "EMPTY CAPACITY PROVIDER"}]
    return [{"arn": one.arn, "reason": _lack(cluster, task, one)} for one in there]


def _lack(cluster: Cluster, task: Task, instance: Any) -> str:
    return placement.lack(task.definition, instance, placement.tasks_on(cluster, instance))


# ---- between two calls


def advance(cluster: Cluster) -> None:
    for task in list(cluster.run_tasks):
        _advance(cluster, task)
    known = {id(task) for task in cluster.run_tasks}
    for token, (_, tasks) in list(cluster.run_requests.items()):
        if not any(id(task) in known for task in tasks):
            del cluster.run_requests[token]


def _advance(cluster: Cluster, task: Task) -> None:
    waited = emulated_seconds(task.since)
    if task.status == "PROVISIONING":
        if not placement.place(cluster, task) and waited >= PROVISIONING_SECONDS_MAX:
            there = [one for one in cluster.instances.values() if one.provider == task.provider]
            task.stop(
                _lack(cluster, task, there[0]) if there else "EMPTY CAPACITY PROVIDER", "TaskFailedToStart"
            )
    elif task.status == "PENDING" and waited >= STARTED_AFTER_SECONDS:
        _start(task)
    elif task.status == "RUNNING" and waited >= ENDED_AFTER_SECONDS:
        _end(task)
    elif task.status == "STOPPED" and waited >= FORGOTTEN_AFTER_SECONDS:
        cluster.run_tasks.remove(task)
    else:
        task.settle()


def _start(task: Task) -> None:
    faults = runtime.current().faults
    if faults.take_call("ecs-task", "StartTask") is not None:
        return
    fault = faults.take_call("ecs-task", "RunTask")
    if fault is not None:
        task.stop(fault.message, "TaskFailedToStart")
        return
    task.change("RUNNING")
    task.started = now()


def _end(task: Task) -> None:
    fault = runtime.current().faults.take_call("ecs-task", "ExitTask")
    if fault is not None and fault.exit_code is None:
        return
    task.exit_code = 0
    if fault is not None:
        task.exit_code, task.container_reason = fault.exit_code, fault.message
    task.stop("Essential container in task exited", "EssentialContainerExited")
