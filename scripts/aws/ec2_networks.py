"""EC2's answers about the VPC, subnets and security group that the user brings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.live import (
    AclEntry,
    GroupRule,
    LiveAcl,
    LiveEndpoint,
    LiveSecurityGroup,
    LiveSubnet,
    VpcDns,
)
from stacks.domain.names import ENVIRONMENT_TAG

_SERVICE = "ec2"
_TARGETS = (
    "NatGatewayId",
    "GatewayId",
    "TransitGatewayId",
    "NetworkInterfaceId",
    "InstanceId",
    "VpcPeeringConnectionId",
)


def find_subnet(cloud: Cloud, subnet_id: str, environment: str) -> LiveSubnet | None:
    raw = _one(cloud, "describe_subnets", "Subnets", "SubnetIds", subnet_id)
    if raw is None:
        return None
    vpc_id = raw.get("VpcId", "")
    table = _route_table(cloud, subnet_id, vpc_id)
    return LiveSubnet(
        id=subnet_id,
        zone_id=raw.get("AvailabilityZoneId", ""),
        vpc_id=vpc_id,
        cidr=raw.get("CidrBlock", ""),
        free_addresses=raw.get("AvailableIpAddressCount", 0),
        own_addresses=_own_addresses(cloud, subnet_id, environment),
        gives_public_addresses=raw.get("MapPublicIpOnLaunch", False),
        route_table_id=table.get("RouteTableId", ""),
        default_route_target=_target_of(table),
    )


def find_acl(cloud: Cloud, subnet_id: str) -> LiveAcl | None:
    """Every subnet has one; None where there is no such subnet."""
    filters = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
    found = next(cloud.pages(_SERVICE, "describe_network_acls", "NetworkAcls", Filters=filters), None)
    if found is None:
        return None
    entries = sorted(found.get("Entries") or (), key=lambda entry: entry.get("RuleNumber", 0))
    return LiveAcl(found["NetworkAclId"], tuple(_acl_entry(raw) for raw in entries if raw.get("CidrBlock")))


def _acl_entry(raw: dict[str, Any]) -> AclEntry:
    ports = raw.get("PortRange") or {}
    return AclEntry(
        is_egress=raw.get("Egress", False),
        allows=raw.get("RuleAction") == "allow",
        protocol=raw.get("Protocol", ""),
        from_port=ports.get("From"),
        to_port=ports.get("To"),
        cidr=raw["CidrBlock"],
    )


def find_endpoints(cloud: Cloud, vpc_id: str) -> tuple[LiveEndpoint, ...]:
    """Those that are in use already."""
    found = cloud.pages(_SERVICE, "describe_vpc_endpoints", "VpcEndpoints", Filters=_in_vpc(vpc_id))
    prefix = f"com.amazonaws.{cloud.region}."
    return tuple(
        LiveEndpoint(
            service=raw.get("ServiceName", "").removeprefix(prefix),
            is_gateway=raw.get("VpcEndpointType") == "Gateway",
            route_table_ids=frozenset(raw.get("RouteTableIds") or ()),
            has_private_dns=raw.get("PrivateDnsEnabled", False),
        )
        for raw in found
        # EC2's model writes it large, its answers write it small.
        if raw.get("State", "").lower() == "available"
    )


def dns_of_vpc(cloud: Cloud, vpc_id: str) -> VpcDns:
    def is_on(attribute: str, key: str) -> bool:
        answer = cloud.call(_SERVICE, "describe_vpc_attribute", VpcId=vpc_id, Attribute=attribute)
        return bool((answer.get(key) or {}).get("Value"))

    return VpcDns(
        support=is_on("enableDnsSupport", "EnableDnsSupport"),
        hostnames=is_on("enableDnsHostnames", "EnableDnsHostnames"),
    )


def find_group(cloud: Cloud, group_id: str) -> LiveSecurityGroup | None:
    raw = _one(cloud, "describe_security_groups", "SecurityGroups", "GroupIds", group_id)
    return _group(raw) if raw else None


def find_default_group(cloud: Cloud, vpc_id: str) -> LiveSecurityGroup | None:
    filters = [*_in_vpc(vpc_id), {"Name": "group-name", "Values": ["default"]}]
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


def _in_vpc(vpc_id: str) -> list[dict[str, Any]]:
    return [{"Name": "vpc-id", "Values": [vpc_id]}]


def _own_addresses(cloud: Cloud, subnet_id: str, environment: str) -> int:
    filters = [
        {"Name": "subnet-id", "Values": [subnet_id]},
        {"Name": f"tag:{ENVIRONMENT_TAG}", "Values": [environment]},
    ]
    found = cloud.pages(_SERVICE, "describe_network_interfaces", "NetworkInterfaces", Filters=filters)
    return sum(len(interface.get("PrivateIpAddresses") or ()) for interface in found)


def _route_table(cloud: Cloud, subnet_id: str, vpc_id: str) -> dict[str, Any]:
    """The subnet's own, else the VPC's main one; empty where EC2 shows neither."""
    for filters in (
        [{"Name": "association.subnet-id", "Values": [subnet_id]}],
        [*_in_vpc(vpc_id), {"Name": "association.main", "Values": ["true"]}],
    ):
        tables = list(cloud.pages(_SERVICE, "describe_route_tables", "RouteTables", Filters=filters))
        if tables:
            found: dict[str, Any] = tables[0]
            return found
    return {}


def _target_of(table: dict[str, Any]) -> str:
    """ "" where nothing leads out."""
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
