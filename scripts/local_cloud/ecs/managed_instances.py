"""Managed Instances: ECS itself runs an instance of the first allowed type for each task, and ends it afterwards.

After a moment, not after the provider's `scaleInAfter`, and with the private addresses of its first subnet."""

from __future__ import annotations

import time
from typing import Any

from moto.ec2.models import ec2_backends

from scripts.local_cloud import runtime
from scripts.local_cloud.ec2.instance_interfaces import release
from scripts.local_cloud.ecs import placement
from scripts.local_cloud.ecs.backend import EcsBackend
from scripts.local_cloud.ecs.resources import Cluster, ContainerInstance, Provider, emulated_seconds, new_id

ENDED_AFTER_SECONDS = 3.0
_TAG = "AmazonECSManaged"


def refresh(backend: EcsBackend, cluster: Cluster) -> set[str]:
    """Starts what waiting tasks need and ends what no task has needed for a while. Returns the ids of the living instances."""
    managed = [one for one in cluster.instances.values() if one.managed]
    tasks = [task for task in cluster.tasks if task.status != "STOPPED"]
    used = {task.instance_id for task in tasks}
    kept = {one.instance_id for one in managed if one.instance_id in used}
    spare = [one for one in managed if one.instance_id not in used]
    with runtime.current().moto_lock:
        for provider in _providers(backend, cluster):
            waiting = [task for task in tasks if task.provider == provider.name and not task.instance_id]
            ready = [one for one in spare if one.provider == provider.name][: len(waiting)]
            kept |= {one.instance_id for one in ready}
            kept |= {_start(backend, cluster, provider) for _ in waiting[len(ready) :]}
        for one in managed:
            if one.instance_id in kept:
                one.idle_since = None
            elif not _is_over(one):
                kept.add(one.instance_id)
        _end(backend, {one.instance_id for one in managed} - kept)
    return kept


def _is_over(instance: ContainerInstance) -> bool:
    if instance.idle_since is None:
        instance.idle_since = time.monotonic()
    return emulated_seconds(instance.idle_since) >= ENDED_AFTER_SECONDS


def _providers(backend: EcsBackend, cluster: Cluster) -> list[Provider]:
    found = [backend.providers[name] for name in cluster.providers if name in backend.providers]
    return [provider for provider in found if provider.cluster_arn == cluster.arn]


def _start(backend: EcsBackend, cluster: Cluster, provider: Provider) -> str:
    template = provider.request["managedInstancesProvider"]["instanceLaunchTemplate"]
    types = template["instanceRequirements"]["allowedInstanceTypes"]
    network = template["networkConfiguration"]
    reservation: Any = ec2_backends[backend.account_id][backend.region_name].run_instances(
        "ami-00000000",
        1,
        None,
        [],
        instance_type=types[0],
        subnet_id=network["subnets"][0],
        security_group_ids=list(network.get("securityGroups") or ()),
        tags={"instance": {_TAG: "true", **provider.tags}},
        is_instance_type_default=False,
    )
    (instance,) = reservation.instances
    cluster.instances[instance.id] = ContainerInstance(
        backend.arn(f"container-instance/{cluster.name}/{new_id()}"),
        instance.id,
        instance.instance_type,
        instance.placement.zone,
        provider.name,
        instance.private_ip,
        *placement.size_of(instance.instance_type),
        managed=True,
    )
    return str(instance.id)


def _end(backend: EcsBackend, instance_ids: set[str]) -> None:
    if instance_ids:
        ec2 = ec2_backends[backend.account_id][backend.region_name]
        ec2.terminate_instances(sorted(instance_ids))
        release(ec2, instance_ids)
