"""What the live rules ask of EC2, Service Quotas, Lambda and IAM: answers in files, each of the shape that botocore says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts.aws import ec2_networks, ec2_offerings, iam, lambda_functions, service_quotas
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, ThrottledError
from stacks.domain.errors import WorldError
from stacks.domain.live import (
    AclEntry,
    GroupRule,
    LambdaConcurrency,
    LiveAmi,
    LiveEndpoint,
    LiveZone,
    QuotaLimit,
    RunningNodes,
    VpcDns,
)
from tests.recorded_answers import names, recorded

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
TRN = "L-2C3B7624"
AMI = "ami-0123456789abcdef0"
GROUP, SUBNET, VPC = "sg-0123456789abcdef0", "subnet-0123456789abcdef0", "vpc-0123456789abcdef0"
FAMILIES = ("trn1", "trn2")


def replay(stubbed: Stubbed, *files: str) -> Cloud:
    """A cloud that gives these answers in this order."""
    cloud, stub = stubbed
    for name in files:
        found = recorded("live", name)
        stub(found.service).add_response(found.method, found.answer)
    return cloud


def refuse(stubbed: Stubbed, service: str, method: str, code: str) -> Cloud:
    cloud, stub = stubbed
    stub(service).add_client_error(method, code, "no")
    return cloud


@pytest.mark.parametrize("name", names("live"))
def test_an_answer_in_a_file_has_the_shape_that_botocore_says(name: str) -> None:
    assert recorded("live", name).faults() == []


def test_unknown_words_are_where_the_name_says_so() -> None:
    for name in names("live"):
        found = recorded("live", name)
        if found.has_unknown_words:
            assert type(found)("x", found.service, found.operation, found.answer).faults()


# --- offerings and zones ---


def test_offerings_come_from_every_page_and_a_type_without_any_has_an_empty_set(stubbed: Stubbed) -> None:
    cloud = replay(stubbed, "offerings-page-1", "offerings-page-2")
    asked = ["trn1.32xlarge", "trn2.48xlarge", "trn2u.48xlarge"]
    assert ec2_offerings.offered_zone_ids(cloud, asked) == {
        "trn1.32xlarge": {"use2-az3"},
        "trn2.48xlarge": {"use2-az1", "use2-az3"},
        "trn2u.48xlarge": set(),
    }


ZONES = [
    ("zones", [LiveZone("use2-az1", "available"), LiveZone("use2-az3", "impaired")]),
    ("zones-missing-fields", [LiveZone("use2-az1", "available")]),
    ("zones-unknown-words", [LiveZone("use2-az1", "melting")]),
]


@pytest.mark.parametrize(("name", "expected"), ZONES)
def test_zones_are_availability_zones_with_their_state(stubbed: Stubbed, name: str, expected: Any) -> None:
    assert list(ec2_offerings.zones(replay(stubbed, name))) == expected


# --- quotas ---


def test_the_accounts_own_quota_counts(stubbed: Stubbed) -> None:
    assert service_quotas.ec2_limit(replay(stubbed, "quota-trn-12"), TRN) == QuotaLimit(12, False)


def test_without_a_value_of_its_own_the_default_counts(stubbed: Stubbed) -> None:
    cloud = refuse(stubbed, "service-quotas", "get_service_quota", "NoSuchResourceException")
    replay(stubbed, "quota-trn-0-default")
    assert service_quotas.ec2_limit(cloud, TRN) == QuotaLimit(0, True)


@pytest.mark.parametrize("name", ["quota-without-value", "quota-missing-fields"])
def test_a_quota_without_a_number_is_no_quota(stubbed: Stubbed, name: str) -> None:
    with pytest.raises(WorldError, match=f"no value for {TRN}"):
        service_quotas.ec2_limit(replay(stubbed, name), TRN)


def test_a_missing_permission_is_named_as_iam_names_it(stubbed: Stubbed) -> None:
    cloud = refuse(stubbed, "service-quotas", "get_service_quota", "AccessDeniedException")
    with pytest.raises(AccessDeniedError, match="servicequotas:GetServiceQuota"):
        service_quotas.ec2_limit(cloud, TRN)


def test_throttling_is_no_answer(stubbed: Stubbed) -> None:
    cloud = refuse(stubbed, "service-quotas", "get_service_quota", "TooManyRequestsException")
    with pytest.raises(ThrottledError):
        service_quotas.ec2_limit(cloud, TRN)


def test_what_runs_is_counted_without_spot_and_blocks_and_ours_apart(stubbed: Stubbed) -> None:
    """A node of ours in a reservation is charged to the reservation: for the plan it is a stranger's."""
    cloud = replay(stubbed, "instances-page-1", "instances-page-2")
    assert set(ec2_offerings.running_on_demand(cloud, FAMILIES, "pilot")) == {
        RunningNodes("trn1.32xlarge", 1, True, None),
        RunningNodes("trn1.32xlarge", 3, False, None),
        RunningNodes("trn1.2xlarge", 2, False, 8),
    }


