"""AWS::EC2: EIP, NatGateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without
from scripts.local_cloud.cloudformation.types.ec2_tags import retag, tag_specifications


class ElasticIp(ResourceType):
    name = "AWS::EC2::EIP"
    properties = split_words("Domain Tags")

    def create(self, request: Request) -> Created:
        address = request.client("ec2").allocate_address(
            Domain=request.get("Domain", "vpc"), TagSpecifications=tag_specifications(request, "elastic-ip")
        )
        return Created(
            address["PublicIp"], {"AllocationId": address["AllocationId"], "PublicIp": address["PublicIp"]}
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        retag(request, self._allocation_id(request, physical_id))

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").release_address(AllocationId=self._allocation_id(request, physical_id))

    def _allocation_id(self, request: Request, public_ip: str) -> str:
        addresses = request.client("ec2").describe_addresses(PublicIps=[public_ip])["Addresses"]
        return str(addresses[0]["AllocationId"])


class NatGateway(ResourceType):
    name = "AWS::EC2::NatGateway"
    properties = split_words("SubnetId AllocationId ConnectivityType PrivateIpAddress Tags")

    def create(self, request: Request) -> Created:
        ec2 = request.client("ec2")
        parameters = api_parameters(ec2, "CreateNatGateway", without(request.properties, "Tags"))
        gateway = ec2.create_nat_gateway(
            TagSpecifications=tag_specifications(request, "natgateway"), **parameters
        )["NatGateway"]
        return Created(gateway["NatGatewayId"], {"NatGatewayId": gateway["NatGatewayId"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_nat_gateway(NatGatewayId=physical_id)


TYPES: list[ResourceType] = [ElasticIp(), NatGateway()]
