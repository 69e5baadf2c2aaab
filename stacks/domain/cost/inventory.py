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
    """The kit's stacks: a NAT gateway with its address unless the network is the user's, a bucket, and a dashboard and
    a log group for each cluster that can be built. Nodes also of those that can only be counted."""
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
    own_networks = 0 if plan.brought_network else 1
    return Inventory(
        region=plan.region,
        node_groups=groups,
        nat_gateways=own_networks,
        public_addresses=own_networks,
        dashboards=len(plan.clusters),
        log_groups=len(plan.clusters),
        buckets=1,
    )