def test_only_families_that_the_quotas_count_are_asked_for(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    filters = [
        {"Name": "instance-type", "Values": ["trn1.*", "trn2.*"]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    stub("ec2").add_response("describe_instances", {}, {"Filters": filters})
    assert ec2_offerings.running_on_demand(cloud, FAMILIES, "pilot") == ()
    assert ec2_offerings.running_on_demand(cloud, (), "pilot") == ()
    assert ec2_offerings.unused_reservations(cloud, ()) == ()


def test_unused_on_demand_reservations_are_used_quota_and_blocks_are_not(stubbed: Stubbed) -> None:
    cloud = replay(stubbed, "reservations-active")
    assert ec2_offerings.unused_reservations(cloud, FAMILIES) == (
        RunningNodes("trn1.32xlarge", 3, False, None),
    )


# --- AMIs ---


def test_an_ami_is_read_with_its_root_snapshot_and_deprecation(stubbed: Stubbed) -> None:
    assert ec2_offerings.find_ami(replay(stubbed, "image"), AMI) == LiveAmi(
        id=AMI,
        name="al2023-ami-ecs-neuron-hvm-2023.0.20260922-kernel-6.1-x86_64",
        state="available",
        architecture="x86_64",
        root_device_name="/dev/xvda",
        root_snapshot_gib=30,
        deprecated_at=datetime(2028, 9, 22, tzinfo=UTC),
    )


def test_what_ec2_leaves_out_of_an_ami_stays_unknown(stubbed: Stubbed) -> None:
    assert ec2_offerings.find_ami(replay(stubbed, "image-missing-fields"), AMI) == LiveAmi(AMI)


def test_words_that_no_model_lists_are_kept(stubbed: Stubbed) -> None:
    found = ec2_offerings.find_ami(replay(stubbed, "image-unknown-words"), AMI)
    assert found is not None
    assert (found.state, found.architecture) == ("resting", "riscv64")


def test_an_ami_of_another_region_or_account_is_not_there(stubbed: Stubbed) -> None:
    assert ec2_offerings.find_ami(replay(stubbed, "images-none"), AMI) is None
    for code in ("InvalidAMIID.NotFound", "InvalidAMIID.Unavailable", "InvalidAMIID.Malformed"):
        assert ec2_offerings.find_ami(refuse(stubbed, "ec2", "describe_images", code), AMI) is None


# --- a network of the user's ---

WAYS_OUT = [
    (["routes-to-nat"], "nat-0123456789abcdef0"),
    (["routes-to-igw"], "igw-0123456789abcdef0"),
    (["routes-blackhole"], ""),
    (["routes-none", "routes-to-nat"], "nat-0123456789abcdef0"),
    (["routes-none", "routes-none"], ""),
]


@pytest.mark.parametrize(("tables", "target"), WAYS_OUT)
def test_a_subnets_way_out_is_its_own_table_s_or_else_the_main_one_s(
    stubbed: Stubbed, tables: list[str], target: str
) -> None:
    found = ec2_networks.find_subnet(
        replay(stubbed, "subnet", *tables, "interfaces-of-nodes"), SUBNET, "pilot"
    )
    assert found is not None
    assert (found.vpc_id, found.zone_id, found.cidr) == (VPC, "use2-az3", "10.0.0.0/24")
    assert (found.free_addresses, found.own_addresses) == (250, 3)
    assert found.gives_public_addresses
    assert found.route_table_id == ("rtb-0123456789abcdef0" if tables[-1] != "routes-none" else "")
    assert found.default_route_target == target


def test_a_subnet_s_own_addresses_are_those_of_this_environment(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    replay(stubbed, "subnet", "routes-to-nat")
    found = recorded("live", "interfaces-of-nodes")
    filters = [
        {"Name": "subnet-id", "Values": [SUBNET]},
        {"Name": "tag:neuronkit:environment", "Values": ["pilot"]},
    ]
    stub("ec2").add_response(found.method, found.answer, {"Filters": filters})
    assert ec2_networks.find_subnet(cloud, SUBNET, "pilot") is not None


def test_an_acl_s_entries_of_ipv4_are_in_the_order_in_which_they_decide(stubbed: Stubbed) -> None:
    found = ec2_networks.find_acl(replay(stubbed, "acl"), SUBNET)
    assert found is not None
    assert found.entries == (
        AclEntry(False, True, "6", 1024, 65535, "10.0.0.0/8"),
        AclEntry(True, True, "-1", None, None, "0.0.0.0/0"),
        AclEntry(False, False, "-1", None, None, "0.0.0.0/0"),
    )
    assert ec2_networks.find_acl(replay(stubbed, "acls-none"), SUBNET) is None


def test_endpoints_are_those_in_use_by_their_services_names(stubbed: Stubbed) -> None:
    """EC2 writes the state small, its model writes it large."""
    assert ec2_networks.find_endpoints(replay(stubbed, "endpoints-unknown-words"), VPC) == (
        LiveEndpoint("s3", True, frozenset({"rtb-0123456789abcdef0"}), False),
        LiveEndpoint("ecr.dkr", False, frozenset(), True),
        LiveEndpoint("pcs", False, frozenset(), False),
    )


def test_dns_of_a_vpc_is_two_questions(stubbed: Stubbed) -> None:
    cloud = replay(stubbed, "dns-support-on", "dns-hostnames-off")
    assert ec2_networks.dns_of_vpc(cloud, VPC) == VpcDns(support=True, hostnames=False)


def test_subnets_and_groups_that_are_not_there_are_none(stubbed: Stubbed) -> None:
    cloud = refuse(stubbed, "ec2", "describe_subnets", "InvalidSubnetID.NotFound")
    assert ec2_networks.find_subnet(cloud, SUBNET, "pilot") is None
    refuse(stubbed, "ec2", "describe_security_groups", "InvalidGroup.NotFound")
    assert ec2_networks.find_group(cloud, GROUP) is None


def test_group_rules_are_read_one_for_each_peer(stubbed: Stubbed) -> None:
    found = ec2_networks.find_group(replay(stubbed, "group-for-efa"), GROUP)
    assert found is not None
    assert found.rules == (
        GroupRule(False, "-1", None, None, GROUP),
        GroupRule(False, "tcp", 443, 443, "pl-0123456789abcdef0"),
        GroupRule(True, "-1", None, None, GROUP),
        GroupRule(True, "-1", None, None, "0.0.0.0/0"),
    )
    bare = ec2_networks.find_default_group(replay(stubbed, "group-open-egress-only"), VPC)
    assert bare is not None
    assert [rule.peer for rule in bare.rules] == ["0.0.0.0/0", "::/0"]


# --- roles ---


def test_a_role_is_there_or_not_and_a_refusal_is_neither(stubbed: Stubbed) -> None:
    cloud = refuse(stubbed, "iam", "get_role", "NoSuchEntity")
    assert iam.role_exists(cloud, "AWSServiceRoleForBatch") is False
    refuse(stubbed, "iam", "get_role", "AccessDenied")
    with pytest.raises(AccessDeniedError, match="iam:GetRole"):
        iam.role_exists(cloud, "AWSServiceRoleForBatch")
    stubbed[1]("iam").add_response(
        "get_role",
        {"Role": {"Path": "/", "RoleName": "r" * 3, "RoleId": "A" * 20, "Arn": "arn:aws:iam::1:role/r", "CreateDate": datetime(2026, 1, 1, tzinfo=UTC)}},
    )  # fmt: skip
    assert iam.role_exists(cloud, "AWSServiceRoleForBatch") is True


# --- Lambda ---


def test_what_lambda_has_left_to_reserve(stubbed: Stubbed) -> None:
    assert lambda_functions.concurrency(replay(stubbed, "lambda-10")) == LambdaConcurrency(10, 9)


def test_a_limit_without_a_number_is_none(stubbed: Stubbed) -> None:
    with pytest.raises(WorldError, match="says no limit"):
        lambda_functions.concurrency(replay(stubbed, "lambda-missing-fields"))


def test_the_permission_for_lambdas_limit_is_named(stubbed: Stubbed) -> None:
    with pytest.raises(AccessDeniedError, match="lambda:GetAccountSettings"):
        lambda_functions.concurrency(
            refuse(stubbed, "lambda", "get_account_settings", "AccessDeniedException")
        )
