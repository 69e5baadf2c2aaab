"""EC2 as moto answers it, plus what moto lacks: placement groups, capacity reservations and their market, EC2's own
refusals to delete what is still in use, and images that say that they are emulated."""

from __future__ import annotations

from moto.ec2.responses import EC2Response

from scripts.local_cloud.ec2.block_market import BlockMarket
from scripts.local_cloud.ec2.capacity_blocks import CapacityReservations
from scripts.local_cloud.ec2.dependencies import DependencyChecks
from scripts.local_cloud.ec2.images import Images
from scripts.local_cloud.ec2.launch_templates import LaunchTemplateVersions
from scripts.local_cloud.ec2.placement_groups import PlacementGroups
from scripts.local_cloud.ec2.security_group_texts import SecurityGroupTexts


class Ec2(
    PlacementGroups,
    BlockMarket,
    CapacityReservations,
    DependencyChecks,
    Images,
    LaunchTemplateVersions,
    SecurityGroupTexts,
    EC2Response,
):
    pass
