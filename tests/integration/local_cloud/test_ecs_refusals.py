"""What ECS refuses, by name and words, and how tasks of RunTask go."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.refusals import CONTAINER, Network, Refusal, table
from tests.integration.local_cloud.serving_world import until

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]
_accounts = itertools.count(310000000001)
Admin = Callable[..., Any]
INVALID = "InvalidParameterException"
CLIENT = "ClientException"


class Fleet(Network):
    """A cluster behind a provider that scales from zero, and one beside it that does not."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.ecs, self.groups = self.client("ecs"), self.client("autoscaling")
        self.client("ec2").create_launch_template(
            LaunchTemplateName="nodes",
            LaunchTemplateData={"ImageId": "ami-0123456789abcdef0", "InstanceType": "inf2.xlarge"},
        )
        for name, status in (("scaled", "ENABLED"), ("fixed", "DISABLED")):
            self.provider(name, self.group(name), {"status": status})
        self.ecs.create_cluster(clusterName="c")
        self.associate("scaled", "fixed", "FARGATE")
        self.service = self.define("service")
        self.ecs.create_service(
            cluster="c", serviceName="s", taskDefinition="service", desiredCount=0,
            capacityProviderStrategy=[{"capacityProvider": "scaled", "weight": 1}],
        )  # fmt: skip

    def group(self, name: str, most: int = 2, **more: Any) -> str:
        self.groups.create_auto_scaling_group(
            AutoScalingGroupName=name, MinSize=0, MaxSize=most, VPCZoneIdentifier=self.subnets[0],
            LaunchTemplate={"LaunchTemplateName": "nodes", "Version": "$Latest"}, **more,
        )  # fmt: skip
        return name

    def provider(self, name: str, group: str, scaling: dict[str, Any] | None = None, **more: Any) -> Any:
        given = {"autoScalingGroupArn": group, "managedScaling": scaling or {}, **more}
        return self.ecs.create_capacity_provider(name=name, autoScalingGroupProvider=given)

    def managed(self, name: str) -> str:
        template = {
            "ec2InstanceProfileArn": "arn:aws:iam::123456789012:instance-profile/nodes",
            "networkConfiguration": {"subnets": self.subnets},
            "instanceRequirements": {
                "vCpuCount": {"min": 1}, "memoryMiB": {"min": 1}, "allowedInstanceTypes": ["inf2.xlarge"],
            },
        }  # fmt: skip
        role = "arn:aws:iam::123456789012:role/infrastructure"
        given = {"infrastructureRoleArn": role, "instanceLaunchTemplate": template}
        self.ecs.create_capacity_provider(name=name, cluster="c", managedInstancesProvider=given)
        return name

    def associate(self, *names: str, cluster: str = "c") -> Any:
        strategy = [{"capacityProvider": names[0], "weight": 1}] if names else []
        return self.ecs.put_cluster_capacity_providers(
            cluster=cluster, capacityProviders=list(names), defaultCapacityProviderStrategy=strategy
        )

    def define(self, family: str, **changes: Any) -> Any:
        given = {"networkMode": "host", "containerDefinitions": [CONTAINER], **changes}
        return self.ecs.register_task_definition(family=family, **given)["taskDefinition"]

    def serve(self, name: str = "t", **changes: Any) -> Any:
        given = {"cluster": "c", "taskDefinition": "service", "desiredCount": 0, **changes}
        return self.ecs.create_service(serviceName=name, **given)

    def run(self, *providers: str, **changes: Any) -> Any:
        strategy = [{"capacityProvider": name, "weight": 1} for name in providers]
        given = {"cluster": "c", "taskDefinition": "service"} | (
            {"capacityProviderStrategy": strategy} if strategy else {}
        )
        return self.ecs.run_task(**{**given, **changes})

    def task(self, arn: str) -> dict[str, Any]:
        (found,) = self.ecs.describe_tasks(cluster="c", tasks=[arn], include=["TAGS"])["tasks"]
        return dict(found)

    def stopped(self, arn: str) -> dict[str, Any]:
        until(lambda: self.task(arn)["lastStatus"] == "STOPPED")
        return self.task(arn)


