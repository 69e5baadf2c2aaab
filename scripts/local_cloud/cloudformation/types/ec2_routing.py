"""AWS::EC2: RouteTable, Route, SubnetRouteTableAssociation, InternetGateway, VPCGatewayAttachment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.ec2_tags import retag, tag_specifications

_DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")


class RouteTable(ResourceType):
    name = "AWS::EC2::RouteTable"
    properties = split_words("VpcId Tags")

    def create(self, request: Request) -> Created:
        table = request.client("ec2").create_route_table(
            VpcId=request["VpcId"], TagSpecifications=tag_specifications(request, "route-table")
        )["RouteTable"]
        return Created(table["RouteTableId"], {"RouteTableId": table["RouteTableId"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_route_table(RouteTableId=physical_id)


class Route(ResourceType):
    name = "AWS::EC2::Route"
    properties = split_words(
        "RouteTableId DestinationCidrBlock DestinationIpv6CidrBlock DestinationPrefixListId GatewayId NatGatewayId "
        "NetworkInterfaceId InstanceId TransitGatewayId VpcPeeringConnectionId EgressOnlyInternetGatewayId VpcEndpointId"
    )

    def create(self, request: Request) -> Created:
        request.client("ec2").create_route(**request.properties)
        return Created(
            f"{request['RouteTableId']}|{_destination(request)[1]}", {"CidrBlock": _destination(request)[1]}
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"RouteTableId", *_DESTINATIONS}:
            raise ReplacementNeededError
        request.client("ec2").replace_route(**request.properties)

    def delete(self, request: Request, physical_id: str) -> None:
        name, destination = _destination(request)
        request.client("ec2").delete_route(RouteTableId=request["RouteTableId"], **{name: destination})


def _destination(request: Request) -> tuple[str, str]:
    for name in _DESTINATIONS:
        if request.has(name):
            return name, request[name]
    raise ResourceError("A route needs a destination")


class SubnetRouteTableAssociation(ResourceType):
    name = "AWS::EC2::SubnetRouteTableAssociation"
    properties = split_words("RouteTableId SubnetId")

    def create(self, request: Request) -> Created:
        answer = request.client("ec2").associate_route_table(
            RouteTableId=request["RouteTableId"], SubnetId=request["SubnetId"]
        )
        return Created(answer["AssociationId"], {"Id": answer["AssociationId"]})

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").disassociate_route_table(AssociationId=physical_id)


class InternetGateway(ResourceType):
    name = "AWS::EC2::InternetGateway"
    properties = split_words("Tags")

    def create(self, request: Request) -> Created:
        gateway = request.client("ec2").create_internet_gateway(
            TagSpecifications=tag_specifications(request, "internet-gateway")
        )["InternetGateway"]
        return Created(gateway["InternetGatewayId"], {"InternetGatewayId": gateway["InternetGatewayId"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_internet_gateway(InternetGatewayId=physical_id)


class VpcGatewayAttachment(ResourceType):
    name = "AWS::EC2::VPCGatewayAttachment"
    properties = split_words("VpcId InternetGatewayId")

    def create(self, request: Request) -> Created:
        request.client("ec2").attach_internet_gateway(
            VpcId=request["VpcId"], InternetGatewayId=request["InternetGatewayId"]
        )
        return Created(f"IGW|{request['VpcId']}", {"AttachmentType": "IGW"})

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").detach_internet_gateway(
            VpcId=request["VpcId"], InternetGatewayId=request["InternetGatewayId"]
        )


TYPES: list[ResourceType] = [
    RouteTable(),
    Route(),
    SubnetRouteTableAssociation(),
    InternetGateway(),
    VpcGatewayAttachment(),
]
