"""Nodes that end are held by ECS's lifecycle hook: who completes its action, and what happens when nobody does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.serving_world import ServingWorld, until

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]
_accounts = itertools.count(340000000001)
Admin = Callable[..., Any]
HOOK = "ecs-managed-draining-termination-hook"
FORGETS = {"service": "ecs-draining", "action": "CompleteLifecycleAction", "times": None}


@pytest.fixture
def fleet(cloud: process.LocalCloud, admin: Admin) -> Iterator[ServingWorld]:
    """With one task on a node of its own."""
    world = ServingWorld(session_for(cloud, str(next(_accounts))))
    assert world.create() == "CREATE_COMPLETE", world.failures()
    world.scale(1)
    until(lambda: world.service()["runningCount"] == 1)
    yield world
    admin("DELETE", "faults")


def states(fleet: ServingWorld) -> list[str]:
    return [one["LifecycleState"] for one in fleet.group()["Instances"]]


def running(fleet: ServingWorld) -> int:
    wanted = [{"Name": "instance-state-name", "Values": ["running"]}]
    pages = fleet.client("ec2").describe_instances(Filters=wanted)["Reservations"]
    return sum(len(page["Instances"]) for page in pages)


def empty(fleet: ServingWorld) -> None:
    fleet.client("autoscaling").update_auto_scaling_group(
        AutoScalingGroupName=fleet.id("Asg"), MinSize=0, DesiredCapacity=0
    )


def complete(fleet: ServingWorld, instance_id: str, **changed: str) -> None:
    given = {
        "AutoScalingGroupName": fleet.id("Asg"),
        "LifecycleHookName": HOOK,
        "LifecycleActionResult": "CONTINUE",
        "InstanceId": instance_id,
    }
    fleet.client("autoscaling").complete_lifecycle_action(**{**given, **changed})


def container_states(fleet: ServingWorld) -> list[str]:
    ecs, cluster = fleet.client("ecs"), fleet.id("Cluster")
    arns = ecs.list_container_instances(cluster=cluster)["containerInstanceArns"]
    if not arns:
        return []
    found = ecs.describe_container_instances(cluster=cluster, containerInstances=arns)
    return [one["status"] for one in found["containerInstances"]]


def test_ecs_puts_its_hook_on_the_group_and_lets_drained_nodes_go(fleet: ServingWorld) -> None:
    answer = fleet.client("autoscaling").describe_lifecycle_hooks(AutoScalingGroupName=fleet.id("Asg"))
    assert [
        (one["LifecycleHookName"], one["HeartbeatTimeout"], one["DefaultResult"])
        for one in answer["LifecycleHooks"]
    ] == [(HOOK, 3600, "CONTINUE")]
    fleet.scale(0)
    until(lambda: fleet.service()["runningCount"] == 0)
    assert states(fleet) == ["InService", "InService"]
    empty(fleet)
    until(lambda: running(fleet) == 0)
    assert states(fleet) == []
    until(lambda: container_states(fleet) == [])


def test_a_node_waits_and_runs_until_somebody_completes_its_action(fleet: ServingWorld, admin: Admin) -> None:
    admin("POST", "faults", FORGETS)
    fleet.scale(0)
    until(lambda: fleet.service()["runningCount"] == 0)
    (first, second) = (one["InstanceId"] for one in fleet.group()["Instances"])
    with pytest.raises(ClientError, match=f"No active Lifecycle Action found with instance ID {first}"):
        complete(fleet, first)
    empty(fleet)
    assert states(fleet) == ["Terminating:Wait", "Terminating:Wait"]
    until(lambda: container_states(fleet) == ["DRAINING", "DRAINING"])
    for changed, words in (
        ({"LifecycleHookName": "other"}, "No Lifecycle Hook found"),
        ({"LifecycleActionResult": "STOP"}, "CONTINUE or ABANDON"),
        ({"AutoScalingGroupName": "other"}, "name not found"),
        ({"InstanceId": "i-0123456789abcdef0"}, "No active Lifecycle Action"),
    ):
        with pytest.raises(ClientError, match=words):
            complete(fleet, first, **changed)
    with pytest.raises(ClientError, match="still in the group"):
        fleet.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=fleet.id("Asg"))
    assert running(fleet) == 2
    complete(fleet, first)
    assert running(fleet) == 1
    until(lambda: container_states(fleet) == ["DRAINING"])
    complete(fleet, second)
    assert (running(fleet), states(fleet)) == (0, [])


def test_force_drops_outstanding_actions_with_the_group(fleet: ServingWorld, admin: Admin) -> None:
    admin("POST", "faults", FORGETS)
    empty(fleet)
    assert states(fleet) == ["Terminating:Wait", "Terminating:Wait"]
    fleet.client("autoscaling").delete_auto_scaling_group(
        AutoScalingGroupName=fleet.id("Asg"), ForceDelete=True
    )
    assert running(fleet) == 0


def test_without_its_provider_a_node_is_held_for_the_whole_hour(fleet: ServingWorld, admin: Admin) -> None:
    """A plain deletion of the stack: service, association and provider go before the group."""
    stack_id = fleet.stack()["StackId"]
    group = fleet.id("Asg")
    fleet.client("cloudformation").delete_stack(StackName=fleet.name)
    groups = fleet.client("autoscaling")

    def held() -> bool:
        (described,) = groups.describe_auto_scaling_groups(AutoScalingGroupNames=[group])["AutoScalingGroups"]
        return [one["LifecycleState"] for one in described["Instances"]] == ["Terminating:Wait"] * 2

    until(held)
    assert fleet.client("ecs").describe_capacity_providers()["capacityProviders"] == []
    admin("POST", "settings", {"time_scale": 60})
    assert held(), "a minute or so is not an hour"
    assert running(fleet) == 2
    admin("POST", "settings", {"time_scale": 3600})
    assert fleet.settled(stack_id) == "DELETE_COMPLETE"
    assert running(fleet) == 0
