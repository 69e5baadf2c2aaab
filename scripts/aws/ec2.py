"""EC2: what of a kind carries a tag or a name, its deletion, and a few facts (zones, images, reservations)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE = "ec2"


@dataclass(frozen=True, slots=True)
class Ec2Kind:
    """How one kind of resource is described. `gone`: states in which EC2 still lists what no longer exists."""

    name: str
    operation: str
    key: str
    id_key: str
    arn_type: str
    name_key: str | None = None
    state_key: str | None = None
    gone: tuple[str, ...] = ()
    filters_parameter: str = "Filters"
    name_filter: str = "tag:Name"
    owners_parameter: str | None = None
    """Without "self" there, the call would look through everybody's."""


INSTANCE = Ec2Kind(
    "instance",
    "describe_instances",
    "Reservations",
    "InstanceId",
    "instance",
    state_key="State",
    gone=("terminated",),
)
NETWORK_INTERFACE = Ec2Kind(
    "network interface",
    "describe_network_interfaces",
    "NetworkInterfaces",
    "NetworkInterfaceId",
    "network-interface",
    state_key="Status",
)
VOLUME = Ec2Kind(
    "volume",
    "describe_volumes",
    "Volumes",
    "VolumeId",
    "volume",
    state_key="State",
    gone=("deleting", "deleted"),
)
ELASTIC_IP = Ec2Kind(
    "elastic IP", "describe_addresses", "Addresses", "AllocationId", "elastic-ip", name_key="PublicIp"
)
NAT_GATEWAY = Ec2Kind(
    "NAT gateway",
    "describe_nat_gateways",
    "NatGateways",
    "NatGatewayId",
    "natgateway",
    state_key="State",
    gone=("deleted", "failed"),
    filters_parameter="Filter",
)
VPC_ENDPOINT = Ec2Kind(
    "VPC endpoint",
    "describe_vpc_endpoints",
    "VpcEndpoints",
    "VpcEndpointId",
    "vpc-endpoint",
    state_key="State",
    gone=("deleted",),
)
SECURITY_GROUP = Ec2Kind(
    "security group",
    "describe_security_groups",
    "SecurityGroups",
    "GroupId",
    "security-group",
    name_key="GroupName",
    name_filter="group-name",
)
SUBNET = Ec2Kind("subnet", "describe_subnets", "Subnets", "SubnetId", "subnet")
ROUTE_TABLE = Ec2Kind("route table", "describe_route_tables", "RouteTables", "RouteTableId", "route-table")
INTERNET_GATEWAY = Ec2Kind(
    "internet gateway",
    "describe_internet_gateways",
    "InternetGateways",
    "InternetGatewayId",
    "internet-gateway",
)
VPC = Ec2Kind("VPC", "describe_vpcs", "Vpcs", "VpcId", "vpc")
LAUNCH_TEMPLATE = Ec2Kind(
    "launch template",
    "describe_launch_templates",
    "LaunchTemplates",
    "LaunchTemplateId",
    "launch-template",
    name_key="LaunchTemplateName",
    name_filter="launch-template-name",
)
PLACEMENT_GROUP = Ec2Kind(
    "placement group",
    "describe_placement_groups",
    "PlacementGroups",
    "GroupName",
    "placement-group",
    state_key="State",
    gone=("deleted",),
    name_filter="group-name",
)
SNAPSHOT = Ec2Kind(
    "snapshot",
    "describe_snapshots",
    "Snapshots",
    "SnapshotId",
    "snapshot",
    state_key="State",
    owners_parameter="OwnerIds",
)
IMAGE = Ec2Kind(
    "image",
    "describe_images",
    "Images",
    "ImageId",
    "image",
    name_key="Name",
    state_key="State",
    gone=("deregistered",),
    name_filter="name",
    owners_parameter="Owners",
)
KINDS = (
    INSTANCE,
    NETWORK_INTERFACE,
    VOLUME,
    ELASTIC_IP,
    NAT_GATEWAY,
    VPC_ENDPOINT,
    SECURITY_GROUP,
    SUBNET,
    ROUTE_TABLE,
    INTERNET_GATEWAY,
    VPC,
    LAUNCH_TEMPLATE,
    PLACEMENT_GROUP,
    IMAGE,
    SNAPSHOT,
)


