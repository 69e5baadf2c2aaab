"""Nodes that AWS PCS starts and ends together: the compute nodes of a queue, or the login node."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_pcs as pcs
from constructs import Construct, IConstruct

from stacks.constructs.launch_template_parts import node_ami_id
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.pinned import AmiPlan
from stacks.domain.plan import ClusterPlan
from stacks.domain.slurm_plan import NodeGroup, SlurmPlan

Group = pcs.CfnComputeNodeGroup

GRES = "neuron"
PURCHASE_OPTIONS = {
    "on-demand": "ONDEMAND",
    # A reservation is used by on-demand nodes.
    "reservation": "ONDEMAND",
    "spot": "SPOT",
    "capacity-block": "CAPACITY_BLOCK",
}


class PcsNodeGroup(Construct):
    """`slurm_configuration` and `purchase_option` are of compute nodes; a login node needs neither. `needed_by_nodes` is
    made before the first node starts.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        pcs_cluster: pcs.CfnCluster,
        name: str,
        instance_type: str,
        nodes_min: int,
        nodes_max: int,
        ami: AmiPlan | None,
        subnet_id: str,
        launch_template: ec2.CfnLaunchTemplate,
        instance_profile: iam.CfnInstanceProfile,
        lifecycle_actions: Group.NodeLifecycleActionsProperty,
        logical_id: str,
        needed_by_nodes: IConstruct | None,
        purchase_option: str = "ONDEMAND",
        slurm_configuration: Group.SlurmConfigurationProperty | None = None,
    ) -> None:
        super().__init__(scope, id_)
        self.resource = Group(
            self,
            "Group",
            cluster_id=pcs_cluster.attr_id,
            name=name,
            instance_configs=[Group.InstanceConfigProperty(instance_type=instance_type)],
            scaling_configuration=Group.ScalingConfigurationProperty(
                min_instance_count=nodes_min, max_instance_count=nodes_max
            ),
            purchase_option=purchase_option,
            ami_id=node_ami_id(ami),
            subnet_ids=[subnet_id],
            custom_launch_template=Group.CustomLaunchTemplateProperty(
                template_id=launch_template.ref,
                # A number that moves: PCS goes on with the version it was given.
                version=launch_template.attr_latest_version_number,
            ),
            iam_instance_profile_arn=instance_profile.attr_arn,
            slurm_configuration=slurm_configuration,
            node_lifecycle_actions=lifecycle_actions,
        )
        fix_logical_id(self.resource, logical_id)
        if needed_by_nodes is not None:
            self.resource.node.add_dependency(needed_by_nodes)


def compute_configuration(slurm: SlurmPlan, group: NodeGroup) -> Group.SlurmConfigurationProperty:
    """How long nodes stay idle is said once, on the cluster: every version takes it there."""
    settings = dict(slurm.node_settings) | {"Features": ",".join(group.features)}
    if slurm.gres_per_node:
        settings["Gres"] = f"{GRES}:{slurm.gres_per_node}"
    return Group.SlurmConfigurationProperty(
        slurm_custom_settings=_custom_settings(settings), gres_custom_settings=_gres(slurm.gres_per_node)
    )


def purchase_option(cluster: ClusterPlan) -> str:
    return PURCHASE_OPTIONS[cluster.capacity.kind]


def _custom_settings(settings: Mapping[str, str]) -> list[Group.SlurmCustomSettingProperty]:
    return [
        Group.SlurmCustomSettingProperty(parameter_name=name, parameter_value=value)
        for name, value in sorted(settings.items())
    ]


def _gres(devices: int) -> list[Mapping[str, str]] | None:
    """The record behind the node's Gres, of the same number: PCS refuses more, and drains nodes that have less."""
    if not devices:
        return None
    files = f"/dev/neuron[0-{devices - 1}]" if devices > 1 else "/dev/neuron0"
    return [{"Name": GRES, "Count": str(devices), "File": files}]
