"""A serving fleet on the local cloud: made, scaled, made again, and nothing left of it. No container runs there."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.domain.names import ENVIRONMENT_TAG
from tests.integration.conftest import PilotFactory
from tests.integration.killing import killed_at
from tests.integration.pilots import Pilot

pytestmark = [
    pytest.mark.local_cloud,
    pytest.mark.node,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("fleets"),
]
STACKS = {"pilot-network", "pilot-storage", "pilot-fleet-chat"}


@pytest.fixture
def fleet_pilot(new_pilot: PilotFactory) -> Pilot:
    return new_pilot("inf2-serving")


def outputs(pilot: Pilot) -> dict[str, str]:
    (stack,) = pilot.client("cloudformation").describe_stacks(StackName="pilot-fleet-chat")["Stacks"]
    return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}


def desired(pilot: Pilot) -> int:
    given = outputs(pilot)
    (service,) = pilot.client("ecs").describe_services(
        cluster=given["EcsClusterName"], services=[given["ServiceNames"]]
    )["services"]
    return int(service["desiredCount"])


def lost(service: str, action: str) -> dict[str, Any]:
    return {"service": service, "action": action, "error_code": "ServiceUnavailable"}


def held(resource_type: str, action: str = "create") -> dict[str, Any]:
    return {"resource_type": resource_type, "action": action}


def test_a_fleet_from_the_starter_to_nothing_left(fleet_pilot: Pilot) -> None:
    pilot = fleet_pilot
    said = pilot.run("deploy", "--yes")
    assert "the compile task ended well; the local cloud runs no containers" in said.stderr
    assert "from 0 to 1 tasks" in said.stderr
    assert "fleet chat: http://" in said.stdout
    (fleet,) = pilot.json("status")["fleets"]
    assert (fleet["state"], fleet["targets"]["neuron"]) == ("serving", {"healthy": 1})
    assert fleet["weights"] == {"neuron": 100, "gpu": 0}
    given = outputs(pilot)
    where = {"cluster": given["EcsClusterName"], "service": given["ServiceNames"]}
    pilot.client("ecs").update_service(**where, desiredCount=2)
    again = pilot.run("deploy", "--yes")
    assert desired(pilot) == 2
    assert "tasks" not in "".join(
        line for line in again.stderr.splitlines() if "  fleet chat: service" in line
    )
    refused = pilot.run("leftovers", code=3)
    assert "replicas of service" in refused.stdout
    gone = pilot.json("destroy", "--yes")
    assert gone["leftovers"] == []
    assert {
        "replicas of service",
        "nodes of Auto Scaling group",
        "EFS file system",
        "stack",
        "bucket",
    } == {one["kind"] for one in gone["deleted"]}
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert pilot.json("leftovers")["leftovers"] == []


STEPS = [
    lost("ecs", "DescribeServices"),
    lost("ecs", "UpdateService"),
    lost("autoscaling", "UpdateAutoScalingGroup"),
    lost("cloudformation", "DeleteStack"),
    held("AWS::ECS::Service", "delete"),
    held("AWS::AutoScaling::AutoScalingGroup", "delete"),
    lost("efs", "DeleteFileSystem"),
    lost("s3", "DeleteBucket"),
]


def test_killed_at_any_step_the_same_command_goes_on(fleet_pilot: Pilot) -> None:
    pilot = fleet_pilot
    killed_at(pilot, held("AWS::ECS::Service"), "deploy", "--yes")
    killed_at(pilot, lost("ecs", "UpdateService"), "deploy", "--yes")
    assert desired(pilot) == 0
    pilot.run("deploy", "--yes")
    assert desired(pilot) == 1
    for fault in STEPS:
        killed_at(pilot, fault, "destroy", "--yes")
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert pilot.json("leftovers")["leftovers"] == []


def test_what_somebody_made_beside_the_stacks_is_found_by_its_tag(fleet_pilot: Pilot) -> None:
    """After the stacks: a cluster, a task definition, a parameter, a target group; a neighbour's stays."""
    pilot = fleet_pilot
    ours = {ENVIRONMENT_TAG: "pilot", "neuronkit:fleet": "chat"}
    others = {ENVIRONMENT_TAG: "pilot-2", "neuronkit:fleet": "chat"}
    ecs, ssm = pilot.client("ecs"), pilot.client("ssm")
    for name, tags in (("pilot-planted", ours), ("pilot-2-planted", others)):
        in_lower_case = [{"key": key, "value": value} for key, value in tags.items()]
        ecs.create_cluster(clusterName=name, tags=in_lower_case)
        ssm.put_parameter(
            Name=f"/neuronkit/{name}",
            Value="{}",
            Type="String",
            Tags=[{"Key": k, "Value": v} for k, v in tags.items()],
        )
    found = {(one["kind"], one["name"] or one["id"]) for one in pilot.json("leftovers", code=3)["leftovers"]}
    assert ("ECS cluster", "pilot-planted") in found
    gone = pilot.json("destroy", "--yes")
    assert gone["leftovers"] == []
    assert [
        one["clusterName"]
        for one in ecs.describe_clusters(clusters=["pilot-2-planted"])["clusters"]
        if one["status"] == "ACTIVE"
    ]
    assert [one["Name"] for one in ssm.describe_parameters()["Parameters"] if "planted" in one["Name"]] == [
        "/neuronkit/pilot-2-planted"
    ]
