"""The network: a private subnet in the asked-for zone, NAT out, nothing in, and an EFA group that lets EFA through."""

import ipaddress
import re
from typing import Any

import pytest

from stacks.domain.names import OUTPUT_EFA_SECURITY_GROUP_ID, OUTPUT_NODE_SUBNET_ID, OUTPUT_VPC_ID
from tests.synthesized import WITH_OWN_NETWORK, every_stack, network, plans, resources, the_one

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
GROUP = {"Fn::GetAtt": ["EfaSecurityGroup", "GroupId"]}


@pytest.fixture(params=WITH_OWN_NETWORK)
def plan_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_efa_traffic_passes_the_group_both_ways(plan_name: str) -> None:
    """P-10: EFA is no IP traffic; only rules that name the group itself let it pass, in and out."""
    ingress = the_one(network(plan_name), "AWS::EC2::SecurityGroupIngress")
    egress = the_one(network(plan_name), "AWS::EC2::SecurityGroupEgress")
    assert (ingress["GroupId"], ingress["SourceSecurityGroupId"], ingress["IpProtocol"]) == (
        GROUP,
        GROUP,
        "-1",
    )
    assert (egress["GroupId"], egress["DestinationSecurityGroupId"], egress["IpProtocol"]) == (
        GROUP,
        GROUP,
        "-1",
    )
    assert not {"FromPort", "ToPort", "CidrIp"} & {*ingress, *egress}


def test_beyond_the_group_only_https_goes_out_and_nothing_comes_in(plan_name: str) -> None:
    group = the_one(network(plan_name), "AWS::EC2::SecurityGroup")
    assert "SecurityGroupIngress" not in group
    (rule,) = group["SecurityGroupEgress"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"], rule["CidrIp"]) == (
        "tcp",
        443,
        443,
        "0.0.0.0/0",
    )


@pytest.mark.parametrize(("plan", "stack"), every_stack())
def test_no_ingress_from_the_world_anywhere(plan: str, stack: str, template: dict[str, Any]) -> None:
    """Clients reach a fleet's load balancer, and nothing else: what they may be is told in test_fleet_balancer.py."""
    rules = [the["Properties"] for the in resources(template, "AWS::EC2::SecurityGroupIngress").values()]
    for id_, group in resources(template, "AWS::EC2::SecurityGroup").items():
        if id_ == "BalancerSecurityGroup":
            continue
        rules += group["Properties"].get("SecurityGroupIngress", [])
    assert [rule for rule in rules if "CidrIp" in rule or "CidrIpv6" in rule] == []


def test_the_default_group_keeps_its_self_rule(plan_name: str) -> None:
    """Batch puts a multi-node job's own interfaces into it where the launch template has interfaces: the rendezvous
    goes through it. Nothing of ours refers to it, and there is no custom resource that could empty it.
    """
    text = str(network(plan_name))
    assert "DefaultSecurityGroup" not in text
    assert "Custom::" not in text


def test_both_subnets_are_in_the_zone_that_the_file_names_by_id(plan_name: str) -> None:
    subnets = resources(network(plan_name), "AWS::EC2::Subnet")
    assert set(subnets) == {"NodeSubnet", "PublicSubnet"}
    for subnet in subnets.values():
        assert subnet["Properties"]["AvailabilityZoneId"] == plans()[plan_name].zone_id
        assert "AvailabilityZone" not in subnet["Properties"]
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False


def test_the_node_subnet_has_most_of_the_addresses_and_does_not_overlap(plan_name: str) -> None:
    subnets = resources(network(plan_name), "AWS::EC2::Subnet")
    vpc = ipaddress.ip_network(the_one(network(plan_name), "AWS::EC2::VPC")["CidrBlock"])
    nodes, public = (
        ipaddress.ip_network(subnets[name]["Properties"]["CidrBlock"])
        for name in ("NodeSubnet", "PublicSubnet")
    )
    assert nodes.num_addresses * 2 == vpc.num_addresses
    assert nodes.subnet_of(vpc)  # type: ignore[arg-type]
    assert public.subnet_of(vpc)  # type: ignore[arg-type]
    assert not nodes.overlaps(public)


def test_nodes_leave_through_nat_and_nat_through_the_internet_gateway(plan_name: str) -> None:
    routes = resources(network(plan_name), "AWS::EC2::Route")
    node, public = routes["NodeDefaultRoute"]["Properties"], routes["PublicDefaultRoute"]["Properties"]
    assert node["NatGatewayId"] == {"Fn::GetAtt": ["NatGateway", "NatGatewayId"]}
    assert "GatewayId" not in node
    assert public["GatewayId"] == {"Fn::GetAtt": ["InternetGateway", "InternetGatewayId"]}
    assert the_one(network(plan_name), "AWS::EC2::NatGateway")["SubnetId"] == {
        "Fn::GetAtt": ["PublicSubnet", "SubnetId"]
    }


def test_nat_is_deleted_before_the_gateway_is_detached(plan_name: str) -> None:
    found = network(plan_name)["Resources"]
    assert found["NatAddress"]["DependsOn"] == ["InternetGatewayAttachment"]
    assert found["PublicDefaultRoute"]["DependsOn"] == ["InternetGatewayAttachment"]
    assert found["NatGateway"]["DependsOn"] == ["PublicDefaultRoute"]


def test_s3_goes_through_the_endpoint_from_both_subnets(plan_name: str) -> None:
    endpoint = the_one(network(plan_name), "AWS::EC2::VPCEndpoint")
    assert endpoint["ServiceName"] == f"com.amazonaws.{plans()[plan_name].region}.s3"
    tables = {table["Fn::GetAtt"][0] for table in endpoint["RouteTableIds"]}
    assert tables == {"NodeRouteTable", "PublicRouteTable"}


def test_only_this_account_writes_through_the_endpoint(plan_name: str) -> None:
    statements = the_one(network(plan_name), "AWS::EC2::VPCEndpoint")["PolicyDocument"]["Statement"]
    for statement in statements:
        own = "aws:PrincipalAccount" in str(statement.get("Condition"))
        assert own or statement["Action"] == "s3:GetObject"


def test_the_outputs_have_the_promised_names(plan_name: str) -> None:
    outputs = set(network(plan_name)["Outputs"])
    assert {OUTPUT_VPC_ID, OUTPUT_NODE_SUBNET_ID, OUTPUT_EFA_SECURITY_GROUP_ID} <= outputs
    others = outputs - {OUTPUT_VPC_ID, OUTPUT_NODE_SUBNET_ID, OUTPUT_EFA_SECURITY_GROUP_ID}
    assert all(re.match("ExportsOutput", name) for name in others), "for the clusters, by the CDK"
