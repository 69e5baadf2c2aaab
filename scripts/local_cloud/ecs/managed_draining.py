"""Managed draining: a lifecycle hook of ECS's on the Auto Scaling group of a provider, and who completes its action.

ECS puts the hook on the group when the provider has a cluster; with it, a node that is to end waits in Terminating:Wait.
While the provider is the cluster's, ECS stops the tasks of services on such a node, waits for the others, and completes
the action. When the provider goes, the hook stays and nobody does: the node waits for its whole hour (three reports of
live teardowns; AWS documents neither). Tasks of services are stopped at once, whatever their service's least healthy share.

A fault {"service": "ecs-draining", "action": "CompleteLifecycleAction", "times": null} lets ECS forget to.
"""

from __future__ import annotations

from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState

from scripts.local_cloud import runtime
from scripts.local_cloud.autoscaling import lifecycle
from scripts.local_cloud.ecs import capacity, placement, targets
from scripts.local_cloud.ecs.backend import EcsBackend
from scripts.local_cloud.ecs.resources import Cluster

HOOK = "ecs-managed-draining-termination-hook"
HEARTBEAT_SECONDS = 3600


def advance(backend: EcsBackend, cluster: Cluster) -> None:
    for provider in capacity.providers(backend, cluster):
        group = capacity.group_of(backend, provider)
        if group is None:
            continue
        with runtime.current().moto_lock:
            _keep_hook(group, wanted=provider.drains)
            for state in lifecycle.waiting(group):
                if lifecycle.is_held(state, HOOK):
                    _drain(backend, cluster, group, state)


def _keep_hook(group: FakeAutoScalingGroup, *, wanted: bool) -> None:
    known = HOOK in {hook.name for hook in lifecycle.hooks_of(group)}
    if wanted and not known:
        lifecycle.put(group.autoscaling_backend, group.name, HOOK, HEARTBEAT_SECONDS, "CONTINUE")
    elif known and not wanted:
        lifecycle.remove(group, HOOK)


def _drain(backend: EcsBackend, cluster: Cluster, group: FakeAutoScalingGroup, state: InstanceState) -> None:
    instance = cluster.instances.get(state.instance_id)
    tasks = []
    if instance is not None:
        instance.draining = True
        tasks = placement.tasks_on(cluster, instance)
    for task in tasks:
        if task.alive and task.service:
            targets.deregister(backend, cluster.services[task.service], task)
            task.stop(f"Container instance {state.instance_id} is draining.")
    if tasks:
        lifecycle.extend(state, HOOK)
    elif runtime.current().faults.take_call("ecs-draining", "CompleteLifecycleAction") is None:
        lifecycle.complete(group, state, HOOK)
