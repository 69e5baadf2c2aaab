"""What goes on in ECS between two calls: tasks are placed, "run", are drained and replaced; none of them is a process.

One thread for all accounts looks at every cluster a few times a second. Moments that AWS counts in minutes are counted
in the scaled time of the local cloud. Faults that tests can plant, each for as long as it is planted ("times": null):

{"service": "ecs-task", "action": "StartTask"}: placed tasks stay PENDING (a pull or a compile that does not end);
{"service": "ecs-task", "action": "RunTask", "message": …, "times": N}: the next N tasks that would start fail with it;
{"service": "ecs-task", "action": "PlaceTask" or "ExitTask", …}: tasks of RunTask only, see `run_tasks`;
{"service": "target-health", …}: see `targets`; {"service": "autoscaling", "action": "LaunchInstances", …}: see
`autoscaling.capacity`; {"service": "ecs-draining", …}: see `managed_draining`.
"""

from __future__ import annotations

import logging
import math
import threading

from scripts.local_cloud import runtime
from scripts.local_cloud.ecs import (
    capacity,
    circuit_breaker,
    managed_draining,
    placement,
    run_tasks,
    service_rules,
    targets,
)
from scripts.local_cloud.ecs.backend import EcsBackend, ecs_backends
from scripts.local_cloud.ecs.resources import (
    STARTED_AFTER_SECONDS,
    Cluster,
    Deployment,
    Service,
    Task,
    emulated_seconds,
    new_id,
    now,
)

TICK_SECONDS = 0.2
STOPPED_KEPT = 20


def start() -> None:
    threading.Thread(target=_run, name="ecs", daemon=True).start()


def _run() -> None:
    while not runtime.current().stopping.wait(TICK_SECONDS):
        for regions in list(ecs_backends.values()):
            for backend in list(regions.values()):
                for cluster in list(backend.clusters.values()):
                    _attempt(backend, cluster)


def _attempt(backend: EcsBackend, cluster: Cluster) -> None:
    try:
        with backend.lock:
            tick(backend, cluster)
    except Exception:
        logging.getLogger(__name__).exception("cluster %s", cluster.name)


def tick(backend: EcsBackend, cluster: Cluster) -> None:
    capacity.refresh(backend, cluster)
    managed_draining.advance(backend, cluster)
    for service in list(cluster.services.values()):
        if service.status == "INACTIVE":
            continue
        _advance_tasks(backend, cluster, service)
        _adjust_count(backend, service)
        _settle(backend, service)
    run_tasks.advance(cluster)
    capacity.scale(backend, cluster)


# ---- tasks


def _advance_tasks(backend: EcsBackend, cluster: Cluster, service: Service) -> None:
    for task in service.tasks:
        if task.status == "PROVISIONING":
            _place(backend, cluster, service, task)
        elif task.status == "PENDING" and emulated_seconds(task.since) >= STARTED_AFTER_SECONDS:
            _start_task(backend, service, task)
        elif task.status == "RUNNING":
            _check_health(backend, service, task)
        else:
            task.settle()
    stopped = [task for task in service.tasks if task.status == "STOPPED"]
    for task in stopped[:-STOPPED_KEPT]:
        service.tasks.remove(task)


def _place(backend: EcsBackend, cluster: Cluster, service: Service, task: Task) -> None:
    if placement.place(cluster, task):
        return
    refusal = capacity.last_refusal(backend, task.provider)
    if refusal:
        service.say(f"(service {service.name}) was unable to place a task. Reason: {refusal}")
    elif cluster.instances:
        service.say(
            f"(service {service.name}) was unable to place a task because no container instance met all of its "
            "requirements."
        )


def _start_task(backend: EcsBackend, service: Service, task: Task) -> None:
    faults = runtime.current().faults
    if faults.take_call("ecs-task", "StartTask") is not None:
        return
    fault = faults.take_call("ecs-task", "RunTask")
    if fault is not None:
        _fail(service, task, fault.message, "TaskFailedToStart")
        return
    task.change("RUNNING")
    task.started = now()
    targets.register(backend, service, task)
    service.say(f"(service {service.name}) has started 1 tasks: (task {task.arn.rsplit('/', 1)[-1]}).")


