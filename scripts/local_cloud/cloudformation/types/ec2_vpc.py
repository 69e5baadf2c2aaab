"""AWS::EC2: VPC, Subnet, VPCEndpoint, PlacementGroup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    as_bool,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, json_text, without
from scripts.local_cloud.cloudformation.types.ec2_tags import retag, tag_specifications


class Vpc(ResourceType):
    name = "AWS::EC2::VPC"
    properties = split_words("CidrBlock InstanceTenancy EnableDnsSupport EnableDnsHostnames Tags")

    def create(self, request: Request) -> Created:
        ec2 = request.client("ec2")
        vpc = ec2.create_vpc(
            CidrBlock=request["CidrBlock"],
            InstanceTenancy=request.get("InstanceTenancy", "default"),
            TagSpecifications=tag_specifications(request, "vpc"),
        )["Vpc"]
        request.made(vpc["VpcId"])
        self._set_dns(request, vpc["VpcId"], {"EnableDnsSupport", "EnableDnsHostnames"})
        by_vpc = [{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
        group = ec2.describe_security_groups(Filters=[*by_vpc, {"Name": "group-name", "Values": ["default"]}])
        acl = ec2.describe_network_acls(Filters=[*by_vpc, {"Name": "default", "Values": ["true"]}])
        attributes = {
            "VpcId": vpc["VpcId"],
            "CidrBlock": vpc["CidrBlock"],
            "CidrBlockAssociations": [item["AssociationId"] for item in vpc["CidrBlockAssociationSet"]],
            "DefaultSecurityGroup": group["SecurityGroups"][0]["GroupId"],
            "DefaultNetworkAcl": acl["NetworkAcls"][0]["NetworkAclId"],
            "Ipv6CidrBlocks": [],
        }
        return Created(vpc["VpcId"], attributes)

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"EnableDnsSupport", "EnableDnsHostnames", "Tags"}:
            raise ReplacementNeededError
        self._set_dns(request, physical_id, changed)
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_vpc(VpcId=physical_id)

    def _set_dns(self, request: Request, vpc_id: str, changed: set[str]) -> None:
        defaults = {"EnableDnsSupport": True, "EnableDnsHostnames": False}
        for name, default in defaults.items():
            if name in changed:
                value = {"Value": as_bool(request.get(name, default))}
                request.client("ec2").modify_vpc_attribute(VpcId=vpc_id, **{name: value})


class Subnet(ResourceType):
    name = "AWS::EC2::Subnet"
    properties = split_words("VpcId CidrBlock AvailabilityZone AvailabilityZoneId MapPublicIpOnLaunch Tags")

    def create(self, request: Request) -> Created:
        zone = {
            name: request[name] for name in ("AvailabilityZone", "AvailabilityZoneId") if request.has(name)
        }
        subnet = request.client("ec2").create_subnet(
            VpcId=request["VpcId"],
            CidrBlock=request["CidrBlock"],
            TagSpecifications=tag_specifications(request, "subnet"),
            **zone,
        )["Subnet"]
        request.made(subnet["SubnetId"])
        self._set_public(request, subnet["SubnetId"])
        return Created(
            subnet["SubnetId"],
            {
                "SubnetId": subnet["SubnetId"],
                "VpcId": subnet["VpcId"],
                "CidrBlock": subnet["CidrBlock"],
                "AvailabilityZone": subnet["AvailabilityZone"],
                "AvailabilityZoneId": subnet["AvailabilityZoneId"],
                "Ipv6CidrBlocks": [],
            },
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"MapPublicIpOnLaunch", "Tags"}:
            raise ReplacementNeededError
        self._set_public(request, physical_id)
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_subnet(SubnetId=physical_id)

    def _set_public(self, request: Request, subnet_id: str) -> None:
        request.client("ec2").modify_subnet_attribute(
            SubnetId=subnet_id,
            MapPublicIpOnLaunch={"Value": as_bool(request.get("MapPublicIpOnLaunch", False))},
        )


class VpcEndpoint(ResourceType):
    name = "AWS::EC2::VPCEndpoint"
    properties = split_words(
        "VpcId ServiceName VpcEndpointType RouteTableIds SubnetIds SecurityGroupIds PolicyDocument PrivateDnsEnabled Tags"
    )

    def create(self, request: Request) -> Created:
        ec2 = request.client("ec2")
        properties = without(request.properties, "Tags", "PolicyDocument")
        parameters = api_parameters(ec2, "CreateVpcEndpoint", properties)
        if request.has("PolicyDocument"):
            parameters["PolicyDocument"] = json_text(request["PolicyDocument"])
        parameters["TagSpecifications"] = tag_specifications(request, "vpc-endpoint")
        endpoint = ec2.create_vpc_endpoint(**parameters)["VpcEndpoint"]
        return Created(
            endpoint["VpcEndpointId"],
            {
                "Id": endpoint["VpcEndpointId"],
                "CreationTimestamp": str(endpoint.get("CreationTimestamp", "")),
                "NetworkInterfaceIds": endpoint.get("NetworkInterfaceIds", []),
                "DnsEntries": [
                    f"{entry.get('HostedZoneId', '')}:{entry['DnsName']}"
                    for entry in endpoint.get("DnsEntries", [])
                ],
            },
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[physical_id])


class PlacementGroup(ResourceType):
    name = "AWS::EC2::PlacementGroup"
    properties = split_words("Strategy PartitionCount SpreadLevel Tags")

    def create(self, request: Request) -> Created:
        ec2 = request.client("ec2")
        parameters = api_parameters(ec2, "CreatePlacementGroup", without(request.properties, "Tags"))
        group_name = request.generated_name(255)
        ec2.create_placement_group(
            GroupName=group_name,
            TagSpecifications=tag_specifications(request, "placement-group"),
            **parameters,
        )
        return Created(group_name, {"GroupName": group_name})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        groups = request.client("ec2").describe_placement_groups(GroupNames=[physical_id])["PlacementGroups"]
        retag(request, groups[0]["GroupId"])

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_placement_group(GroupName=physical_id)


TYPES: list[ResourceType] = [Vpc(), Subnet(), VpcEndpoint(), PlacementGroup()]