@dataclass(frozen=True, slots=True)
class Ec2Resource:
    kind: str
    id: str
    name: str
    state: str
    tags: dict[str, str]
    description: str
    is_managed: bool
    """By another service (a NAT gateway, say): it goes with that service's resource."""


@dataclass(frozen=True, slots=True)
class Zone:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class MachineImage:
    id: str
    name: str
    root_device_name: str


@dataclass(frozen=True, slots=True)
class CapacityReservation:
    id: str
    state: str
    type: str
    """"capacity-block", or "default" for an on-demand reservation."""
    instance_type: str
    zone_id: str
    instances: int
    available: int
    starts: datetime | None
    ends: datetime | None

    @property
    def is_paid_for(self) -> bool:
        """Now or later: neither over, nor cancelled, nor never paid."""
        return self.state not in ("expired", "cancelled", "failed", "payment-failed", "unsupported")


def with_tag(cloud: Cloud, kind: Ec2Kind, key: str, value: str) -> tuple[Ec2Resource, ...]:
    """What exists of a kind and carries the tag."""
    return tuple(_described(cloud, kind, f"tag:{key}", value))


def with_tag_key(cloud: Cloud, kind: Ec2Kind, key: str) -> tuple[Ec2Resource, ...]:
    """Whatever the tag's value is."""
    return tuple(_described(cloud, kind, "tag-key", key))


def with_name_prefix(cloud: Cloud, kind: Ec2Kind, prefix: str) -> tuple[Ec2Resource, ...]:
    """By the kind's own name where it has one, else by the Name tag."""
    return tuple(_described(cloud, kind, kind.name_filter, f"{prefix}*"))


def interfaces_in_vpc(cloud: Cloud, vpc_id: str) -> tuple[Ec2Resource, ...]:
    return tuple(_described(cloud, NETWORK_INTERFACE, "vpc-id", vpc_id))


def delete(cloud: Cloud, kind: str, id_: str) -> None:
    """No error if it is gone. Only kinds in DELETIONS."""
    operation, parameter, is_list = DELETIONS[kind]
    try:
        answer = cloud.call(_SERVICE, operation, **{parameter: [id_] if is_list else id_})
        _raise_unsuccessful(kind, answer)
    except AwsError as error:
        if not _is_gone(error):
            raise


def _raise_unsuccessful(kind: str, answer: Mapping[str, Any]) -> None:
    """DeleteVpcEndpoints succeeds in any case, and says in its answer what it did not delete."""
    for failure in answer.get("Unsuccessful") or ():
        why = failure.get("Error") or {}
        code, message = why.get("Code", ""), why.get("Message", "")
        raise AwsError(
            f"{kind} {failure.get('ResourceId', '')} could not be deleted: {code}: {message}".rstrip(": "),
            code=code,
            reason=message,
        )


def fleet_launches(cloud: Cloud, fleet_id: str) -> bool:
    """Whether an EC2 Fleet may still start instances. One of type instant did so once, when it was made, and EC2 goes
    on listing deleted ones for two days: both are records.
    """
    try:
        fleets = cloud.call(_SERVICE, "describe_fleets", FleetIds=[fleet_id])["Fleets"]
    except AwsError as error:
        if _is_gone(error):
            return False
        raise
    return any(
        raw.get("Type") != "instant" and not raw.get("FleetState", "").startswith("deleted") for raw in fleets
    )


def security_group_rule_exists(cloud: Cloud, rule_id: str) -> bool:
    try:
        answer = cloud.call(_SERVICE, "describe_security_group_rules", SecurityGroupRuleIds=[rule_id])
    except AwsError as error:
        if _is_gone(error):
            return False
        raise
    return bool(answer["SecurityGroupRules"])


DELETIONS: Mapping[str, tuple[str, str, bool]] = {
    INSTANCE.name: ("terminate_instances", "InstanceIds", True),
    NETWORK_INTERFACE.name: ("delete_network_interface", "NetworkInterfaceId", False),
    VOLUME.name: ("delete_volume", "VolumeId", False),
    ELASTIC_IP.name: ("release_address", "AllocationId", False),
    NAT_GATEWAY.name: ("delete_nat_gateway", "NatGatewayId", False),
    VPC_ENDPOINT.name: ("delete_vpc_endpoints", "VpcEndpointIds", True),
    SECURITY_GROUP.name: ("delete_security_group", "GroupId", False),
    LAUNCH_TEMPLATE.name: ("delete_launch_template", "LaunchTemplateId", False),
    PLACEMENT_GROUP.name: ("delete_placement_group", "GroupName", False),
    IMAGE.name: ("deregister_image", "ImageId", False),
    SNAPSHOT.name: ("delete_snapshot", "SnapshotId", False),
}


