"""Instances whose SSM agent the local cloud emulates: login nodes of PCS clusters, which are groups in no queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moto.ec2.exceptions import InvalidInstanceIdError
from moto.ec2.models import ec2_backends

from scripts.local_cloud.pcs import service_rules
from scripts.local_cloud.pcs.backend import pcs_backends
from scripts.local_cloud.pcs.resources import Cluster, NodeGroup


@dataclass(frozen=True)
class LoginNode:
    instance_id: str
    group: NodeGroup
    cluster: Cluster


def running(account: str, region: str) -> Iterator[LoginNode]:
    """Called while moto's lock is held: not through the API."""
    if region not in service_rules.REGIONS:
        return
    for cluster in list(pcs_backends[account][region].clusters.values()):
        in_queues = {group_id for queue in cluster.queues.values() for group_id in queue.group_ids}
        for group in list(cluster.groups.values()):
            if group.id in in_queues:
                continue
            for instance_id in group.instance_ids:
                if _runs(account, region, instance_id):
                    yield LoginNode(instance_id, group, cluster)


def find(account: str, region: str, instance_id: str) -> LoginNode | None:
    return next((node for node in running(account, region) if node.instance_id == instance_id), None)


def _runs(account: str, region: str, instance_id: str) -> bool:
    try:
        return bool(ec2_backends[account][region].get_instance(instance_id).state == "running")
    except InvalidInstanceIdError:
        return False