def _check_health(backend: EcsBackend, service: Service, task: Task) -> None:
    group = targets.unhealthy_group(backend, service, task)
    grace = service.request.get("healthCheckGracePeriodSeconds") or 0
    if group and emulated_seconds(task.since) > grace:
        targets.deregister(backend, service, task)
        _fail(service, task, f"Task failed ELB health checks in (target-group {group})")


def _fail(service: Service, task: Task, reason: str, code: str = "ServiceSchedulerInitiated") -> None:
    task.stop(reason, code)
    service.say(f"(service {service.name}) (task {task.arn.rsplit('/', 1)[-1]}) failed: {reason}")
    deployment = next((one for one in service.deployments if one.id == task.started_by), None)
    if deployment is not None:
        deployment.failed_tasks += 1
        circuit_breaker.consider(service, deployment)


# ---- how many


def _adjust_count(backend: EcsBackend, service: Service) -> None:
    primary = service.primary
    configuration = service.deployment_configuration
    least = math.ceil(service.desired * configuration["minimumHealthyPercent"] / 100)
    most = math.floor(service.desired * configuration["maximumPercent"] / 100)
    current = [task for task in service.alive if task.started_by == primary.id]
    old = [task for task in service.alive if task.started_by != primary.id]
    for task in current[service.desired :]:
        _stop(backend, service, task)
    healthy = sum(targets.healthy(backend, service, task) for task in service.alive)
    for task in old:
        was_healthy = targets.healthy(backend, service, task)
        if was_healthy and healthy - 1 < least and service.desired:
            continue
        _stop(backend, service, task)
        healthy -= was_healthy
    if primary.rollout == "FAILED" or service.status != "ACTIVE":
        return
    # What is stopping still holds its ports, devices and memory, but does not count.
    room = min(service.desired - len(current), max(most, 1) - len(service.alive))
    for _ in range(max(room, 0)):
        service.tasks.append(_new_task(backend, service, primary))


def _new_task(backend: EcsBackend, service: Service, deployment: Deployment) -> Task:
    cluster_name = service.cluster_arn.rsplit("/", 1)[-1]
    strategy = sorted(service.strategy, key=lambda item: -int(item.get("weight") or 0))
    task = Task(
        backend.arn(f"task/{cluster_name}/{new_id()}"),
        service.name,
        deployment.id,
        backend.definitions[deployment.definition_arn],
        strategy[0]["capacityProvider"] if strategy else "",
        f"service:{service.name}",
        service_rules.launch_type(service.request),
    )
    if service.request.get("propagateTags") == "SERVICE":
        task.tags = dict(service.tags)
    return task


def _stop(backend: EcsBackend, service: Service, task: Task) -> None:
    targets.deregister(backend, service, task)
    task.stop("Scaling activity initiated by (deployment " + task.started_by + ")")
    service.say(
        f"(service {service.name}) has stopped 1 running tasks: (task {task.arn.rsplit('/', 1)[-1]})."
    )


# ---- deployments


def _settle(backend: EcsBackend, service: Service) -> None:
    busy = [task for task in service.tasks if task.status != "STOPPED"]
    if service.status == "DRAINING":
        if not busy:
            service.status = "INACTIVE"
        return
    primary = service.primary
    healthy = sum(targets.healthy(backend, service, task) for task in busy if task.started_by == primary.id)
    if healthy != service.desired or len(busy) != service.desired:
        return
    del service.deployments[1:]
    if primary.rollout == "IN_PROGRESS":
        primary.rollout = "COMPLETED"
        primary.reason = f"ECS deployment {primary.id} completed."
        service.last_good = primary.definition_arn
        service.say(f"(service {service.name}) has reached a steady state.")
