"""destroy lets a fleet's nodes go before its stack: an hour of each that a plain deletion would pay for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.conftest import PilotFactory
from tests.integration.killing import killed_at
from tests.integration.local_cloud.serving_world import until
from tests.integration.pilots import Pilot

pytestmark = [
    pytest.mark.local_cloud,
    pytest.mark.node,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("fleet_nodes"),
]
STACK = "pilot-fleet-chat"
NODES = "nodes of Auto Scaling group"
# As in the one report of a live teardown: the group at zero, the provider there, and the node ran on.
ECS_FORGETS = {"service": "ecs-draining", "action": "CompleteLifecycleAction", "times": None}


@pytest.fixture
def fleet(new_pilot: PilotFactory) -> Iterator[Pilot]:
    pilot = new_pilot("inf2-serving")
    pilot.run("deploy", "--yes")
    yield pilot
    pilot.admin("DELETE", "faults")
    pilot.admin("POST", "settings", {"time_scale": 1})


def group(pilot: Pilot) -> str:
    """The one with nodes; the GPUs' has none until they are needed."""
    found = pilot.client("cloudformation").describe_stack_resources(StackName=STACK)["StackResources"]
    (name,) = (
        one["PhysicalResourceId"]
        for one in found
        if one["ResourceType"] == "AWS::AutoScaling::AutoScalingGroup"
        and states(pilot, one["PhysicalResourceId"])
    )
    return str(name)


def states(pilot: Pilot, name: str) -> list[str]:
    answer = pilot.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    return [one["LifecycleState"] for found in answer["AutoScalingGroups"] for one in found["Instances"]]


def a_neighbour(pilot: Pilot) -> None:
    """A group of somebody else's, and one of its nodes waits on a hook of theirs."""
    groups, ec2 = pilot.client("autoscaling"), pilot.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.99.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.99.0.0/24")["Subnet"]["SubnetId"]
    ec2.create_launch_template(
        LaunchTemplateName="theirs",
        LaunchTemplateData={"ImageId": "ami-0123456789abcdef0", "InstanceType": "m7i.large"},
    )
    groups.create_auto_scaling_group(
        AutoScalingGroupName="pilot-2-nodes",
        LaunchTemplate={"LaunchTemplateName": "theirs", "Version": "$Latest"},
        VPCZoneIdentifier=subnet,
        MinSize=0,
        MaxSize=2,
        DesiredCapacity=2,
    )
    groups.put_lifecycle_hook(
        AutoScalingGroupName="pilot-2-nodes",
        LifecycleHookName="theirs",
        LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING",
    )
    groups.set_desired_capacity(AutoScalingGroupName="pilot-2-nodes", DesiredCapacity=1)


def nodes_among(items: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in items if one["kind"] == NODES]


def test_destroy_completes_what_ecs_does_not(fleet: Pilot) -> None:
    name = group(fleet)
    assert set(states(fleet, name)) == {"InService"}
    fleet.admin("POST", "faults", ECS_FORGETS)
    began = time.monotonic()
    done = fleet.run("destroy", "--yes")
    assert time.monotonic() - began < 200, "the hook's hour was waited for"
    assert f"delete {NODES} {name}" in done.stderr
    assert done.stderr.index(f"delete {NODES}") < done.stderr.index(f"delete stack {STACK}")
    assert fleet.json("leftovers")["leftovers"] == []


def test_a_plain_deletion_that_hangs_on_the_hook_is_helped_out_kill_or_not(fleet: Pilot) -> None:
    """Service, association and provider are gone, and CloudFormation waits for the group."""
    name = group(fleet)
    a_neighbour(fleet)
    fleet.client("cloudformation").delete_stack(StackName=STACK)
    until(lambda: set(states(fleet, name)) == {"Terminating:Wait"}, 120)
    assert fleet.client("ecs").describe_capacity_providers()["capacityProviders"] == []
    fault = {
        "service": "autoscaling",
        "action": "CompleteLifecycleAction",
        "error_code": "ServiceUnavailable",
    }
    killed_at(fleet, fault, "destroy", "--yes")
    assert set(states(fleet, name)) == {"Terminating:Wait"}
    assert nodes_among(fleet.json("leftovers", code=3)["leftovers"]) == [name]
    done = fleet.json("destroy", "--yes")
    assert done["leftovers"] == []
    assert nodes_among(done["deleted"]) == [name]
    assert sorted(states(fleet, "pilot-2-nodes")) == ["InService", "Terminating:Wait"]


def test_without_the_permission_the_stack_goes_all_the_same_and_the_reason_is_said(fleet: Pilot) -> None:
    name = group(fleet)
    fleet.admin(
        "POST",
        "faults",
        {
            "service": "autoscaling",
            "action": "DescribeLifecycleHooks",
            "error_code": "AccessDenied",
            "times": None,
        },
    )
    fleet.admin("POST", "faults", ECS_FORGETS)
    fleet.admin("POST", "settings", {"time_scale": 1200})
    done = fleet.run("destroy", "--yes")
    assert f"not deleted: {NODES} {name}" in done.stderr
    assert "autoscaling:DescribeLifecycleHooks" in done.stderr
    assert fleet.json("leftovers")["leftovers"] == []


@pytest.fixture
def managed(new_pilot: PilotFactory) -> Pilot:
    pilot = new_pilot("inf2-serving")
    before, after = "    capacity: hourly\n    engine:", "    runs_on: managed-instances\n    engine:"
    text = pilot.file.read_text()
    assert text.count(before) == 1
    pilot.file.write_text(text.replace(before, f"    capacity: hourly\n{after}"))
    pilot.run("deploy", "--yes")
    return pilot


def test_managed_instances_are_out_of_their_cluster_before_their_provider_goes(managed: Pilot) -> None:
    done = managed.run("destroy", "--yes")
    assert "delete instances registered with ECS cluster" in done.stderr
    assert "not deleted" not in done.stderr
    assert managed.json("leftovers")["leftovers"] == []


def test_a_plain_deletion_fails_on_managed_instances_and_destroy_goes_on_from_there(managed: Pilot) -> None:
    """aws/aws-cdk issue 36071."""
    cloudformation = managed.client("cloudformation")
    cloudformation.delete_stack(StackName=STACK)
    until(lambda: managed.stack_states()[STACK] == "DELETE_FAILED", 120)
    events = cloudformation.describe_stack_events(StackName=STACK)["StackEvents"]
    assert any("still registered" in one.get("ResourceStatusReason", "") for one in events)
    assert managed.json("destroy", "--yes")["leftovers"] == []
    assert set(managed.stack_states()) == {"CDKToolkit"}
