"""Nodes that a shift gives to a fleet or to a cluster, never to both: they are counted once.

Taken from a plan or from deployed templates alike. Both sides on one instance type; of two types nothing is taken off, and
the cost is then more than can be. The root volumes of such nodes are counted in the cluster's size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stacks.domain.cost.fleet_inventory import NodeGroup, side_names


@dataclass(frozen=True, slots=True)
class Sharing:
    shift: str
    fleet: str
    cluster: str
    floor_nodes: int
    """Of the fleet, at every hour."""
    serving_nodes: int
    """Of the fleet, in the widest window."""


def counted_once(groups: Iterable[NodeGroup], sharings: Iterable[Sharing]) -> tuple[NodeGroup, ...]:
    """The cluster's group stands for the shared nodes, the fleet's for those that it has besides."""
    found = tuple(groups)
    for sharing in sharings:
        found = _shared(found, sharing)
    return found


def _shared(groups: tuple[NodeGroup, ...], sharing: Sharing) -> tuple[NodeGroup, ...]:
    mine = [group for group in groups if group.name in side_names(f"fleet {sharing.fleet}")]
    cluster = next((group for group in groups if group.name == sharing.cluster), None)
    if cluster is None or not mine or mine[0].instance_type != cluster.instance_type:
        return groups
    own = max(sharing.floor_nodes, sharing.serving_nodes - cluster.nodes)
    above = mine[-1]
    left = above.nodes - max(0, sum(group.nodes for group in mine) - own)
    name = f"{cluster.name}, and fleet {sharing.fleet} in the windows of shift {sharing.shift}"
    changed = {cluster.name: replace(cluster, name=name), above.name: replace(above, nodes=left)}
    return tuple(group for old in groups for group in (changed.get(old.name, old),) if group.nodes)
