"""The launch template of a cluster's nodes: network interfaces, disk, capacity, user data. L1: the L2 knows no EFA."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.pinned import DEFAULT_ROOT_DEVICE_NAME
from stacks.domain.plan import CapacityPlan, ClusterPlan
from stacks.domain.render.node_user_data import node_user_data

# In place of the id of a reservation or block that is not bought: EC2 refuses it, so that nothing can start
# on demand, at another price, because an id was missing.
NOT_BOUGHT = "cr-NOT-BOUGHT-set-capacity-id"
# Containers are one hop further from the metadata service than their host.
METADATA_HOPS = 2

Template = ec2.CfnLaunchTemplate


class EfaLaunchTemplate(Construct):
    """For AWS Batch, which makes a template of its own from it: the AMI, the instance type, the subnet and the
    instance profile come from the compute environment. `node_tags` go on instances, volumes and interfaces.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ClusterPlan,
        security_group_id: str,
        node_tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self._cluster = cluster
        self._security_group_id = security_group_id
        self.resource = Template(
            self,
            "Template",
            launch_template_data=Template.LaunchTemplateDataProperty(
                network_interfaces=self._network_interfaces() if self._has_network_interfaces else None,
                block_device_mappings=[self._root_volume()],
                metadata_options=Template.MetadataOptionsProperty(
                    http_tokens="required", http_put_response_hop_limit=METADATA_HOPS
                ),
                # One-minute metrics, and the only ones with the instance type as a dimension: the dashboard's.
                monitoring=Template.MonitoringProperty(enabled=True),
                instance_market_options=_market_options(cluster.capacity),
                capacity_reservation_specification=_reservation(cluster.capacity),
                user_data=cdk.Fn.base64(node_user_data(cluster)),
                tag_specifications=[
                    Template.TagSpecificationProperty(resource_type=resource_type, tags=_tags(node_tags))
                    for resource_type in ("instance", "volume", "network-interface")
                ],
            ),
            tag_specifications=[
                Template.LaunchTemplateTagSpecificationProperty(
                    resource_type="launch-template", tags=_tags(node_tags)
                )
            ],
        )
        fix_logical_id(self.resource, "LaunchTemplate")

    @property
    def compute_environment_groups(self) -> list[str]:
        """Security groups stand on the template's interfaces or on the compute environment; Batch refuses both."""
        return [] if self._has_network_interfaces else [self._security_group_id]

    @property
    def _has_network_interfaces(self) -> bool:
        """A single plain interface is what every instance gets anyway."""
        return self._cluster.efa_interfaces_per_node > 0 or len(self._cluster.network_interfaces) > 1

    def _network_interfaces(self) -> list[Template.NetworkInterfaceProperty]:
        """Without a subnet, which is the compute environment's to name, and without public addresses."""
        return [
            Template.NetworkInterfaceProperty(
                network_card_index=interface.card_index,
                device_index=interface.device_index,
                interface_type=interface.interface_type,
                groups=[self._security_group_id],
                delete_on_termination=True,
            )
            for interface in self._cluster.network_interfaces
        ]

    def _root_volume(self) -> Template.BlockDeviceMappingProperty:
        ami = self._cluster.ami
        return Template.BlockDeviceMappingProperty(
            device_name=ami.root_device_name if ami else DEFAULT_ROOT_DEVICE_NAME,
            ebs=Template.EbsProperty(
                volume_type="gp3",
                volume_size=self._cluster.root_volume_gib,
                encrypted=True,
                delete_on_termination=True,
            ),
        )


def _market_options(capacity: CapacityPlan) -> Template.InstanceMarketOptionsProperty | None:
    """Batch's guide (launch-templates) counts market options among what Batch ignores; AWS's own Batch samples for
    capacity blocks set them (awslabs/awsome-distributed-ai 1.architectures/3.aws-batch). Not tried on hardware.
    """
    if capacity.kind != "capacity-block":
        return None
    return Template.InstanceMarketOptionsProperty(market_type="capacity-block")


def _reservation(capacity: CapacityPlan) -> Template.CapacityReservationSpecificationProperty | None:
    if capacity.kind not in ("reservation", "capacity-block"):
        return None
    return Template.CapacityReservationSpecificationProperty(
        capacity_reservation_target=Template.CapacityReservationTargetProperty(
            capacity_reservation_id=capacity.id or NOT_BOUGHT
        )
    )


def _tags(tags: Mapping[str, str]) -> list[cdk.CfnTag]:
    return [cdk.CfnTag(key=key, value=value) for key, value in sorted(tags.items())]
