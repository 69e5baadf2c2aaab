"""The launch template of a Slurm cluster's login node: one interface, no key pair, no way in but Session Manager."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs import launch_template_parts as parts
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.network_interfaces import NetworkInterface
from stacks.domain.plan import ClusterPlan

PRIMARY = NetworkInterface(card_index=0, device_index=0, interface_type="interface")


class LoginLaunchTemplate(Construct):
    """From the same AMI as the nodes: the clients on it then speak the cluster's Slurm version."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ClusterPlan,
        subnet_id: str,
        security_group_id: str,
        node_tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self.resource = ec2.CfnLaunchTemplate(
            self,
            "Template",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                network_interfaces=parts.network_interfaces([PRIMARY], security_group_id, subnet_id),
                block_device_mappings=[parts.root_volume(cluster.ami, cluster.root_volume_gib)],
                metadata_options=parts.metadata_options_with_tags(node_tags),
                tag_specifications=parts.tags_of_nodes(node_tags),
            ),
            tag_specifications=parts.tags_of_template(node_tags),
        )
        fix_logical_id(self.resource, "LoginLaunchTemplate")
