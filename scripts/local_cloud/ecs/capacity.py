"""Instances behind a cluster: those of its providers' Auto Scaling groups, which managed scaling makes more or fewer.

As ECS does it: from zero two instances start, whatever is wanted, or as many as the group may have (the metric is set
to 200); scale-in begins when capacity was superfluous for 15 minutes, and takes half of it at most at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState, autoscaling_backends
from moto.ec2.models import ec2_backends

from scripts.local_cloud import runtime
from scripts.local_cloud.autoscaling.activities import last_refusal as last_refusal_of
from scripts.local_cloud.ecs import managed_instances, placement
from scripts.local_cloud.ecs.backend import EcsBackend
from scripts.local_cloud.ecs.resources import (
    Cluster,
    ContainerInstance,
    Provider,
    Task,
    emulated_seconds,
    new_id,
)

REGISTERED_AFTER_SECONDS = 2.0
SCALE_IN_AFTER_SECONDS = 15 * 60.0
FROM_ZERO = 2


def refresh(backend: EcsBackend, cluster: Cluster) -> None:
    """Registers instances that have come up, and forgets those that are gone, with their tasks."""
    alive: set[str] = set()
    for provider in providers(backend, cluster):
        for state in instances(backend, provider):
            alive.add(state.instance_id)
            seen = cluster.seen.setdefault(state.instance_id, time.monotonic())
            if (
                state.instance_id not in cluster.instances
                and emulated_seconds(seen) >= REGISTERED_AFTER_SECONDS
            ):
                cluster.instances[state.instance_id] = _container_instance(backend, cluster, provider, state)
    alive |= managed_instances.refresh(backend, cluster) | _running(backend, cluster)
    for gone in set(cluster.instances) - alive:
        del cluster.instances[gone]
        for task in cluster.tasks:
            if task.instance_id == gone and task.status != "STOPPED":
                task.stop(f"Host EC2 (instance {gone}) terminated.", "TerminationNotice")
    for gone in set(cluster.seen) - alive:
        del cluster.seen[gone]


def _running(backend: EcsBackend, cluster: Cluster) -> set[str]:
    """Registered instances that still run: those that wait for their end, and those whose provider is gone."""
    ec2 = ec2_backends[backend.account_id][backend.region_name]
    with runtime.current().moto_lock:
        found = [ec2.get_instance_by_id(id_) for id_, one in cluster.instances.items() if not one.managed]
    return {one.id for one in found if one is not None and one.state in ("pending", "running")}


def providers(backend: EcsBackend, cluster: Cluster) -> Iterator[Provider]:
    for name in cluster.providers:
        provider = backend.providers.get(name)
        if provider is not None and provider.group_name:
            yield provider


def group_of(backend: EcsBackend, provider: Provider) -> FakeAutoScalingGroup | None:
    groups = autoscaling_backends[backend.account_id][backend.region_name].autoscaling_groups
    found: FakeAutoScalingGroup | None = groups.get(provider.group_name)
    return found


def instances(backend: EcsBackend, provider: Provider) -> list[InstanceState]:
    group = group_of(backend, provider)
    return [] if group is None else list(group.active_instances())


def last_refusal(backend: EcsBackend, provider_name: str) -> str:
    """Why the provider's group could not launch instances, "" if it could."""
    provider = backend.providers.get(provider_name)
    group = group_of(backend, provider) if provider is not None else None
    return "" if group is None else last_refusal_of(group)


def scale(backend: EcsBackend, cluster: Cluster) -> None:
    """Managed scaling of every provider that has it. Holds moto's lock, as a request would."""
    for provider in providers(backend, cluster):
        group = group_of(backend, provider)
        if provider.scales and group is not None:
            with runtime.current().moto_lock:
                _scale(cluster, provider, group)


def _scale(cluster: Cluster, provider: Provider, group: FakeAutoScalingGroup) -> None:
    have = len(group.active_instances())
    wanted = _needed(cluster, provider, group)
    if wanted > have:
        cluster.surplus_since.pop(provider.name, None)
        step = provider.scaling.get("maximumScalingStepSize", 10000)
        target = FROM_ZERO if not have else min(wanted, have + step)
        target = min(target, group.max_size or 0)
        if target > have:
            group.set_desired_capacity(target)
        return
    if wanted == have:
        cluster.surplus_since.pop(provider.name, None)
        return
    since = cluster.surplus_since.setdefault(provider.name, time.monotonic())
    if emulated_seconds(since) >= SCALE_IN_AFTER_SECONDS:
        cluster.surplus_since.pop(provider.name)
        _scale_in(cluster, provider, group, math.ceil((have - wanted) / 2))


def _scale_in(cluster: Cluster, provider: Provider, group: FakeAutoScalingGroup, count: int) -> None:
    busy = {task.instance_id for task in cluster.tasks if task.status != "STOPPED"}
    idle = [state for state in group.active_instances() if state.instance_id not in busy]
    count = min(count, len(group.active_instances()) - (group.min_size or 0), len(idle))
    if count <= 0:
        return
    if provider.protects:
        for state in idle[:count]:
            state.protected_from_scale_in = False
    # moto ends the first unprotected ones of its list.
    chosen = idle[:count]
    group.instance_states.sort(key=lambda state: state not in chosen)
    group.set_desired_capacity(len(group.active_instances()) - count)


def _needed(cluster: Cluster, provider: Provider, group: FakeAutoScalingGroup) -> int:
    """Instances with tasks, and as many new ones as the tasks that wait would fill."""
    tasks = [task for task in cluster.tasks if task.status != "STOPPED"]
    waiting = [task for task in tasks if task.provider == provider.name and not task.instance_id]
    own = {state.instance_id for state in group.active_instances()}
    used = {task.instance_id for task in tasks} & own
    empty: list[tuple[ContainerInstance, list[Task]]] = []
    specimen = _specimen(provider, group.instance_type)
    for task in waiting:
        room = next((one for one in empty if placement.fits(task.definition, one[0], one[1])), None)
        if room is None and placement.fits(task.definition, specimen, []):
            room = (specimen, [])
            empty.append(room)
        if room is not None:
            room[1].append(task)
    return max(len(used) + len(empty), group.min_size or 0)


def _specimen(provider: Provider, instance_type: str) -> ContainerInstance:
    return ContainerInstance("", "", instance_type, "", provider.name, "", *placement.size_of(instance_type))


def _container_instance(
    backend: EcsBackend, cluster: Cluster, provider: Provider, state: InstanceState
) -> ContainerInstance:
    return ContainerInstance(
        backend.arn(f"container-instance/{cluster.name}/{new_id()}"),
        state.instance_id,
        state.instance_type,
        str(state.availability_zone),
        provider.name,
        str(state.instance.private_ip),
        *placement.size_of(state.instance_type),
    )