@pytest.fixture(scope="module")
def fleet(cloud: process.LocalCloud) -> Fleet:
    return Fleet(session_for(cloud, str(next(_accounts))))


def weights(*given: tuple[str, dict[str, int]]) -> list[dict[str, Any]]:
    return [{"capacityProvider": name, **more} for name, more in given]


@table(
    ("run: an unknown cluster", lambda f: f.run(cluster="x"), "ClusterNotFoundException", "Cluster not found."),
    ("run: an unknown task definition", lambda f: f.run(taskDefinition="x"), CLIENT, "TaskDefinition not found."),
    ("run: no task", lambda f: f.run(count=0), INVALID, "1 to 10 tasks"),
    ("run: eleven tasks", lambda f: f.run(count=11), INVALID, "1 to 10 tasks"),
    ("run: startedBy with a blank", lambda f: f.run(startedBy="a b"), INVALID, "startedBy"),
    ("run: startedBy too long", lambda f: f.run(startedBy="a" * 129), INVALID, "startedBy"),
    ("run: a token too long", lambda f: f.run(clientToken="a" * 65), INVALID, "clientToken"),
    ("run: tags of a service", lambda f: f.run(propagateTags="SERVICE"), INVALID, "service"),
    ("run: launch type and strategy", lambda f: f.run("scaled", launchType="EC2"), INVALID,
     "Specifying both a launch type and capacity provider strategy is not supported."),
    ("run: a provider that the cluster has not", lambda f: f.run("other"), INVALID,
     "cannot contain a capacity provider that is not associated with the cluster"),
    ("run: Fargate beside a group", lambda f: f.run("scaled", "FARGATE"), INVALID, "cannot contain a mix of"),
    ("run: Fargate for a task of EC2", lambda f: f.run("FARGATE"), INVALID,
     "Task definition does not support launch_type FARGATE."),
    ("run: EC2 without an instance", lambda f: f.run(launchType="EC2"), INVALID,
     "No Container Instances were found in your cluster."),
    ("run: a network for host mode", lambda f: f.run(
        networkConfiguration={"awsvpcConfiguration": {"subnets": f.subnets}}), INVALID,
     "Network Configuration is not valid for the given networkMode of this task definition."),
    ("run: an override of no container", lambda f: f.run(
        overrides={"containerOverrides": [{"name": "x"}]}), INVALID,
     "Override for container named x is not a container in the TaskDefinition."),
    ("list: startedBy beside a family", lambda f: f.ecs.list_tasks(cluster="c", startedBy="a", family="b"),
     INVALID, "only filter"),
    ("list: startedBy beside a status", lambda f: f.ecs.list_tasks(
        cluster="c", startedBy="a", desiredStatus="STOPPED"), INVALID, "only filter"),
    ("describe: no task", lambda f: f.ecs.describe_tasks(cluster="c", tasks=[]), INVALID, "1 to 100 tasks"),
    ("stop: an unknown task", lambda f: f.ecs.stop_task(cluster="c", task="x"), INVALID,
     "The referenced task was not found."),
    ("stop: a part of a task's id", lambda f: f.ecs.stop_task(cluster="c", task=""), INVALID, "not found"),
)  # fmt: skip
def test_tasks(fleet: Fleet, refusal: Refusal) -> None:
    refusal.check(fleet)


