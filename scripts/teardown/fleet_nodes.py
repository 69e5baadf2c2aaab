"""Nodes of fleets, before their stack goes: ended, let go, and no longer in their ECS cluster.

CloudFormation deletes service, capacity provider and only then the Auto Scaling group, whose nodes still run. ECS's
managed draining has put a lifecycle hook on the group (an hour, then CONTINUE); with the provider gone nobody completes
it, and each node is held in Terminating:Wait, and billed, for that hour. And a provider of Managed Instances cannot be
deleted while its instances are registered (aws/aws-cdk issue 36071).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scripts.aws import autoscaling, ecs_nodes
from scripts.aws.cloud import Cloud
from scripts.teardown import fleet_kinds
from scripts.teardown.found import Found
from scripts.teardown.model import Item
from scripts.teardown.removal import SlowRemoval, Standing
from scripts.teardown.scope import Scope


def nodes(cloud: Cloud, scope: Scope) -> Found:
    """Of the groups in our living stacks only. What CloudFormation got stuck on is deleted whole, with its nodes."""
    loose: list[Item] = []
    of_groups: set[str] = set()
    for name in sorted(scope.fleets.groups - scope.fleets.stuck):
        group = autoscaling.group_nodes(cloud, name)
        if group is not None:
            of_groups |= set(group.states)
        if group is not None and not group.is_empty:
            loose.append(Item(fleet_kinds.NODES, name, name, group.words))
    for cluster in sorted(scope.fleets.clusters):
        others = [one for one in ecs_nodes.registered(cloud, cluster) if one.instance_id not in of_groups]
        if others:
            loose.append(Item(fleet_kinds.REGISTERED, cluster, cluster, _registered_words(len(others))))
    return Found(loose=tuple(loose))


def _end_nodes(cloud: Cloud, name: str) -> None:
    """Protected from scale-in or not: with those, a deletion of their stack waits for ever."""
    group = autoscaling.group_nodes(cloud, name)
    if group is not None and group.protected:
        autoscaling.unprotect(cloud, name, group.protected)
    autoscaling.empty_group(cloud, name)


def _look_at_nodes(cloud: Cloud, name: str) -> Standing | None:
    """Nothing of ours runs on a node that waits by now: replicas and tasks went before."""
    group = autoscaling.group_nodes(cloud, name)
    if group is None or group.is_empty:
        return None
    if group.wanted or group.protected:
        # The waker and ECS's own scaling may have raised the count meanwhile.
        _end_nodes(cloud, name)
    if group.waiting:
        autoscaling.complete_terminations(cloud, name, group.waiting)
    return Standing(group.words, is_busy=True, has_failed=False)


def _deregister_lost(cloud: Cloud, cluster: str) -> None:
    for one in ecs_nodes.registered(cloud, cluster):
        if one.is_lost:
            ecs_nodes.deregister(cloud, cluster, one.arn)


def _look_at_registered(cloud: Cloud, cluster: str) -> Standing | None:
    """Managed Instances end some minutes after their last task; ECS has no call that ends them."""
    found = ecs_nodes.registered(cloud, cluster)
    for one in found:
        if one.is_lost:
            ecs_nodes.deregister(cloud, cluster, one.arn)
    return Standing(_registered_words(len(found)), is_busy=True, has_failed=False) if found else None


def _registered_words(count: int) -> str:
    return f"{count} registered"


NODE_REMOVALS: Final[Mapping[str, SlowRemoval]] = {
    fleet_kinds.NODES: SlowRemoval(_end_nodes, _look_at_nodes),
    fleet_kinds.REGISTERED: SlowRemoval(_deregister_lost, _look_at_registered),
}
