"""What of an environment is billed: taken from a plan, or from what is deployed."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.cost.fleet_inventory import FleetPart, NodeGroup, fleet_node_groups, fleet_part
from stacks.domain.cost.shared_nodes import Sharing, counted_once
from stacks.domain.plan import ClusterPlan, Plan, ProjectedCluster
from stacks.domain.slurm_plan import SlurmPlan


@dataclass(frozen=True, slots=True)
class SlurmPart:
    """What a Slurm cluster has besides its compute nodes, in all of its cells together."""

    name: str
    clusters: int
    """Of AWS PCS, each with a controller and a login node."""
    controller_size: str
    accounting: bool
    login_instance_type: str
    login_volume_gib: int
    """Of one login node."""
    storage_kind: str
    """efs or lustre"""
    lustre_gib: int
    """Of all of them; 0 with efs, which grows by itself."""


@dataclass(frozen=True, slots=True)
class Inventory:
    region: str
    node_groups: tuple[NodeGroup, ...]
    nat_gateways: int
    public_addresses: int
    dashboards: int
    log_groups: int
    buckets: int
    slurm: tuple[SlurmPart, ...] = ()
    node_images: int = 0
    fleets: tuple[FleetPart, ...] = ()


def inventory_of(plan: Plan) -> Inventory:
    """The kit's stacks: for each cell a bucket, a NAT gateway with its address unless the network is the user's, a log
    group a cluster and fleet, and with AWS Batch a dashboard. Of what can only be counted, the nodes."""
    counted: tuple[ClusterPlan | ProjectedCluster, ...] = (*plan.clusters, *plan.projected)
    groups = tuple(
        NodeGroup(
            name=cluster.name,
            instance_type=cluster.instance_type,
            nodes=cluster.nodes,
            root_volume_gib=cluster.root_volume_gib,
            capacity_name=cluster.capacity.name,
            capacity_kind=cluster.capacity.kind,
            runs_always=_runs_always(cluster),
        )
        for cluster in counted
    )
    # Each cell is an environment of its own.
    environments = max((cluster.cells for cluster in counted), default=1)
    networks = 0 if plan.brought_network else environments
    of_fleets = (group for fleet in plan.fleets for group in fleet_node_groups(fleet))
    sharings = (
        Sharing(shift.name, shift.fleet, shift.cluster, shift.nodes_floor, shift.nodes_serving)
        for shift in plan.shifts
    )
    return Inventory(
        region=plan.region,
        node_groups=counted_once((*groups, *of_fleets), sharings),
        nat_gateways=networks,
        public_addresses=networks,
        dashboards=sum(cluster.cells for cluster in plan.clusters if cluster.slurm is None),
        log_groups=sum(cluster.cells for cluster in plan.clusters) + len(plan.fleets),
        buckets=environments,
        slurm=tuple(_slurm_part(cluster, cluster.slurm) for cluster in plan.clusters if cluster.slurm),
        node_images=len(plan.node_images) * environments,
        fleets=tuple(fleet_part(fleet) for fleet in plan.fleets),
    )


def _runs_always(cluster: ClusterPlan | ProjectedCluster) -> bool:
    return isinstance(cluster, ClusterPlan) and cluster.slurm is not None and cluster.slurm.is_static


def _slurm_part(cluster: ClusterPlan, slurm: SlurmPlan) -> SlurmPart:
    storage = slurm.shared_storage
    return SlurmPart(
        name=cluster.name,
        clusters=cluster.cells,
        controller_size=slurm.controller_size,
        accounting=slurm.accounting,
        login_instance_type=slurm.login_instance_type,
        login_volume_gib=cluster.root_volume_gib,
        storage_kind=storage.kind if storage else "",
        lustre_gib=(storage.capacity_gib or 0) * cluster.cells if storage else 0,
    )
