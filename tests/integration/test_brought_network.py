"""An environment in a VPC, subnet and security group of the user's: deployed, used and removed; theirs stay as they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.conftest import PilotFactory
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("brought_network")]
ANYWHERE, ZONE_ID = "0.0.0.0/0", "use1-az6"


@dataclass(frozen=True)
class Theirs:
    """As a company's network team would have made it: a private subnet behind NAT, a group for EFA."""

    vpc: str
    subnet: str
    group: str

    def described(self, ec2: Any) -> dict[str, Any]:
        """Everything that a careless tool would change or delete."""
        here = [{"Name": "vpc-id", "Values": [self.vpc]}]
        return {
            "vpc": ec2.describe_vpcs(VpcIds=[self.vpc])["Vpcs"],
            "subnets": _free_aside(ec2.describe_subnets(Filters=here)["Subnets"]),
            "groups": ec2.describe_security_groups(Filters=here)["SecurityGroups"],
            "routes": ec2.describe_route_tables(Filters=here)["RouteTables"],
            "nat": ec2.describe_nat_gateways(Filter=here)["NatGateways"],
        }


def _free_aside(subnets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in subnet.items() if k != "AvailableIpAddressCount"} for subnet in subnets]


def make_network(pilot: Pilot, zone_id: str) -> Theirs:
    ec2 = pilot.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZoneId=zone_id)["Subnet"]["SubnetId"]
        for cidr in ("10.9.0.0/24", "10.9.128.0/17")
    ]
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    gateway = ec2.create_nat_gateway(SubnetId=subnets[0], AllocationId=address)["NatGateway"]["NatGatewayId"]
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock=ANYWHERE, NatGatewayId=gateway)
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnets[1])
    return Theirs(vpc, subnets[1], make_group(ec2, vpc))


def make_group(ec2: Any, vpc: str) -> str:
    group: str = ec2.create_security_group(GroupName="efa", Description="d", VpcId=vpc)["GroupId"]
    itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=itself)
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=itself)
    return group


def bring(pilot: Pilot, theirs: Theirs) -> None:
    """The starter's file with their network in the place of a new one."""
    ids = f"vpc: {theirs.vpc}\n  subnet_id: {theirs.subnet}\n  security_group_id: {theirs.group}\n"
    text = pilot.file.read_text()
    assert text.count("vpc: new\n  cidr: 10.42.0.0/16\n") == 1
    pilot.file.write_text(text.replace("vpc: new\n  cidr: 10.42.0.0/16\n", ids))


@pytest.fixture
def brought(new_pilot: PilotFactory) -> tuple[Pilot, Theirs]:
    pilot = new_pilot("trn1-pilot")
    theirs = make_network(pilot, ZONE_ID)
    bring(pilot, theirs)
    return pilot, theirs


def test_deployed_used_and_removed_and_theirs_is_as_it_was(brought: tuple[Pilot, Theirs]) -> None:
    pilot, theirs = brought
    before = theirs.described(pilot.client("ec2"))
    pilot.run("check", "--live")
    pilot.run("deploy", "--yes")
    assert set(pilot.stack_states()) == {"CDKToolkit", "pilot-storage", "pilot-cluster-train"}
    followed = pilot.run("launch", "smoke", "--follow")
    assert "SUCCEEDED" in followed.stdout + followed.stderr
    assert "pilot-network" not in pilot.run("status").stdout
    answer = pilot.json("destroy", "--yes")
    assert answer["leftovers"] == []
    said = str(answer)
    assert not any(id_ in said for id_ in (theirs.vpc, theirs.subnet, theirs.group))
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert theirs.described(pilot.client("ec2")) == before


def test_a_network_that_was_the_kits_goes_with_destroy_after_the_file_has_changed(
    new_pilot: PilotFactory,
) -> None:
    pilot = new_pilot("trn1-pilot")
    pilot.run("deploy", "--yes")
    assert "pilot-network" in pilot.stack_states()
    bring(pilot, Theirs("vpc-0123456789abcdef0", "subnet-0123456789abcdef0", "sg-0123456789abcdef0"))
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    assert set(pilot.stack_states()) == {"CDKToolkit"}


def test_a_group_that_stops_efa_is_refused_before_anything_is_made(brought: tuple[Pilot, Theirs]) -> None:
    pilot, theirs = brought
    itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": theirs.group}]}]
    pilot.client("ec2").revoke_security_group_egress(GroupId=theirs.group, IpPermissions=itself)
    assert "[NK374]" in pilot.run("deploy", "--yes", code=3).stderr
    assert set(pilot.stack_states()) == {"CDKToolkit"}


def test_a_type_that_only_the_file_names_is_refused_where_ec2_does_not_know_it(
    new_pilot: PilotFactory,
) -> None:
    pilot = new_pilot("trn1-pilot")
    text = pilot.file.read_text()
    shape = "instance_type: trn3.48xlarge\n    shape: trn3-gen1\n    logical_core_size: 2\n    #"
    pilot.file.write_text(text.replace("instance_type: trn1.32xlarge", shape))
    pilot.run("synth")
    done = pilot.run("deploy", "--yes", code=3)
    assert "[NK304]" in done.stderr
    assert set(pilot.stack_states()) == {"CDKToolkit"}
