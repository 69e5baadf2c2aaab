"""What goes on in a deployed fleet: scaling from and to zero, refusals of capacity, dead engines, rolled-back deploys."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.serving_world import BODY, ServingWorld, until

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]
_accounts = itertools.count(300000000001)
Admin = Callable[..., Any]
HOUR_A_SECOND = {"time_scale": 3600}
"""A lifecycle hook holds the nodes of a stack that is deleted with nodes for an hour."""


@pytest.fixture(scope="module")
def deployed(cloud: process.LocalCloud) -> ServingWorld:
    world = ServingWorld(session_for(cloud, str(next(_accounts))))
    assert world.create() == "CREATE_COMPLETE", world.failures()
    return world


@pytest.fixture
def fleet(deployed: ServingWorld, admin: Admin) -> Iterator[ServingWorld]:
    """At zero, before and after."""
    yield deployed
    admin("DELETE", "faults")
    deployed.scale(0)
    admin("POST", "settings", {"time_scale": 2000})
    until(lambda: not deployed.group()["Instances"])
    until(lambda: deployed.service()["runningCount"] == 0)


def test_from_zero_two_instances_start_and_scale_in_leaves_none(fleet: ServingWorld, admin: Admin) -> None:
    fleet.scale(1)
    until(lambda: fleet.service()["runningCount"] == 1)
    until(lambda: fleet.health() == ["healthy"])
    assert fleet.group()["DesiredCapacity"] == 2, "the metric is 200 at zero, whatever is wanted"
    assert {one["InstanceType"] for one in fleet.group()["Instances"]} == {"inf2.8xlarge"}
    assert "has reached a steady state" in fleet.events()
    ecs = fleet.client("ecs")
    (arn,) = ecs.list_tasks(cluster=fleet.id("Cluster"))["taskArns"]
    (task,) = ecs.describe_tasks(cluster=fleet.id("Cluster"), tasks=[arn])["tasks"]
    assert "no container runs" in task["containers"][0]["reason"]
    fleet.scale(0)
    until(lambda: fleet.service()["runningCount"] == 0)
    assert fleet.health() == []
    assert fleet.group()["DesiredCapacity"] == 2, "scale-in begins after 15 minutes"
    admin("POST", "settings", {"time_scale": 2000})
    until(lambda: fleet.group()["DesiredCapacity"] == 0)


def test_ports_make_tasks_exclusive(fleet: ServingWorld) -> None:
    fleet.scale(3)
    until(lambda: fleet.service()["runningCount"] == 3)
    ecs = fleet.client("ecs")
    arns = ecs.list_tasks(cluster=fleet.id("Cluster"))["taskArns"]
    tasks = ecs.describe_tasks(cluster=fleet.id("Cluster"), tasks=arns)["tasks"]
    assert len({task["containerInstanceArn"] for task in tasks}) == 3
    assert fleet.group()["DesiredCapacity"] == 3


def test_more_than_the_group_may_have_waits(fleet: ServingWorld) -> None:
    fleet.scale(5)
    until(lambda: fleet.service()["runningCount"] == 4)
    assert fleet.service()["pendingCount"] == 1
    assert fleet.group()["DesiredCapacity"] == 4
    assert "unable to place a task because no container instance met all" in fleet.events()


def test_refused_capacity_is_told_by_the_group_and_by_the_service(fleet: ServingWorld, admin: Admin) -> None:
    fault = {
        "service": "autoscaling",
        "action": "LaunchInstances",
        "error_code": "InsufficientInstanceCapacity",
        "message": "We currently do not have sufficient inf2.8xlarge capacity.",
        "times": None,
    }
    planted = admin("POST", "faults", fault)
    fleet.scale(1)
    until(lambda: "InsufficientInstanceCapacity" in fleet.events())
    answer = fleet.client("autoscaling").describe_scaling_activities(AutoScalingGroupName=fleet.id("Asg"))
    assert answer["Activities"][0]["StatusCode"] == "Failed"
    assert "sufficient inf2.8xlarge capacity" in answer["Activities"][0]["StatusMessage"]
    assert fleet.service()["runningCount"] == 0
    admin("DELETE", f"faults/{planted['id']}")
    until(lambda: fleet.service()["runningCount"] == 1)


def test_an_unhealthy_target_is_seen_and_survives_its_grace(fleet: ServingWorld, admin: Admin) -> None:
    fleet.scale(1)
    until(lambda: fleet.health() == ["healthy"])
    group = fleet.client("elbv2").describe_target_groups(TargetGroupArns=[fleet.id("Tg")])["TargetGroups"][0]
    admin("POST", "faults", {"service": "target-health", "action": group["TargetGroupName"], "times": None})
    until(lambda: fleet.health() == ["unhealthy"])
    assert fleet.service()["runningCount"] == 1, "an hour of grace"
    admin("POST", "settings", {"time_scale": 3600})
    until(lambda: "failed ELB health checks" in fleet.events())


def test_a_waker_scales_the_service_and_logs(fleet: ServingWorld) -> None:
    client = fleet.client("lambda")
    answer = client.invoke(FunctionName=fleet.id("Waker"), Payload=json.dumps({"count": 1}))
    assert json.loads(answer["Payload"].read()) == {
        "statusCode": 503,
        "headers": {"Retry-After": "30"},
        "body": "1",
    }
    assert fleet.service()["desiredCount"] == 1
    failed = client.invoke(FunctionName=fleet.id("Waker"), Payload=json.dumps({"fail": True}))
    assert failed["FunctionError"] == "Unhandled"
    assert json.loads(failed["Payload"].read())["errorType"] == "ValueError"
    found = fleet.client("logs").filter_log_events(logGroupName=fleet.id("Logs"))["events"]
    assert any("woken by {'count': 1}" in event["message"] for event in found)


def test_schedules_fire_when_they_are_told(fleet: ServingWorld, admin: Admin) -> None:
    account = fleet.client("sts").get_caller_identity()["Account"]
    common = {"account": account, "region": "us-west-2", "group": "fleet-clock"}
    assert admin("POST", "schedules/fire", {**common, "name": "fleet-morning"})["fired"]
    assert fleet.service()["desiredCount"] == 2
    assert admin("POST", "schedules/fire", {**common, "name": "fleet-evening"})["fired"]
    assert fleet.service()["desiredCount"] == 0


def test_registering_a_target_brings_the_count_into_its_range_and_an_unchanged_target_is_not_registered(
    session: boto3.Session, admin: Admin
) -> None:
    fleet = ServingWorld(session)
    assert fleet.create() == "CREATE_COMPLETE", fleet.failures()
    scaling = fleet.client("application-autoscaling")
    target = {
        "ServiceNamespace": "ecs",
        "ResourceId": f"service/{fleet.id('Cluster')}/fleet-server",
        "ScalableDimension": "ecs:service:DesiredCount",
    }
    fleet.scale(3)
    scaling.register_scalable_target(**target, MaxCapacity=2)
    assert fleet.service()["desiredCount"] == 2
    fleet.scale(3)
    scaling.register_scalable_target(**target)
    assert fleet.service()["desiredCount"] == 2, "without a capacity as well"
    fleet.scale(0)
    from_one = BODY.replace("MinCapacity: 0\n", "MinCapacity: 1\n")
    assert fleet.update(from_one, FirstDeploy="true") == "UPDATE_COMPLETE", fleet.failures()
    assert fleet.service()["desiredCount"] == 1
    fleet.scale(0)
    slower = from_one.replace("HealthCheckIntervalSeconds: 10", "HealthCheckIntervalSeconds: 15")
    assert fleet.update(slower, FirstDeploy="true") == "UPDATE_COMPLETE", fleet.failures()
    assert fleet.service()["desiredCount"] == 0
    more = slower.replace("MaxCapacity: 4\n", "MaxCapacity: 5\n")
    assert fleet.update(more, FirstDeploy="true") == "UPDATE_COMPLETE", fleet.failures()
    assert fleet.service()["desiredCount"] == 1, "what sleeps is woken"
    admin("POST", "settings", HOUR_A_SECOND)
    assert fleet.delete() == "DELETE_COMPLETE", fleet.failures()


def test_a_deployment_whose_tasks_fail_is_rolled_back(session: boto3.Session, admin: Admin) -> None:
    fleet = ServingWorld(session)
    assert fleet.create() == "CREATE_COMPLETE", fleet.failures()
    # Otherwise the rollback gives the service the desired count of the first deploy again: zero.
    assert fleet.update(BODY, FirstDeploy="false") == "UPDATE_COMPLETE", fleet.failures()
    fleet.scale(1)
    until(lambda: fleet.service()["runningCount"] == 1)
    good = fleet.service()["taskDefinition"]
    admin(
        "POST",
        "faults",
        {"service": "ecs-task", "action": "RunTask", "message": "CannotPullContainerError", "times": 1},
    )
    changed = BODY.replace("--port 8080", "--port 8080 --max-num-seqs 4")
    assert fleet.update(changed, FirstDeploy="false") == "UPDATE_ROLLBACK_COMPLETE"
    assert any("Circuit Breaker" in reason for reason in fleet.failures())
    assert fleet.service()["taskDefinition"] == good
    until(lambda: fleet.service()["runningCount"] == 1)
    admin("POST", "settings", HOUR_A_SECOND)
    assert fleet.delete() == "DELETE_COMPLETE", fleet.failures()
    assert not _instances(session), "instances of a deleted fleet"


def test_a_stalled_first_deploy_can_be_deleted(session: boto3.Session, admin: Admin) -> None:
    """Without a desired count CloudFormation wants one task, and waits for it."""
    fleet = ServingWorld(session)
    admin("POST", "faults", {"service": "ecs-task", "action": "StartTask", "times": None})
    client = fleet.client("cloudformation")
    client.create_stack(StackName="fleet", TemplateBody=BODY, **fleet._given({"FirstDeploy": "false"}))
    until(lambda: fleet.stack()["StackStatus"] == "CREATE_IN_PROGRESS" and _pending(fleet) == 1)
    # Before three hours are over, after which CloudFormation would roll it back.
    client.delete_stack(StackName="fleet")
    admin("POST", "settings", HOUR_A_SECOND)
    assert fleet.delete() == "DELETE_COMPLETE", fleet.failures()
    assert not _instances(session)


def test_a_group_with_protected_instances_cannot_be_deleted_by_cloudformation(session: boto3.Session) -> None:
    body = BODY.replace(
        "NewInstancesProtectedFromScaleIn: false", "NewInstancesProtectedFromScaleIn: true"
    ).replace("ManagedTerminationProtection: DISABLED", "ManagedTerminationProtection: ENABLED")
    fleet = ServingWorld(session)
    assert fleet.create(body) == "CREATE_COMPLETE", fleet.failures()
    fleet.scale(1)
    until(lambda: fleet.service()["runningCount"] == 1)
    group = fleet.id("Asg")
    assert fleet.delete() == "DELETE_FAILED"
    assert any("protected from scale-in" in reason for reason in fleet.failures())
    fleet.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=group, ForceDelete=True)
    assert fleet.delete() == "DELETE_COMPLETE", fleet.failures()
    assert not _instances(session)


def _pending(fleet: ServingWorld) -> int:
    ecs = fleet.client("ecs")
    clusters = ecs.list_clusters()["clusterArns"]
    if not clusters:
        return 0
    answer = ecs.describe_clusters(clusters=clusters)["clusters"]
    return int(answer[0]["pendingTasksCount"])


def _instances(session: boto3.Session) -> list[str]:
    states = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
    pages = session.client("ec2").describe_instances(Filters=states)["Reservations"]
    return [one["InstanceId"] for page in pages for one in page["Instances"]]
