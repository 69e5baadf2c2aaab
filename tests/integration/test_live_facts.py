"""`check --live` and `plan --live` against the local cloud's API: real calls, real answers, planted refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.environments import starters_under
from tests.integration.conftest import PilotFactory
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node]
TRN = "L-2C3B7624"


def ids(found: list[dict[str, Any]]) -> set[str]:
    return {item["id"] for item in found}


def deny(pilot: Pilot, service: str, action: str) -> None:
    fault = {"service": service, "action": action, "error_code": "AccessDeniedException", "times": None}
    pilot.admin("POST", "faults", fault)


@pytest.mark.parametrize("starter", starters_under("batch"))
def test_every_starter_passes_in_a_bootstrapped_account(starter: str, new_pilot: PilotFactory) -> None:
    pilot = new_pilot(starter)
    checked = pilot.json("check", "--live")
    assert [f["severity"] for f in checked["findings"] if f["severity"] == "error"] == []
    # A block that is not bought yet has no dates.
    assert ids(checked["not_checked"]) == ({"NK286"} if starter == "trn2-pilot" else set())
    planned = pilot.json("plan", "--live")
    assert {quota["state"] for quota in planned["quotas"]} <= {"enough"}
    assert bool(planned["quotas"]) is (starter != "trn2-pilot")


@pytest.mark.parametrize(("starter", "open_"), [("trn1-slurm", set()), ("trn2-slurm", {"NK286"})])
def test_a_slurm_starter_lacks_only_its_node_image(
    starter: str, open_: set[str], new_pilot: PilotFactory
) -> None:
    """What nobody can say: when PCS ends the Slurm version, and what others use of the login nodes' quota."""
    checked = new_pilot(starter).json("check", "--live", code=3)
    assert [f["id"] for f in checked["findings"] if f["severity"] == "error"] == ["NK340"]
    assert ids(checked["not_checked"]) == {"NK310", "NK628"} | open_


def test_an_account_that_is_not_bootstrapped_says_no(new_pilot: PilotFactory) -> None:
    checked = new_pilot("trn1-pilot", bootstrapped=False).json("check", "--live", code=3)
    assert ids([f for f in checked["findings"] if f["severity"] == "error"]) == {"NK361"}


def test_a_short_quota_stops_check_plan_and_deploy_alike(new_pilot: PilotFactory) -> None:
    pilot = new_pilot("trn1-pilot", bootstrapped=False)
    quota = {"account": pilot.account, "region": pilot.region, "code": TRN, "vcpus": 12}
    pilot.admin("POST", "quotas", quota)
    assert "short by 500 vCPUs" in pilot.run("check", "--live", code=3).stderr
    (found,) = pilot.json("plan", "--live", code=3)["quotas"]
    assert (found["state"], found["limit_vcpus"], found["short_by"]) == ("short", 12, 500)
    refused = pilot.json("deploy", "--yes", code=3)
    assert "NK310" in ids(refused["findings"])
    assert refused["hint"] == "nothing was changed"
    assert pilot.stack_states() == {}


REFUSALS = [
    ("ec2", "DescribeInstanceTypeOfferings", "NK302", "ec2:DescribeInstanceTypeOfferings"),
    ("service-quotas", "GetServiceQuota", "NK310", "servicequotas:GetServiceQuota"),
    ("ec2", "DescribeInstances", "NK310", "ec2:DescribeInstances"),
    ("ec2", "DescribeImages", "NK340", "ec2:DescribeImages"),
    ("cloudformation", "DescribeStacks", "NK360", "cloudformation:DescribeStacks"),
    ("iam", "GetRole", "NK362", "iam:GetRole"),
]


@pytest.fixture
def trn1(new_pilot: PilotFactory) -> Iterator[Pilot]:
    made = new_pilot("trn1-pilot", bootstrapped=False)
    yield made
    made.admin("DELETE", "faults")


def test_a_missing_permission_is_named_and_its_rule_alone_is_not_checked(
    trn1: Pilot,
) -> None:
    for service, action, rule, permission in REFUSALS:
        deny(trn1, service, action)
        skipped = trn1.json("check", "--live", code=3)["not_checked"]
        assert rule in ids(skipped)
        assert all(permission in item["why"] for item in skipped)
        trn1.admin("DELETE", "faults")


def test_an_ami_of_elsewhere_is_refused(new_pilot: PilotFactory) -> None:
    pilot = new_pilot("trn1-pilot", bootstrapped=False)
    text = pilot.file.read_text()
    assert "  ami: auto" in text
    pilot.file.write_text(text.replace("  ami: auto", "  ami: ami-00000000000000000"))
    checked = pilot.json("check", "--live", code=3)
    assert {"NK340"} <= ids(checked["findings"])


def test_a_block_is_looked_at(new_pilot: PilotFactory) -> None:
    """Too small, and of the wrong type."""
    pilot = new_pilot("trn2-pilot", bootstrapped=False)
    wanted = {"instance_type": "trn1.32xlarge", "count": 2, "zone_id": "use2-az3", "region": pilot.region}
    block = pilot.admin("POST", "capacity-blocks", {**wanted, "account": pilot.account})
    text = pilot.file.read_text()
    assert "    id: null" in text
    pilot.file.write_text(text.replace("    id: null", f"    id: {block['id']}"))
    found = ids(pilot.json("check", "--live", code=3)["findings"])
    assert {"NK324", "NK325"} <= found
    assert "NK326" not in found


def with_a_small_lambda_limit(new_pilot: PilotFactory) -> Pilot:
    """As in a new account. The starter's fleet has a fallback, whose controller reserves 1."""
    pilot = new_pilot("inf2-serving")
    limit = {"account": pilot.account, "region": pilot.region, "executions": 10}
    pilot.admin("POST", "lambda-limit", limit)
    return pilot


def test_a_small_limit_of_lambda_stops_a_deploy_before_anything_was_made(new_pilot: PilotFactory) -> None:
    pilot = with_a_small_lambda_limit(new_pilot)
    before = pilot.stack_states()
    checked = pilot.json("check", "--live", code=3)
    (found,) = (f for f in checked["findings"] if f["severity"] == "error")
    assert (found["id"], found["path"]) == ("NK792", "fleets.chat.fallback")
    refused = pilot.json("deploy", "--yes", code=3)
    assert "NK792" in ids(refused["findings"])
    assert refused["hint"] == "nothing was changed"
    assert pilot.stack_states() == before


@pytest.mark.timeout(600)
def test_where_lambdas_limit_may_not_be_read_cloudformation_says_what_lambda_refuses(
    new_pilot: PilotFactory,
) -> None:
    pilot = with_a_small_lambda_limit(new_pilot)
    deny(pilot, "lambda", "GetAccountSettings")
    try:
        (skipped,) = (n for n in pilot.json("check", "--live")["not_checked"] if n["id"] == "NK792")
        assert "lambda:GetAccountSettings" in skipped["why"]
        said = pilot.run("deploy", "--yes", code=3).stderr
    finally:
        pilot.admin("DELETE", "faults")
    assert "[NK792]" in said
    assert "decreases account's UnreservedConcurrentExecution below its minimum value of [10]" in said
    assert pilot.stack_states()["pilot-fleet-chat"].startswith("ROLLBACK")
