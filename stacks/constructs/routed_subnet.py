"""A subnet with a route table of its own."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id

ANYWHERE = "0.0.0.0/0"


class RoutedSubnet(Construct):
    """The id is part of the logical ids: `Node` gives NodeSubnet, NodeRouteTable, …; nothing gets a public address.

    The zone is named by its id: a zone's letter differs from account to account, and capacity is sold by id.
    """

    def __init__(self, scope: Construct, id_: str, *, vpc: ec2.CfnVPC, zone_id: str, cidr: str) -> None:
        super().__init__(scope, id_)
        self.subnet = ec2.CfnSubnet(
            self,
            "Subnet",
            vpc_id=vpc.attr_vpc_id,
            availability_zone_id=zone_id,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
        )
        self.route_table = ec2.CfnRouteTable(self, "RouteTable", vpc_id=vpc.attr_vpc_id)
        association = ec2.CfnSubnetRouteTableAssociation(
            self,
            "Routes",
            subnet_id=self.subnet.attr_subnet_id,
            route_table_id=self.route_table.attr_route_table_id,
        )
        fix_logical_id(self.subnet, f"{id_}Subnet")
        fix_logical_id(self.route_table, f"{id_}RouteTable")
        fix_logical_id(association, f"{id_}SubnetRoutes")
        cdk.Tags.of(self).add("Name", f"{cdk.Stack.of(self).stack_name}-{id_.lower()}")

    def route_out(self, *, gateway_id: str | None = None, nat_gateway_id: str | None = None) -> ec2.CfnRoute:
        """The default route, through an internet gateway or through a NAT gateway."""
        route = ec2.CfnRoute(
            self,
            "DefaultRoute",
            route_table_id=self.route_table.attr_route_table_id,
            destination_cidr_block=ANYWHERE,
            gateway_id=gateway_id,
            nat_gateway_id=nat_gateway_id,
        )
        fix_logical_id(route, f"{self.node.id}DefaultRoute")
        return route
