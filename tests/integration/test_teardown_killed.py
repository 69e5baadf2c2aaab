"""The client killed at every step of deploy and of destroy: the same command continues, and destroy cleans up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.killing import killed_at
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.timeout(600)]

DEPLOY_STEPS: list[dict[str, Any]] = [
    {"service": "ec2", "action": "DescribeAvailabilityZones"},
    {"service": "s3", "action": "PutObject"},
    {"service": "cloudformation", "action": "CreateChangeSet"},
    {"service": "cloudformation", "action": "ExecuteChangeSet"},
    {"resource_type": "AWS::EC2::NatGateway"},
    {"resource_type": "AWS::Batch::ComputeEnvironment"},
]
DESTROY_STEPS: list[dict[str, Any]] = [
    {"service": "batch", "action": "TerminateJob"},
    {"service": "cloudformation", "action": "DeleteStack"},
    {"resource_type": "AWS::Batch::ComputeEnvironment", "action": "delete"},
    {"resource_type": "AWS::EC2::NatGateway", "action": "delete"},
    {"service": "s3", "action": "DeleteObjects"},
    {"service": "s3", "action": "DeleteBucket"},
    {"service": "batch", "action": "DeregisterJobDefinition"},
]


@pytest.mark.xdist_group("teardown_killed_both")
def test_deploy_and_destroy_survive_a_kill_at_every_step(pilot: Pilot) -> None:
    for fault in DEPLOY_STEPS:
        killed_at(pilot, fault, "deploy", "--yes")
    pilot.run("deploy", "--yes")
    assert {pilot.stack_states()[stack] for stack in pilot.stacks} == {"CREATE_COMPLETE"}
    pilot.run("launch", "smoke")
    for fault in DESTROY_STEPS:
        killed_at(pilot, fault, "destroy", "--yes")
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert pilot.json("leftovers")["leftovers"] == []


@pytest.mark.xdist_group("teardown_killed_deploy")
@pytest.mark.parametrize("fault", DEPLOY_STEPS[3:], ids=str)
def test_destroy_cleans_up_after_a_deploy_that_was_killed(pilot: Pilot, fault: dict[str, Any]) -> None:
    killed_at(pilot, fault, "deploy", "--yes")
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    assert set(pilot.stack_states()) == {"CDKToolkit"}


@pytest.mark.xdist_group("teardown_failed_deploy")
def test_a_failed_deploy_says_which_resource_and_why_and_the_next_one_works(pilot: Pilot) -> None:
    message = "The maximum number of addresses has been reached."
    pilot.admin("POST", "faults", {"resource_type": "AWS::EC2::EIP", "message": message})
    done = pilot.run("deploy", "--yes", code=3)
    assert f"AWS::EC2::EIP NatAddress: {message}" in done.stderr
    assert f"deploy {pilot.file}` continues" in done.stderr
    assert f"destroy {pilot.file}` cleans up" in done.stderr
    assert pilot.stack_states()["pilot-network"] == "ROLLBACK_COMPLETE"
    again = pilot.run("deploy", "--yes")
    assert "pilot-network is in ROLLBACK_COMPLETE: deleting it first" in again.stderr
    assert pilot.json("destroy", "--yes")["leftovers"] == []