@table(
    ("a name in use", lambda f: f.serve("s"), INVALID, "Creation of service was not idempotent."),
    ("a name with a dot", lambda f: f.serve("a.b"), INVALID, "service name"),
    ("an unknown task definition", lambda f: f.serve(taskDefinition="x:9"), CLIENT, "TaskDefinition not found."),
    ("no provider of the cluster", lambda f: f.serve(
        capacityProviderStrategy=weights(("other", {"weight": 1}))), INVALID, "is not associated with the cluster"),
    ("launch type and strategy", lambda f: f.serve(
        launchType="EC2", capacityProviderStrategy=weights(("scaled", {"weight": 1}))), INVALID, "Remove one"),
    ("two bases", lambda f: f.serve(
        capacityProviderStrategy=weights(("scaled", {"base": 1}), ("fixed", {"base": 1, "weight": 1}))),
     INVALID, "base"),
    ("several providers without weights", lambda f: f.serve(
        capacityProviderStrategy=weights(("scaled", {}), ("fixed", {}))), INVALID, "weight above 0"),
    ("a weight of 1001", lambda f: f.serve(
        capacityProviderStrategy=weights(("scaled", {"weight": 1001}))), INVALID, "from 0 to 1000"),
    ("100 to 100 percent", lambda f: f.serve(
        deploymentConfiguration={"minimumHealthyPercent": 100, "maximumPercent": 100}), INVALID,
     "will block deployments"),
    ("rebalancing without room", lambda f: f.serve(
        availabilityZoneRebalancing="ENABLED",
        deploymentConfiguration={"minimumHealthyPercent": 0, "maximumPercent": 100}), INVALID, "above 100"),
    ("an unknown target group", lambda f: f.serve(loadBalancers=[
        {"targetGroupArn": "arn:aws:x", "containerName": "server", "containerPort": 8080}]), INVALID, "target group"),
    ("a negative count", lambda f: f.ecs.update_service(cluster="c", service="s", desiredCount=-1), INVALID,
     "negative"),
    ("update: an unknown service", lambda f: f.ecs.update_service(cluster="c", service="x"),
     "ServiceNotFoundException", "Service not found."),
)  # fmt: skip
def test_services(fleet: Fleet, refusal: Refusal) -> None:
    refusal.check(fleet)


def _delete_active(fleet: Fleet) -> None:
    """DeleteTaskDefinitions answers with failures instead of an error."""
    (failed,) = fleet.ecs.delete_task_definitions(taskDefinitions=["service:1"])["failures"]
    raise ClientError({"Error": {"Code": CLIENT, "Message": failed["reason"]}}, "DeleteTaskDefinitions")


def _delete_above_zero(fleet: Fleet) -> None:
    fleet.serve("above", desiredCount=1, taskDefinition="service")
    try:
        fleet.ecs.delete_service(cluster="c", service="above")
    finally:
        fleet.ecs.delete_service(cluster="c", service="above", force=True)


@table(
    ("a name that ECS keeps", lambda f: f.provider("ecs-x", f.group("g1")), INVALID, "cannot be prefixed"),
    ("an unknown group", lambda f: f.provider("p", "x"), CLIENT, "was not found"),
    ("a group of another provider", lambda f: f.provider("p", "scaled"), CLIENT,
     "already being used by another capacity provider"),
    ("a group without room", lambda f: f.provider("p", f.group("g2", 0)), CLIENT, "above 0"),
    ("a target above 100", lambda f: f.provider("p", f.group("g3"), {"status": "ENABLED", "targetCapacity": 101}),
     INVALID, "targetCapacity"),
    ("protection without scaling", lambda f: f.provider(
        "p", f.group("g4"), managedTerminationProtection="ENABLED"), INVALID, "managed scaling must be enabled"),
    ("protection of unprotected instances", lambda f: f.provider(
        "p", f.group("g5"), {"status": "ENABLED"}, managedTerminationProtection="ENABLED"), INVALID,
     "instance protection from scale in enabled"),
    ("a name in use", lambda f: f.provider("scaled", f.group("g6")), CLIENT, "already exists"),
    ("an association with what is not there", lambda f: f.associate("scaled", "x"), INVALID, "was not found"),
    ("an association with Managed Instances", lambda f: f.associate("scaled", "fixed", f.managed("m1")), INVALID,
     "Cannot associate Managed Instances capacity provider to clusters using this API."),
    ("shared memory on Managed Instances", lambda f: f.define(
        "m", requiresCompatibilities=["MANAGED_INSTANCES"], networkMode="host",
        containerDefinitions=[{**CONTAINER, "linuxParameters": {"sharedMemorySize": 64}}]), CLIENT,
     "sharedMemorySize is not valid"),
    ("a host name on Managed Instances", lambda f: f.define(
        "m", requiresCompatibilities=["MANAGED_INSTANCES"], networkMode="host",
        containerDefinitions=[{**CONTAINER, "hostname": "a"}]), CLIENT, "hostname is not valid"),
    ("21 providers", lambda f: f.associate("scaled", *(f"p{n}" for n in range(20))), INVALID,
     "The maximum number of capacity providers per cluster has been exceeded."),
    ("dropping what a service uses", lambda f: f.associate("fixed"), "ResourceInUseException",
     "The specified capacity provider is in use and cannot be removed."),
    ("deleting a cluster with services", lambda f: f.ecs.delete_cluster(cluster="c"),
     "ClusterContainsServicesException", "while Services are active"),
    ("deleting an active task definition", _delete_active, CLIENT, "ACTIVE"),
    ("deleting a service above zero", _delete_above_zero, INVALID, "scaled above 0"),
)  # fmt: skip
def test_providers_clusters_and_deletions(fleet: Fleet, refusal: Refusal) -> None:
    refusal.check(fleet)


