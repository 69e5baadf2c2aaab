"""The launch template of a cluster's nodes: network interfaces, disk, capacity, user data. L1: the L2 knows no EFA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs import launch_template_parts as parts
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.network_interfaces import is_more_than_the_usual
from stacks.domain.plan import ClusterPlan


@dataclass(frozen=True, slots=True)
class PcsNodes:
    """What AWS PCS reads from the template, and AWS Batch from its compute environment."""

    subnet_id: str
    """In every interface: PCS wants the same there and on the node group."""
    capacity_id: str | None
    """Of this group's block."""
    reservation_group_arn: str | None
    """PCS takes no reservation by its id, only a resource group that it is in (PCS user guide, launch templates)."""
    placement_group: str | None


class EfaLaunchTemplate(Construct):
    """For AWS Batch and for AWS PCS, which both make templates of their own from it: the AMI and the instance profile
    come from the compute environment or the node group. `node_tags` go on instances, volumes and interfaces.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ClusterPlan,
        security_group_id: str,
        node_tags: Mapping[str, str],
        user_data: str,
        pcs: PcsNodes | None = None,
        logical_id: str = "LaunchTemplate",
    ) -> None:
        super().__init__(scope, id_)
        self._cluster = cluster
        self._security_group_id = security_group_id
        self._pcs = pcs
        self.resource = ec2.CfnLaunchTemplate(
            self,
            "Template",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                instance_type=self._instance_type(),
                network_interfaces=self._network_interfaces(),
                placement=self._placement(),
                block_device_mappings=[parts.root_volume(cluster.ami, cluster.root_volume_gib)],
                metadata_options=parts.metadata_options_with_tags(node_tags)
                if pcs
                else parts.metadata_options(),
                # One-minute metrics, and the only ones with the instance type as a dimension: the dashboard's.
                monitoring=ec2.CfnLaunchTemplate.MonitoringProperty(enabled=True),
                instance_market_options=parts.block_market(cluster.capacity.kind),
                capacity_reservation_specification=self._reservation(),
                user_data=cdk.Fn.base64(user_data),
                tag_specifications=parts.tags_of_nodes(node_tags),
            ),
            tag_specifications=parts.tags_of_template(node_tags),
        )
        fix_logical_id(self.resource, logical_id)

    @property
    def compute_environment_groups(self) -> list[str]:
        """Security groups stand on the template's interfaces or on the compute environment; Batch refuses both."""
        return [] if self._has_network_interfaces else [self._security_group_id]

    @property
    def _has_network_interfaces(self) -> bool:
        return self._pcs is not None or is_more_than_the_usual(self._cluster.network_interfaces)

    def _network_interfaces(self) -> list[ec2.CfnLaunchTemplate.NetworkInterfaceProperty] | None:
        if not self._has_network_interfaces:
            return None
        subnet_id = self._pcs.subnet_id if self._pcs else None
        return parts.network_interfaces(self._cluster.network_interfaces, self._security_group_id, subnet_id)

    def _instance_type(self) -> str | None:
        """PCS ignores it, and its guide to capacity blocks asks for it all the same."""
        is_block = self._cluster.capacity.kind == "capacity-block"
        return self._cluster.instance_type if self._pcs and is_block else None

    def _placement(self) -> ec2.CfnLaunchTemplate.PlacementProperty | None:
        if self._pcs is None or self._pcs.placement_group is None:
            return None
        return ec2.CfnLaunchTemplate.PlacementProperty(group_name=self._pcs.placement_group)

    def _reservation(self) -> ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty | None:
        capacity = self._cluster.capacity
        if capacity.kind not in ("reservation", "capacity-block"):
            return None
        if self._pcs is None:
            return parts.reservation(capacity.id)
        return parts.reservation(self._pcs.capacity_id, self._pcs.reservation_group_arn)
