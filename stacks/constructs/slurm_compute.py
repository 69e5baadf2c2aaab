"""The compute nodes of a Slurm cluster, one node group each UltraServer, and the queue over all of them."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_pcs as pcs
from constructs import Construct, IConstruct

from stacks.constructs.efa_launch_template import EfaLaunchTemplate, PcsNodes
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.pcs_node_group import PcsNodeGroup, compute_configuration, purchase_option
from stacks.constructs.reservation_group import ReservationGroup
from stacks.domain.plan import ClusterPlan
from stacks.domain.render.slurm_node_user_data import slurm_node_user_data
from stacks.domain.slurm_plan import NodeGroup, SlurmPlan


class SlurmCompute(Construct):
    """`node_tags` go on instances, volumes and interfaces."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ClusterPlan,
        slurm: SlurmPlan,
        pcs_cluster: pcs.CfnCluster,
        subnet_id: str,
        security_group_id: str,
        instance_profile: iam.CfnInstanceProfile,
        lifecycle_actions: pcs.CfnComputeNodeGroup.NodeLifecycleActionsProperty,
        node_tags: Mapping[str, str],
        needed_by_nodes: IConstruct | None,
    ) -> None:
        super().__init__(scope, id_)
        self._cluster = cluster
        self._slurm = slurm
        self._pcs_cluster = pcs_cluster
        self._subnet_id = subnet_id
        self._security_group_id = security_group_id
        self._instance_profile = instance_profile
        self._lifecycle_actions = lifecycle_actions
        self._node_tags = node_tags
        self._placement_group = self._make_placement_group()
        self._needed_by_nodes = needed_by_nodes
        self._queue([self._node_group(group) for group in slurm.node_groups])

    def _make_placement_group(self) -> str | None:
        """One for all groups: UltraServers beside each other are as good to have as nodes are."""
        if not self._cluster.placement_group:
            return None
        group = ec2.CfnPlacementGroup(self, "PlacementGroup", strategy="cluster")
        fix_logical_id(group, "PlacementGroup")
        return group.ref

    def _node_group(self, group: NodeGroup) -> pcs.CfnComputeNodeGroup:
        prefix = _prefix(group)
        template = EfaLaunchTemplate(
            self,
            f"{prefix}Nodes",
            cluster=self._cluster,
            security_group_id=self._security_group_id,
            node_tags=self._node_tags,
            user_data=slurm_node_user_data(self._cluster),
            pcs=PcsNodes(
                subnet_id=self._subnet_id,
                capacity_id=group.capacity_id,
                reservation_group_arn=self._reservation_group_arn(group),
                placement_group=self._placement_group,
            ),
            logical_id=f"{prefix}LaunchTemplate",
        )
        return PcsNodeGroup(
            self,
            f"{prefix}Group",
            pcs_cluster=self._pcs_cluster,
            name=group.name,
            instance_type=self._cluster.instance_type,
            nodes_min=group.nodes_min,
            nodes_max=group.nodes_max,
            ami=self._cluster.ami,
            subnet_id=self._subnet_id,
            launch_template=template.resource,
            instance_profile=self._instance_profile,
            lifecycle_actions=self._lifecycle_actions,
            logical_id=f"{prefix}NodeGroup",
            needed_by_nodes=self._needed_by_nodes,
            purchase_option=purchase_option(self._cluster),
            slurm_configuration=compute_configuration(self._slurm, group),
        ).resource

    def _reservation_group_arn(self, group: NodeGroup) -> str | None:
        if self._cluster.capacity.kind != "reservation":
            return None
        prefix = _prefix(group)
        return ReservationGroup(
            self,
            f"{prefix}Reservation",
            name=f"neuronkit-{self._slurm.cluster_name}-{group.name}",
            capacity_id=group.capacity_id,
            logical_id=f"{prefix}ReservationGroup",
        ).resource.attr_arn

    def _queue(self, groups: list[pcs.CfnComputeNodeGroup]) -> None:
        queue = pcs.CfnQueue(
            self,
            "Queue",
            cluster_id=self._pcs_cluster.attr_id,
            name=self._slurm.queue,
            compute_node_group_configurations=[
                pcs.CfnQueue.ComputeNodeGroupConfigurationProperty(compute_node_group_id=group.attr_id)
                for group in groups
            ],
            slurm_configuration=pcs.CfnQueue.SlurmConfigurationProperty(
                slurm_custom_settings=[
                    pcs.CfnQueue.SlurmCustomSettingProperty(parameter_name=name, parameter_value=value)
                    for name, value in self._slurm.queue_settings
                ]
            )
            if self._slurm.queue_settings
            else None,
        )
        fix_logical_id(queue, "Queue")


def _prefix(group: NodeGroup) -> str:
    """Of logical ids: nothing, or the UltraServer's, such as `Us0`."""
    return group.features[1].capitalize() if len(group.features) > 1 else ""
