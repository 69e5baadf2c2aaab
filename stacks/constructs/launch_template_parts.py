"""What every launch template of the kit says in the same way: disk, metadata service, tags, capacity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from stacks.domain.network_interfaces import NetworkInterface
from stacks.domain.pinned import DEFAULT_ROOT_DEVICE_NAME, AmiPlan

Template = ec2.CfnLaunchTemplate

# In place of the id of a reservation or block that is not bought: EC2 refuses it, so that nothing can start
# on demand, at another price, because an id was missing.
NOT_BOUGHT = "cr-NOT-BOUGHT-set-capacity-id"
# In the form of an AMI id, which the templates' checkers look at, and the id of none.
UNRESOLVED_NODE_AMI = "ami-unresolvedrunlock"
# Containers are one hop further from the metadata service than their host.
METADATA_HOPS = 2
# An instance whose tags are in the metadata service takes no other keys (EC2 user guide, work-with-tags-in-IMDS).
METADATA_TAG_KEY = re.compile(r"[A-Za-z0-9+\-=.,_:@]+")


def metadata_options() -> Template.MetadataOptionsProperty:
    return Template.MetadataOptionsProperty(http_tokens="required", http_put_response_hop_limit=METADATA_HOPS)


def metadata_options_with_tags(node_tags: Mapping[str, str]) -> Template.MetadataOptionsProperty:
    """As AWS's templates for PCS have them, wherever the keys let an instance start that way."""
    readable = all(METADATA_TAG_KEY.fullmatch(key) for key in node_tags)
    return Template.MetadataOptionsProperty(
        http_tokens="required",
        http_put_response_hop_limit=METADATA_HOPS,
        instance_metadata_tags="enabled" if readable else None,
    )


def node_ami_id(ami: AmiPlan | None) -> str:
    return ami.id if ami and ami.is_resolved else UNRESOLVED_NODE_AMI


def root_volume(ami: AmiPlan | None, gib: int) -> Template.BlockDeviceMappingProperty:
    return Template.BlockDeviceMappingProperty(
        device_name=ami.root_device_name if ami else DEFAULT_ROOT_DEVICE_NAME,
        ebs=Template.EbsProperty(
            volume_type="gp3", volume_size=gib, encrypted=True, delete_on_termination=True
        ),
    )


def network_interfaces(
    interfaces: Iterable[NetworkInterface], security_group_id: str, subnet_id: str | None
) -> list[Template.NetworkInterfaceProperty]:
    """Without public addresses. No subnet where the service that starts the nodes names it."""
    return [
        Template.NetworkInterfaceProperty(
            network_card_index=interface.card_index,
            device_index=interface.device_index,
            interface_type=interface.interface_type,
            groups=[security_group_id],
            subnet_id=subnet_id,
            delete_on_termination=True,
        )
        for interface in interfaces
    ]


def tags_of_nodes(node_tags: Mapping[str, str]) -> list[Template.TagSpecificationProperty]:
    return [
        Template.TagSpecificationProperty(resource_type=resource_type, tags=_tags(node_tags))
        for resource_type in ("instance", "volume", "network-interface")
    ]


def tags_of_template(node_tags: Mapping[str, str]) -> list[Template.LaunchTemplateTagSpecificationProperty]:
    return [
        Template.LaunchTemplateTagSpecificationProperty(
            resource_type="launch-template", tags=_tags(node_tags)
        )
    ]


def block_market(capacity_kind: str) -> Template.InstanceMarketOptionsProperty | None:
    """Batch's guide (launch-templates) counts market options among what Batch ignores; AWS's own Batch samples for
    capacity blocks set them (awslabs/awsome-distributed-ai 1.architectures/3.aws-batch), and PCS's guide asks for
    them (capacity-blocks-configure-cng). Not tried on hardware.
    """
    if capacity_kind != "capacity-block":
        return None
    return Template.InstanceMarketOptionsProperty(market_type="capacity-block")


def reservation(
    capacity_id: str | None, resource_group_arn: str | None = None
) -> Template.CapacityReservationSpecificationProperty:
    """By id, or by the resource group that the reservation is in."""
    by_id = None if resource_group_arn else capacity_id or NOT_BOUGHT
    return Template.CapacityReservationSpecificationProperty(
        capacity_reservation_target=Template.CapacityReservationTargetProperty(
            capacity_reservation_id=by_id, capacity_reservation_resource_group_arn=resource_group_arn
        )
    )


def _tags(tags: Mapping[str, str]) -> list[cdk.CfnTag]:
    return [cdk.CfnTag(key=key, value=value) for key, value in sorted(tags.items())]
