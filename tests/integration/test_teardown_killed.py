"""The client killed at every step of deploy and of destroy: the same command continues, and destroy cleans up."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.integration.killing import killed_at
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.timeout(600)]


def lost(service: str, action: str) -> dict[str, Any]:
    """The client is killed before this call reaches AWS."""
    return {"service": service, "action": action, "error_code": "ServiceUnavailable"}


def held(resource_type: str, action: str = "create") -> dict[str, Any]:
    """The client is killed while CloudFormation works on this; CloudFormation goes on."""
    return {"resource_type": resource_type, "action": action}


DEPLOY_STEPS = [
    lost("ec2", "DescribeAvailabilityZones"),
    lost("s3", "PutObject"),
    lost("cloudformation", "CreateChangeSet"),
    lost("cloudformation", "ExecuteChangeSet"),
    held("AWS::EC2::NatGateway"),
    held("AWS::Batch::ComputeEnvironment"),
]
DESTROY_STEPS = [
    lost("batch", "TerminateJob"),
    lost("cloudformation", "DeleteStack"),
    held("AWS::Batch::ComputeEnvironment", "delete"),
    held("AWS::EC2::NatGateway", "delete"),
    lost("s3", "DeleteObjects"),
    lost("s3", "DeleteBucket"),
    lost("batch", "DeregisterJobDefinition"),
]


@pytest.mark.xdist_group("teardown_killed_both")
def test_deploy_and_destroy_survive_a_kill_at_every_step(pilot: Pilot) -> None:
    text = pilot.file.read_text()
    pilot.file.write_text(re.sub(r"command: \[.*\]", "command: [sleep, '600']", text))
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
