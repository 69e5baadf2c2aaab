"""EC2 launch templates: interfaces, capacity, placement, metadata, volumes, user data."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.lint import interfaces, user_data
from stacks.domain.lint.interfaces import Interface
from stacks.domain.lint.report import Report
from stacks.domain.lint.shell import UNKNOWN_VALUE
from stacks.domain.lint.subjects import check_type_name, check_zone
from stacks.domain.lint.tree import Node

RESERVATION_ID = re.compile(r"cr-[0-9a-f]{8,17}")
MOVING_AMI = re.compile(r"/(latest|recommended)(/|$|})")
AL2023_AMI = re.compile(r"amazon-linux-2023|al2023", re.IGNORECASE)
AL2_AMI = re.compile(r"amazon-linux-2(?!023)|amzn2|AL2_", re.IGNORECASE)


@dataclass(slots=True)
class TemplateUse:
    """A launch template with what its users (node groups, compute environments) say of it."""

    data: Node
    raw: Node
    """As it is written."""
    types: list[InstanceType] = field(default_factory=list)
    user: str = ""
    """"an EKS managed node group", "AWS Batch" or "" where only EC2 is known to use it."""
    ami_type: Node | None = None
    is_block: bool = False
    """A user says that it runs in a capacity block."""
    nodes_work_alone: bool = False
    """Its user gives each task one node: nothing talks from node to node."""
    value_of: user_data.ValueOf = lambda _: UNKNOWN_VALUE

    @property
    def instance_type(self) -> InstanceType | None:
        """The only one, or None."""
        return self.types[0] if len({t.name for t in self.types}) == 1 else None


def check(use: TemplateUse, catalog: Catalog, report: Report) -> tuple[Interface, ...]:
    """The interfaces, for those who know more of the network."""
    _read_type(use, catalog, report)
    found = _check_interfaces(use, report)
    _check_capacity(use, report)
    _check_host(use, report)
    _check_ami(use, report)
    zone = use.data.get("Placement", "AvailabilityZone")
    check_zone(zone.text, use.types, zone.place, catalog, report)
    data = user_data.read(use.data.get("UserData"), use.raw.get("UserData"), use.value_of)
    if data is not None:
        user_data.check(
            data,
            use.data.get("UserData"),
            report,
            must_be_mime=_merging_user(use),
            ami_family=_ami_family(use),
        )
    elif not use.data.get("UserData").missing:
        report.skip(
            "NK434", use.data.get("UserData").place, "the user data depends on what the file does not say"
        )
    return found


def _read_type(use: TemplateUse, catalog: Catalog, report: Report) -> None:
    node = use.data.get("InstanceType")
    if node.known and node.text:
        found = check_type_name(node.text, node.place, catalog, report)
        use.types = [found] if found else []
    elif node.unknown:
        use.types = []


def _check_interfaces(use: TemplateUse, report: Report) -> tuple[Interface, ...]:
    nodes = use.data.get("NetworkInterfaces")
    if nodes.missing:
        if use.instance_type is not None and not use.nodes_work_alone:
            interfaces.check_absence(use.data, use.instance_type, report)
        return ()
    found = interfaces.read(nodes, report)
    if found is None:
        return ()
    interfaces.check(found, nodes, use.instance_type, report, may_lack_efa=use.nodes_work_alone)
    groups = use.data.get("SecurityGroupIds")
    if found and not groups.missing:
        report.add(
            "NK415", groups.place, message="the template has both", fix="write Groups on every interface"
        )
    if use.user and (placed := [i.node.get("SubnetId") for i in found if not i.node.get("SubnetId").missing]):
        report.add(
            "NK414",
            placed[0].place,
            given=f"{len(placed)} of {len(found)} interfaces",
            message=f"the subnet belongs to {use.user}",
            fix="remove SubnetId",
        )
    return found


def _check_capacity(use: TemplateUse, report: Report) -> None:
    market = use.data.get("InstanceMarketOptions", "MarketType")
    target = use.data.get("CapacityReservationSpecification", "CapacityReservationTarget")
    id_ = target.get("CapacityReservationId")
    if market.text == "capacity-block":
        _check_block(use, market, target, report)
    elif not id_.missing and market.missing:
        is_block = use.is_block or "block" in (id_.reference or "").lower() or _only_in_blocks(use)
        report.add(
            "NK424" if is_block else "NK425",
            id_.place,
            fix="write InstanceMarketOptions with MarketType: capacity-block, if it is a block",
        )
    elif not id_.missing and market.unknown:
        report.skip("NK424", market.place, "MarketType depends on what the file does not say")
    if id_.known and not RESERVATION_ID.fullmatch(id_.text):
        fix = "leave the whole specification out where there is no reservation (Fn::If with AWS::NoValue)"
        report.add("NK426", id_.place, given=repr(id_.text), allowed="cr-… of 8 or 17 digits", fix=fix)
    _check_placement(use, market, report)


def _only_in_blocks(use: TemplateUse) -> bool:
    return bool(use.types) and all(t.purchase_options == {"capacity-block"} for t in use.types)


def _check_block(use: TemplateUse, market: Node, target: Node, report: Report) -> None:
    if target.missing or (target.known and not list(target.items())):
        report.add(
            "NK427",
            market.place,
            fix="write CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId",
        )
    for instance_type in use.types:
        if "capacity-block" not in instance_type.purchase_options:
            report.add(
                "NK218",
                market.place,
                given="capacity-block",
                allowed=", ".join(sorted(instance_type.purchase_options)),
                message=f"EC2 did not list {instance_type.name} as sold in blocks",
                fix="ask EC2 (DescribeInstanceTypes, SupportedUsageClasses)",
            )


def _check_placement(use: TemplateUse, market: Node, report: Report) -> None:
    group = use.data.get("Placement", "GroupName")
    group = use.data.get("Placement", "GroupId") if group.missing else group
    if group.missing or (group.unknown and group.reference is None):
        return
    if market.text == "capacity-block":
        add_group_in_block(group, report)
    else:
        report.add("NK423", group.place, fix="leave it out where a capacity block is used")


def add_group_in_block(group: Node, report: Report) -> None:
    report.add(
        "NK215",
        group.place,
        given=group.text or str(group.reference),
        allowed="no placement group",
        message="reserved instances outside the group would not start; a block is placed as a whole already",
        fix="remove it",
    )


def _check_host(use: TemplateUse, report: Report) -> None:
    if not any(t.accelerators for t in use.types) and not use.data.get("NetworkInterfaces").elements():
        return  # some other template of the file
    tokens = use.data.get("MetadataOptions", "HttpTokens")
    if not tokens.unknown and tokens.text != "required":
        report.add(
            "NK430",
            tokens.place,
            given=tokens.text,
            allowed="required",
            fix="write MetadataOptions: {HttpTokens: required}",
        )
    for mapping in use.data.get("BlockDeviceMappings").elements():
        encrypted = mapping.get("Ebs", "Encrypted")
        if not mapping.get("Ebs").missing and not encrypted.unknown and encrypted.flag is not True:
            report.add(
                "NK431",
                encrypted.place,
                given=mapping.get("DeviceName").text,
                allowed="Encrypted: true",
                fix="write it under Ebs",
            )


def _check_ami(use: TemplateUse, report: Report) -> None:
    image = use.data.get("ImageId")
    name = image.text or image.partial
    if MOVING_AMI.search(name):
        report.add("NK433", image.place, given=name, fix="pin a dated parameter, or the AMI id")
    is_neuron = any(t.is_neuron for t in use.types)
    # AMI ids say nothing; of an SSM parameter the name says for which chips it is made.
    if is_neuron and re.search(r"/(standard|gpu|nvidia|arm64)(/|$)", name):
        report.add(
            "NK436",
            image.place,
            given=name,
            allowed="a Neuron AMI",
            message="has no Neuron driver",
            fix="take the …/neuron/… parameter",
        )


def _ami_family(use: TemplateUse) -> str:
    image = use.data.get("ImageId")
    name = (
        f"{image.text or image.partial or image.reference or ''} {use.ami_type.text if use.ami_type else ''}"
    )
    return "AL2023" if AL2023_AMI.search(name) else "AL2" if AL2_AMI.search(name) else ""


def _merging_user(use: TemplateUse) -> str:
    """EKS leaves the user data alone where the template brings its own AMI."""
    is_own_ami = use.user.startswith("an EKS") and not use.data.get("ImageId").missing
    return "" if is_own_ami else use.user
