"""What of a fleet is billed: the nodes that always run, those above them, the GPU group, and what lies around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stacks.domain.fleet_plan import FleetPlan

METRICS_PER_SIDE = 4
"""RequestsRunning, RequestsWaiting, Replicas, EngineProgress; a fleet has a Neuron side, and with a fallback a GPU side."""
FUNCTIONS_OF_A_FALLBACK = 1
FUNCTIONS_OF_A_WAKER = 1


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The nodes of one cluster, or of a part of a fleet, all of them running."""

    name: str
    instance_type: str
    nodes: int
    root_volume_gib: int
    capacity_name: str
    """Clusters and fleets on the same reservation or block have the same."""
    capacity_kind: str
    runs_always: bool = False
    """Not only with jobs or requests: a Slurm cluster whose nodes are all kept, a fleet's least nodes."""


@dataclass(frozen=True, slots=True)
class FleetPart:
    """What a fleet has besides its nodes."""

    name: str
    public: bool
    """Its load balancer has an address of the internet in each of its zones."""
    metrics: int
    """Of the kit's own, in CloudWatch."""
    shares_files: bool
    functions: int
    """Lambda functions: the waker, the fallback's controller."""


def fleet_node_groups(fleet: FleetPlan) -> Iterator[NodeGroup]:
    """Reserved nodes are paid as a whole, whatever runs on them."""
    name = f"fleet {fleet.name}"
    settings = (fleet.instance_type, fleet.settings.root_volume_gib, fleet.capacity.name, fleet.capacity.kind)
    yield from side_groups(name, fleet.nodes_minimum, fleet.nodes_maximum, settings)
    fallback = fleet.fallback
    if fallback is not None:
        settings = (
            fallback.instance_type,
            fleet.settings.root_volume_gib,
            fallback.capacity.name,
            fallback.capacity.kind,
        )
        least = -(-fallback.replicas_minimum // fallback.replicas_per_node)
        yield from side_groups(f"{name}, GPU fallback", least, fallback.nodes_maximum, settings)


def fleet_part(fleet: FleetPlan) -> FleetPart:
    has_fallback = fleet.fallback is not None
    return FleetPart(
        name=fleet.name,
        public=fleet.settings.listener.public,
        metrics=METRICS_PER_SIDE * (2 if has_fallback else 1),
        shares_files=fleet.settings.artifacts == "efs",
        functions=FUNCTIONS_OF_A_FALLBACK * has_fallback
        + FUNCTIONS_OF_A_WAKER * (fleet.settings.scale_to_zero is not None),
    )


def side_names(name: str) -> tuple[str, str]:
    """Of its groups: the only or the least nodes, and those above them."""
    return name, f"{name}, above its minimum"


def side_groups(name: str, least: int, most: int, settings: tuple[str, int, str, str]) -> Iterator[NodeGroup]:
    """`settings`: instance type, root volume in GiB, name and kind of the capacity."""
    instance_type, root_volume_gib, capacity_name, kind = settings
    if kind in ("reservation", "capacity-block") or least == most:
        yield NodeGroup(
            name, instance_type, most, root_volume_gib, capacity_name, kind, runs_always=least == most
        )
        return
    if least:
        yield NodeGroup(name, instance_type, least, root_volume_gib, capacity_name, kind, runs_always=True)
    alone, above_least = side_names(name)
    above = above_least if least else alone
    yield NodeGroup(above, instance_type, most - least, root_volume_gib, capacity_name, kind)