def test_a_provider_that_a_cluster_has_says_that_it_stays(fleet: Fleet) -> None:
    """The call itself succeeds; AWS tells the failure in the provider's description."""
    answered = fleet.ecs.delete_capacity_provider(capacityProvider="fixed")["capacityProvider"]
    (described,) = fleet.ecs.describe_capacity_providers(capacityProviders=["fixed"])["capacityProviders"]
    for one in (answered, described):
        assert (one["status"], one["updateStatus"]) == ("ACTIVE", "DELETE_FAILED")
        assert "because it is associated with cluster: c." in one["updateStatusReason"]
    fleet.provider("free", fleet.group("free"))
    fleet.ecs.delete_capacity_provider(capacityProvider="free")
    assert fleet.ecs.describe_capacity_providers(capacityProviders=["free"])["failures"]


@pytest.fixture
def runner(cloud: process.LocalCloud) -> Fleet:
    return Fleet(session_for(cloud, str(next(_accounts))))


def test_a_task_starts_an_instance_runs_and_ends_with_0(runner: Fleet, admin: Admin) -> None:
    asked = {"startedBy": "me", "clientToken": "t1", "tags": [{"key": "a", "value": "b"}]}
    (task,) = runner.run("scaled", **asked)["tasks"]
    assert (task["lastStatus"], task["group"], task["capacityProviderName"]) == (
        "PROVISIONING",
        "family:service",
        "scaled",
    )
    (again,) = runner.run("scaled", **asked)["tasks"]
    assert again["taskArn"] == task["taskArn"], "the same token starts one task"
    Refusal(
        "another request",
        lambda f: f.run("scaled", **{**asked, "startedBy": "you"}),
        "ConflictException",
        "clientToken",
    ).check(runner)
    seen = set()

    def over() -> bool:
        seen.add(runner.task(task["taskArn"])["lastStatus"])
        return "STOPPED" in seen

    until(over)
    assert {"PROVISIONING", "PENDING", "RUNNING"} <= seen
    found = runner.task(task["taskArn"])
    assert (found["stopCode"], found["stoppedReason"]) == (
        "EssentialContainerExited",
        "Essential container in task exited",
    )
    (container,) = found["containers"]
    assert container["exitCode"] == 0
    assert "no container runs" in container["reason"]
    assert found["tags"] == [{"key": "a", "value": "b"}]
    assert runner.ecs.list_tasks(cluster="c", startedBy="me")["taskArns"] == []
    admin("POST", "settings", {"time_scale": 4000})
    until(lambda: bool(runner.ecs.describe_tasks(cluster="c", tasks=[task["taskArn"]])["failures"]))


