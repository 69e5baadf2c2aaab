"""What of an environment is billed: taken from a plan, or from what is deployed."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.plan import ClusterPlan, Plan, ProjectedCluster


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The nodes of one cluster, all of them running."""

    name: str
    instance_type: str
    nodes: int
    root_volume_gib: int
    capacity_name: str
    """Clusters on the same reservation or block have the same."""
    capacity_kind: str


@dataclass(frozen=True, slots=True)
class Inventory:
    region: str
    node_groups: tuple[NodeGroup, ...]
    nat_gateways: int
    public_addresses: int
    dashboards: int
    log_groups: int
    buckets: int


def inventory_of(plan: Plan) -> Inventory:
    """The kit's stacks: for each cell a bucket, a NAT gateway with its address unless the network is the user's, and a
    dashboard and a log group a cluster. Of what can only be counted, the nodes."""
    counted: tuple[ClusterPlan | ProjectedCluster, ...] = (*plan.clusters, *plan.projected)
    groups = tuple(
        NodeGroup(
            name=cluster.name,
            instance_type=cluster.instance_type,
            nodes=cluster.nodes,
            root_volume_gib=cluster.root_volume_gib,
            capacity_name=cluster.capacity.name,
            capacity_kind=cluster.capacity.kind,
        )
        for cluster in counted
    )
    # Each cell is an environment of its own.
    environments = max((cluster.cells for cluster in counted), default=1)
    networks = 0 if plan.brought_network else environments
    return Inventory(
        region=plan.region,
        node_groups=groups,
        nat_gateways=networks,
        public_addresses=networks,
        dashboards=sum(cluster.cells for cluster in plan.clusters),
        log_groups=sum(cluster.cells for cluster in plan.clusters),
        buckets=environments,
    )
