"""EC2's answers about a subnet and a security group that the user brings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.live import GroupRule, LiveSecurityGroup, LiveSubnet

_SERVICE = "ec2"
_TARGETS = (
    "NatGatewayId",
    "GatewayId",
    "TransitGatewayId",
    "NetworkInterfaceId",
    "InstanceId",
    "VpcPeeringConnectionId",
)


def find_subnet(cloud: Cloud, subnet_id: str) -> LiveSubnet | None:
    raw = _one(cloud, "describe_subnets", "Subnets", "SubnetIds", subnet_id)
    if raw is None:
        return None
    vpc_id = raw.get("VpcId", "")
    return LiveSubnet(
        id=subnet_id,
        zone_id=raw.get("AvailabilityZoneId", ""),
        vpc_id=vpc_id,
        free_addresses=raw.get("AvailableIpAddressCount", 0),
        default_route_target=_default_route_target(cloud, subnet_id, vpc_id),
    )


def find_group(cloud: Cloud, group_id: str) -> LiveSecurityGroup | None:
    raw = _one(cloud, "describe_security_groups", "SecurityGroups", "GroupIds", group_id)
    return _group(raw) if raw else None


def find_default_group(cloud: Cloud, vpc_id: str) -> LiveSecurityGroup | None:
    filters = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "group-name", "Values": ["default"]}]
    groups = cloud.pages(_SERVICE, "describe_security_groups", "SecurityGroups", Filters=filters)
    return next((_group(raw) for raw in groups), None)


def _one(cloud: Cloud, operation: str, key: str, parameter: str, id_: str) -> dict[str, Any] | None:
    try:
        found: list[dict[str, Any]] = cloud.call(_SERVICE, operation, **{parameter: [id_]}).get(key) or []
    except AwsError as error:
        if error.code.endswith((".NotFound", ".Malformed")):
            return None
        raise
    return next(iter(found), None)


def _default_route_target(cloud: Cloud, subnet_id: str, vpc_id: str) -> str:
    """Of the subnet's own route table, else of the VPC's main one; "" where nothing leads out."""
    for filters in (
        [{"Name": "association.subnet-id", "Values": [subnet_id]}],
        [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}],
    ):
        tables = list(cloud.pages(_SERVICE, "describe_route_tables", "RouteTables", Filters=filters))
        if tables:
            return _target_of(tables[0])
    return ""


def _target_of(table: dict[str, Any]) -> str:
    for route in table.get("Routes") or ():
        is_default = route.get("DestinationCidrBlock") == "0.0.0.0/0"
        if is_default and route.get("State", "active") == "active":
            return next((route[target] for target in _TARGETS if route.get(target)), "")
    return ""


def _group(raw: dict[str, Any]) -> LiveSecurityGroup:
    rules = [
        *(
            rule
            for permission in raw.get("IpPermissions") or ()
            for rule in _rules(permission, is_egress=False)
        ),
        *(
            rule
            for permission in raw.get("IpPermissionsEgress") or ()
            for rule in _rules(permission, is_egress=True)
        ),
    ]
    return LiveSecurityGroup(raw["GroupId"], raw.get("GroupName", ""), raw.get("VpcId", ""), tuple(rules))


def _rules(permission: dict[str, Any], *, is_egress: bool) -> Iterator[GroupRule]:
    """One for each peer."""
    peers = [
        *(peer.get("GroupId") for peer in permission.get("UserIdGroupPairs") or ()),
        *(peer.get("CidrIp") for peer in permission.get("IpRanges") or ()),
        *(peer.get("CidrIpv6") for peer in permission.get("Ipv6Ranges") or ()),
        *(peer.get("PrefixListId") for peer in permission.get("PrefixListIds") or ()),
    ]
    for peer in peers:
        if peer:
            protocol = permission.get("IpProtocol", "")
            yield GroupRule(is_egress, protocol, permission.get("FromPort"), permission.get("ToPort"), peer)