def zones(cloud: Cloud) -> tuple[Zone, ...]:
    raw_zones = cloud.call(_SERVICE, "describe_availability_zones")["AvailabilityZones"]
    return tuple(Zone(raw["ZoneId"], raw["ZoneName"]) for raw in raw_zones)


def find_image(cloud: Cloud, image_id: str) -> MachineImage | None:
    try:
        images = cloud.call(_SERVICE, "describe_images", ImageIds=[image_id])["Images"]
    except AwsError as error:
        if error.code.startswith("InvalidAMIID"):
            return None
        raise
    found = (
        MachineImage(raw["ImageId"], raw.get("Name", ""), raw.get("RootDeviceName", "")) for raw in images
    )
    return next(found, None)


def find_reservation(cloud: Cloud, reservation_id: str) -> CapacityReservation | None:
    try:
        answer = cloud.call(
            _SERVICE, "describe_capacity_reservations", CapacityReservationIds=[reservation_id]
        )
    except AwsError as error:
        if error.code.startswith("InvalidCapacityReservationId"):
            return None
        raise
    return next((_reservation(raw) for raw in answer["CapacityReservations"]), None)


def reservations_with_tag(cloud: Cloud, key: str, value: str) -> tuple[CapacityReservation, ...]:
    return tuple(_reservation(raw) for raw in raw_reservations_with_tags(cloud, {key: value}))


def raw_reservations_with_tags(cloud: Cloud, tags: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Those that carry all of the tags. EC2 documents no `tag:` filter for DescribeCapacityReservations, where it does
    for its other kinds: so the tags in the answer are looked at as well, lest a stranger's be taken for ours.
    """
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
    for raw in cloud.pages(
        _SERVICE, "describe_capacity_reservations", "CapacityReservations", Filters=filters
    ):
        if tags.items() <= {tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()}.items():
            yield raw


def _described(cloud: Cloud, kind: Ec2Kind, filter_name: str, value: str) -> Iterator[Ec2Resource]:
    filters: dict[str, Any] = {kind.filters_parameter: [{"Name": filter_name, "Values": [value]}]}
    if kind.owners_parameter:
        filters[kind.owners_parameter] = ["self"]
    for raw in cloud.pages(_SERVICE, kind.operation, kind.key, **filters):
        # DescribeInstances wraps instances in reservations.
        for item in raw["Instances"] if kind is INSTANCE else (raw,):
            resource = _resource(kind, item)
            if resource.state not in kind.gone:
                yield resource


def _resource(kind: Ec2Kind, raw: dict[str, Any]) -> Ec2Resource:
    tags = {tag["Key"]: tag["Value"] for tag in raw.get("Tags") or raw.get("TagSet") or ()}
    state: Any = raw.get(kind.state_key, "") if kind.state_key else ""
    return Ec2Resource(
        kind=kind.name,
        id=raw[kind.id_key],
        name=raw.get(kind.name_key, "") if kind.name_key else tags.get("Name", ""),
        state=state["Name"] if isinstance(state, dict) else state,
        tags=tags,
        description=raw.get("Description", ""),
        is_managed=bool(raw.get("RequesterManaged")) or raw.get("InterfaceType") == "nat_gateway",
    )


def _reservation(raw: dict[str, Any]) -> CapacityReservation:
    return CapacityReservation(
        id=raw["CapacityReservationId"],
        state=raw["State"],
        type=raw.get("ReservationType", "default"),
        instance_type=raw["InstanceType"],
        zone_id=raw.get("AvailabilityZoneId", ""),
        instances=raw.get("TotalInstanceCount", 0),
        available=raw.get("AvailableInstanceCount", 0),
        starts=raw.get("StartDate"),
        ends=raw.get("EndDate"),
    )


def _is_gone(error: AwsError) -> bool:
    return error.code.endswith(("NotFound", "NotFoundException", ".Unknown"))