def test_a_running_task_keeps_its_port_its_provider_and_its_cluster(runner: Fleet, admin: Admin) -> None:
    admin("POST", "faults", {"service": "ecs-task", "action": "ExitTask", "times": None})
    arn = runner.run("scaled")["tasks"][0]["taskArn"]
    until(lambda: runner.task(arn)["lastStatus"] == "RUNNING")
    other = runner.run("scaled")["tasks"][0]["taskArn"]
    until(lambda: runner.task(other)["lastStatus"] == "RUNNING")
    assert runner.task(other)["containerInstanceArn"] != runner.task(arn)["containerInstanceArn"], "one port"
    third = runner.run("scaled")["tasks"][0]["taskArn"]
    assert runner.task(third)["lastStatus"] == "PROVISIONING", "the group has room for two"
    runner.ecs.delete_service(cluster="c", service="s")
    for call, code in (
        (lambda f: f.ecs.delete_cluster(cluster="c"), "ClusterContainsTasksException"),
        (lambda f: f.associate("fixed"), "ResourceInUseException"),
    ):
        until(lambda: not runner.ecs.list_services(cluster="c")["serviceArns"])
        Refusal("", call, code, "").check(runner)
    for one in (arn, other, third):
        runner.ecs.stop_task(cluster="c", task=one, reason="enough")
    assert runner.stopped(arn)["stopCode"] == "UserInitiated"
    assert runner.task(arn)["stoppedReason"] == "enough"
    assert "exitCode" not in runner.task(arn)["containers"][0]
    runner.stopped(other), runner.stopped(third)
    Refusal(
        "", lambda f: f.ecs.delete_cluster(cluster="c"), "ClusterContainsContainerInstancesException", ""
    ).check(runner)
    runner.groups.delete_auto_scaling_group(AutoScalingGroupName="scaled", ForceDelete=True)
    until(lambda: not runner.ecs.list_container_instances(cluster="c")["containerInstanceArns"])
    assert runner.ecs.delete_cluster(cluster="c")["cluster"]["status"] == "INACTIVE"


def test_what_nothing_can_take_is_a_failure_at_once_or_after_half_an_hour(
    runner: Fleet, admin: Admin
) -> None:
    assert runner.run("fixed")["failures"][0]["reason"] == "EMPTY CAPACITY PROVIDER", (
        "nothing starts its instances"
    )
    runner.groups.set_desired_capacity(AutoScalingGroupName="fixed", DesiredCapacity=1)
    until(lambda: len(runner.ecs.list_container_instances(cluster="c")["containerInstanceArns"]) == 1)
    runner.define("large", containerDefinitions=[{**CONTAINER, "memoryReservation": 100000}])
    answer = runner.run("fixed", taskDefinition="large")
    assert (answer["tasks"], answer["failures"][0]["reason"]) == ([], "RESOURCE:MEMORY")
    admin("POST", "faults", {"service": "ecs-task", "action": "ExitTask", "times": None})
    runner.run("fixed")
    assert runner.run("fixed")["failures"][0]["reason"] == "RESOURCE:PORTS"
    planted = admin("POST", "faults", {"service": "ecs-task", "action": "PlaceTask", "message": "AGENT"})
    assert planted["times"] == 1
    assert runner.run("scaled")["failures"][0]["reason"] == "AGENT"
    waiting = runner.run("scaled", taskDefinition="large")["tasks"][0]["taskArn"]
    admin("POST", "settings", {"time_scale": 3000})
    until(lambda: runner.task(waiting)["lastStatus"] != "PROVISIONING")
    found = runner.task(waiting)
    assert (found["stopCode"], found["stoppedReason"]) == ("TaskFailedToStart", "EMPTY CAPACITY PROVIDER")


def test_a_task_on_fargate_has_no_instance(runner: Fleet) -> None:
    runner.define(
        "light", networkMode="awsvpc", requiresCompatibilities=["FARGATE"], cpu="256", memory="512",
        containerDefinitions=[{"name": "server", "image": "x"}],
    )  # fmt: skip
    network = {"awsvpcConfiguration": {"subnets": runner.subnets[:1]}}
    Refusal(
        "",
        lambda f: f.run("FARGATE", taskDefinition="light"),
        INVALID,
        "Network Configuration must be provided",
    ).check(runner)
    Refusal(
        "",
        lambda f: f.run("scaled", taskDefinition="light", networkConfiguration=network),
        INVALID,
        "launch_type EC2",
    ).check(runner)
    (task,) = runner.run("FARGATE", taskDefinition="light", networkConfiguration=network)["tasks"]
    assert (task["launchType"], runner.stopped(task["taskArn"])["containers"][0]["exitCode"]) == (
        "FARGATE",
        0,
    )
    assert runner.ecs.list_container_instances(cluster="c")["containerInstanceArns"] == []
