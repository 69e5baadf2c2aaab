"""An environment in a VPC, subnet and security group of the user's: deployed, used and removed; theirs stay as they were."""

from __future__ import annotations

from collections.abc import Sequence
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


def make_balancer_subnet(pilot: Pilot, theirs: Theirs, cidr: str, zone_id: str) -> str:
    made = pilot.client("ec2").create_subnet(VpcId=theirs.vpc, CidrBlock=cidr, AvailabilityZoneId=zone_id)
    id_: str = made["Subnet"]["SubnetId"]
    return id_


def put_under_an_acl_that_stops_all(pilot: Pilot, theirs: Theirs, subnet: str) -> str:
    """A new one has no entries but the last. Returns the one that it was under."""
    made = pilot.client("ec2").create_network_acl(VpcId=theirs.vpc)
    return put_under(pilot, subnet, made["NetworkAcl"]["NetworkAclId"])


def put_under(pilot: Pilot, subnet: str, acl: str) -> str:
    ec2 = pilot.client("ec2")
    of_subnet = [{"Name": "association.subnet-id", "Values": [subnet]}]
    (found,) = ec2.describe_network_acls(Filters=of_subnet)["NetworkAcls"]
    (association,) = (one for one in found["Associations"] if one["SubnetId"] == subnet)
    ec2.replace_network_acl_association(
        AssociationId=association["NetworkAclAssociationId"], NetworkAclId=acl
    )
    before: str = found["NetworkAclId"]
    return before


def bring(pilot: Pilot, theirs: Theirs, balancer_subnets: Sequence[str] = ()) -> None:
    """The starter's file with their network in the place of a new one."""
    ids = f"vpc: {theirs.vpc}\n  subnet_id: {theirs.subnet}\n  security_group_id: {theirs.group}\n"
    if balancer_subnets:
        ids += "  load_balancer_subnet_ids:\n" + "".join(f"    - {id_}\n" for id_ in balancer_subnets)
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


def test_a_fleet_s_load_balancer_lies_where_its_replicas_are_or_nothing_is_made(
    new_pilot: PilotFactory,
) -> None:
    pilot = new_pilot("inf2-serving")
    theirs = make_network(pilot, ZONE_ID)
    first, second, right = (
        make_balancer_subnet(pilot, theirs, f"10.9.{number}.0/24", zone_id)
        for number, zone_id in ((1, "use1-az1"), (2, "use1-az2"), (3, ZONE_ID))
    )
    bring(pilot, theirs, [first, second])
    refused = pilot.run("deploy", "--yes", code=3).stderr
    assert "[NK377]" in refused
    assert "Target.NotInUse" in refused
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    pilot.file.write_text(pilot.file.read_text().replace(second, right))
    open_acl = put_under_an_acl_that_stops_all(pilot, theirs, right)
    warned = pilot.run("check", "--live")
    assert "[NK380]" in warned.stdout + warned.stderr
    assert "[NK381]" in warned.stdout + warned.stderr
    put_under(pilot, right, open_acl)
    pilot.client("ec2").modify_vpc_attribute(VpcId=theirs.vpc, EnableDnsHostnames={"Value": True})
    checked = pilot.run("check", "--live")
    assert "[NK3" not in checked.stdout + checked.stderr
    pilot.run("deploy", "--yes")
    before = theirs.described(pilot.client("ec2"))
    again = pilot.run("check", "--live")
    assert "[NK3" not in again.stdout + again.stderr
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    after = theirs.described(pilot.client("ec2"))
    assert (after["vpc"], after["subnets"], after["routes"]) == (
        before["vpc"],
        before["subnets"],
        before["routes"],
    )


def test_a_group_that_stops_slurm_is_found_though_one_node_needs_no_efa(new_pilot: PilotFactory) -> None:
    pilot = new_pilot("trn1-slurm")
    theirs = make_network(pilot, ZONE_ID)
    ec2 = pilot.client("ec2")
    closed = ec2.create_security_group(GroupName="closed", Description="d", VpcId=theirs.vpc)["GroupId"]
    bring(pilot, Theirs(theirs.vpc, theirs.subnet, closed))
    text = pilot.file.read_text().replace("instance_type: trn1.32xlarge", "instance_type: trn1.2xlarge")
    pilot.file.write_text(text.replace("nodes: 4", "nodes: 1"))
    found = pilot.run("check", "--live", code=3)
    (line,) = (one for one in (found.stdout + found.stderr).splitlines() if "[NK379]" in one)
    assert "6817-6819, 60001-63000, 2049 from itself" in line
    itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": closed}]}]
    ec2.authorize_security_group_ingress(GroupId=closed, IpPermissions=itself)
    checked = pilot.run("check", "--live", code=None)
    assert "[NK379]" not in checked.stdout + checked.stderr


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
