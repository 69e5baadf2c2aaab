"""Destroy from any state that CloudFormation may have left a stack in."""

from __future__ import annotations

import json

import pytest

from stacks.domain.names import ENVIRONMENT_TAG
from tests.integration.conftest import PilotFactory
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("teardown_states")]
TEMPLATE = json.dumps({"Resources": {"Group": {"Type": "AWS::Logs::LogGroup"}}})


@pytest.fixture
def empty_pilot(new_pilot: PilotFactory) -> Pilot:
    return new_pilot(bootstrapped=False)


def make_stack(pilot: Pilot, name: str, environment: str | None) -> None:
    client = pilot.client("cloudformation")
    tags = [{"Key": ENVIRONMENT_TAG, "Value": environment}] if environment else []
    client.create_stack(StackName=name, TemplateBody=TEMPLATE, Tags=tags)
    client.get_waiter("stack_create_complete").wait(
        StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30}
    )


IDLE = [
    "CREATE_FAILED",
    "DELETE_FAILED",
    "ROLLBACK_COMPLETE",
    "ROLLBACK_FAILED",
    "UPDATE_ROLLBACK_COMPLETE",
    "UPDATE_ROLLBACK_FAILED",
    "UPDATE_FAILED",
]


def test_every_idle_state_ends_in_nothing(empty_pilot: Pilot) -> None:
    for index, status in enumerate(IDLE):
        make_stack(empty_pilot, f"pilot-cluster-{index}", "pilot")
        set_state(empty_pilot, f"pilot-cluster-{index}", status)
    assert sorted(empty_pilot.stack_states().values()) == sorted(IDLE)
    answer = empty_pilot.json("destroy", "--yes")
    assert len(answer["deleted"]) == len(IDLE)
    assert answer["leftovers"] == []
    assert empty_pilot.stack_states() == {}


BUSY = {
    "CREATE_IN_PROGRESS": "CREATE_COMPLETE",
    "ROLLBACK_IN_PROGRESS": "ROLLBACK_COMPLETE",
    "UPDATE_IN_PROGRESS": "UPDATE_COMPLETE",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS": "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_IN_PROGRESS": "UPDATE_ROLLBACK_FAILED",
    "DELETE_IN_PROGRESS": "DELETE_FAILED",
}


def test_every_busy_state_is_waited_for(empty_pilot: Pilot) -> None:
    for index, (status, next_status) in enumerate(BUSY.items()):
        make_stack(empty_pilot, f"pilot-cluster-{index}", "pilot")
        set_state(empty_pilot, f"pilot-cluster-{index}", status, next_status)
    assert empty_pilot.json("destroy", "--yes")["leftovers"] == []
    assert empty_pilot.stack_states() == {}


def test_a_stack_that_was_only_reviewed_goes_if_its_change_set_is_ours(empty_pilot: Pilot) -> None:
    client = empty_pilot.client("cloudformation")
    for name, environment in (("pilot-network", "pilot"), ("pilot-storage", "pilot-2")):
        client.create_change_set(
            StackName=name,
            ChangeSetName="cdk",
            ChangeSetType="CREATE",
            TemplateBody=TEMPLATE,
            Tags=[{"Key": ENVIRONMENT_TAG, "Value": environment}],
        )
    assert set(empty_pilot.stack_states().values()) == {"REVIEW_IN_PROGRESS"}
    assert empty_pilot.json("destroy", "--yes")["leftovers"] == []
    assert set(empty_pilot.stack_states()) == {"pilot-storage"}


def test_stacks_that_are_not_tagged_as_ours_stay(empty_pilot: Pilot) -> None:
    make_stack(empty_pilot, "pilot-network", None)
    make_stack(empty_pilot, "pilot-storage", "pilot-2")
    answer = empty_pilot.json("destroy", "--yes")
    assert answer["deleted"] == []
    assert [item["id"] for item in answer["suspects"] if item["kind"] == "stack"] == ["pilot-network"]
    assert set(empty_pilot.stack_states()) == {"pilot-network", "pilot-storage"}


def test_a_protected_stack_is_left_with_the_command_that_frees_it(empty_pilot: Pilot) -> None:
    make_stack(empty_pilot, "pilot-network", "pilot")
    client = empty_pilot.client("cloudformation")
    client.update_termination_protection(StackName="pilot-network", EnableTerminationProtection=True)
    answer = empty_pilot.json("destroy", "--yes", code=3)
    (leftover,) = answer["leftovers"]
    assert leftover["name"] == "pilot-network"
    assert "--no-enable-termination-protection --stack-name pilot-network" in leftover["why"]
    client.update_termination_protection(StackName="pilot-network", EnableTerminationProtection=False)
    assert empty_pilot.json("destroy", "--yes")["leftovers"] == []


def set_state(pilot: Pilot, stack: str, status: str, next_status: str | None = None) -> None:
    body = {"account": pilot.account, "region": pilot.region, "stack": stack, "status": status}
    later = {"next_status": next_status, "after_seconds": 2} if next_status else {}
    pilot.admin("POST", "stacks", {**body, **later})
