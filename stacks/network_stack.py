"""The environment's network: nodes in one private subnet of one zone, a way out through NAT; a way in for public fleets only."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.efa_security_group import EfaSecurityGroup
from stacks.constructs.load_balancer_subnets import LoadBalancerSubnets
from stacks.constructs.routed_subnet import RoutedSubnet
from stacks.domain.names import OUTPUT_EFA_SECURITY_GROUP_ID, OUTPUT_NODE_SUBNET_ID, OUTPUT_VPC_ID
from stacks.domain.sizing import load_balancer_subnet_cidrs, node_subnet_cidr, public_subnet_cidr


class NetworkStack(cdk.Stack):
    """`vpc`, `node_subnet`, `efa_security_group` and `balancer_subnet_ids` (by "is public") are for the other stacks.

    `balancers` says which kinds of load balancers the fleets have: public, internal, or none without fleets.

    The VPC's default security group keeps its rule "all traffic from itself": where the launch template has network
    interfaces, Batch puts a multi-node job's own interfaces into that group, and the rendezvous goes through it.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        vpc_cidr: str,
        zone_id: str,
        second_zone_id: str | None = None,
        balancers: frozenset[bool] = frozenset(),
        **stack_arguments: Any,
    ) -> None:
        super().__init__(scope, id_, **stack_arguments)
        self.vpc = vpc = self._vpc(vpc_cidr)
        public = RoutedSubnet(self, "Public", vpc=vpc, zone_id=zone_id, cidr=public_subnet_cidr(vpc_cidr))
        nodes = RoutedSubnet(self, "Node", vpc=vpc, zone_id=zone_id, cidr=node_subnet_cidr(vpc_cidr))
        attachment = self._internet_gateway(vpc)
        nat_gateway = self._nat_gateway(public, attachment)
        nodes.route_out(nat_gateway_id=nat_gateway.attr_nat_gateway_id)
        self._s3_endpoint(vpc, [public.route_table, nodes.route_table])
        self.node_subnet = nodes.subnet
        self.efa_security_group = EfaSecurityGroup(self, "Efa", vpc=vpc).group
        self.balancer_subnet_ids: dict[bool, list[str]] = {}
        for is_public in sorted(balancers):
            assert second_zone_id is not None, "what cannot be built was refused"
            subnets = LoadBalancerSubnets(
                self,
                "PublicBalancer" if is_public else "Balancer",
                vpc=vpc,
                zone_ids=(zone_id, second_zone_id),
                cidrs=load_balancer_subnet_cidrs(vpc_cidr, public=is_public),
            )
            self.balancer_subnet_ids[is_public] = subnets.ids
            if not is_public:
                subnets.route_out(nat_gateway_id=nat_gateway.attr_nat_gateway_id)
                continue
            for route in subnets.route_out(gateway_id=attachment.internet_gateway_id):
                route.add_resource_dependency(attachment)

        cdk.CfnOutput(self, OUTPUT_VPC_ID, value=vpc.attr_vpc_id)
        cdk.CfnOutput(self, OUTPUT_NODE_SUBNET_ID, value=self.node_subnet.attr_subnet_id)
        cdk.CfnOutput(self, OUTPUT_EFA_SECURITY_GROUP_ID, value=self.efa_security_group.attr_group_id)

    def _vpc(self, cidr: str) -> ec2.CfnVPC:
        vpc = ec2.CfnVPC(
            self,
            "Vpc",
            cidr_block=cidr,
            # The nodes of a multi-node job may find each other by DNS name.
            enable_dns_support=True,
            enable_dns_hostnames=True,
        )
        cdk.Tags.of(vpc).add("Name", self.stack_name)
        acknowledge(
            vpc,
            ["AwsSolutions-VPC7"],
            "Flow logs would be billed by the gigabyte of training traffic; nothing reaches the nodes from "
            "outside, and the network lives only as long as the pilot.",
        )
        return vpc

    def _internet_gateway(self, vpc: ec2.CfnVPC) -> ec2.CfnVPCGatewayAttachment:
        gateway = ec2.CfnInternetGateway(self, "InternetGateway")
        cdk.Tags.of(gateway).add("Name", self.stack_name)
        return ec2.CfnVPCGatewayAttachment(
            self,
            "InternetGatewayAttachment",
            vpc_id=vpc.attr_vpc_id,
            internet_gateway_id=gateway.attr_internet_gateway_id,
        )

    def _nat_gateway(
        self, public: RoutedSubnet, attachment: ec2.CfnVPCGatewayAttachment
    ) -> ec2.CfnNatGateway:
        route = public.route_out(gateway_id=attachment.internet_gateway_id)
        address = ec2.CfnEIP(self, "NatAddress", domain="vpc")
        nat_gateway = ec2.CfnNatGateway(
            self,
            "NatGateway",
            subnet_id=public.subnet.attr_subnet_id,
            allocation_id=address.attr_allocation_id,
        )
        # A gateway cannot be detached while addresses are mapped through it: made after it, deleted before it.
        for resource in (route, address):
            resource.add_resource_dependency(attachment)
        nat_gateway.add_resource_dependency(route)
        for tagged in (address, nat_gateway):
            cdk.Tags.of(tagged).add("Name", f"{self.stack_name}-nat")
        return nat_gateway

    def _s3_endpoint(self, vpc: ec2.CfnVPC, route_tables: list[ec2.CfnRouteTable]) -> None:
        """Packages, checkpoints and image layers do not go through NAT, which bills by the gigabyte."""
        policy = iam.PolicyDocument(
            statements=[
                iam.PolicyStatement(
                    sid="OwnAccountDoesWhatItsRolesMay",
                    principals=[iam.AnyPrincipal()],
                    actions=["s3:*"],
                    resources=["*"],
                    conditions={"StringEquals": {"aws:PrincipalAccount": self.account}},
                ),
                # Image layers (presigned by ECR) and package repositories are not read as this account; nobody
                # else's credentials write anything through it.
                iam.PolicyStatement(
                    sid="AnybodyReads",
                    principals=[iam.AnyPrincipal()],
                    actions=["s3:GetObject"],
                    resources=["*"],
                ),
            ]
        )
        ec2.CfnVPCEndpoint(
            self,
            "S3Endpoint",
            vpc_id=vpc.attr_vpc_id,
            vpc_endpoint_type="Gateway",
            service_name=f"com.amazonaws.{self.region}.s3",
            route_table_ids=[table.attr_route_table_id for table in route_tables],
            policy_document=policy,
        )
