"""Reading and writing against moto in process: parameters, services, rules, groups, scalable targets, metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from moto import mock_aws
from waker import handler
from waker.cloud import Clients, Cloud, Names
from waker.decisions import (
    Phase,
    RecordWake,
    SetNodes,
    SetServices,
    SetState,
    SetWeights,
    State,
    Wake,
    Weights,
)
from waker.work import Tools, check, respond

REGION = "us-east-2"
NAMES = Names("/n/settings", "/n/state", "/n/wake", "/n/override")
EVENT = {"requestContext": {"elb": {}}, "httpMethod": "POST", "path": "/v1/completions"}
AT_WAKER, AT_ENGINE = Weights(0, 0, 100), Weights(100, 0, 0)


@dataclass
class World:
    clients: Clients
    cloud: Cloud
    neuron: str
    gpu: str
    waker: str
    rule: str
    services: list[str]
    now: float

    def put(self, name: str, value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        self.clients.ssm.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)

    def setting(self, name: str, value: object) -> str:
        """Changes one; returns what they were."""
        before = str(self.clients.ssm.get_parameter(Name=NAMES.settings)["Parameter"]["Value"])
        self.put(NAMES.settings, {**json.loads(before), name: value})
        return before

    def groups(self) -> dict[str, int]:
        actions = self.clients.elbv2.describe_rules(RuleArns=[self.rule])["Rules"][0]["Actions"]
        return {
            group["TargetGroupArn"]: group["Weight"]
            for action in actions
            if action["Type"] == "forward"
            for group in action["ForwardConfig"]["TargetGroups"]
        }

    def desired(self) -> list[int]:
        found = self.clients.ecs.describe_services(cluster="fleet", services=self.services[:10])["services"]
        return [service["desiredCount"] for service in found]


@pytest.fixture(scope="module")
def made_world() -> Iterator[World]:
    """Once: moto's EC2 takes seconds to begin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        with mock_aws():
            yield make_world()


@pytest.fixture
def world(made_world: World) -> World:
    """Asleep, as a new stack is."""
    world = replace(made_world, cloud=Cloud(made_world.clients, NAMES))
    for service in world.services:
        world.clients.ecs.update_service(cluster="fleet", service=service, desiredCount=0)
    world.clients.autoscaling.set_desired_capacity(AutoScalingGroupName="nodes", DesiredCapacity=0)
    for name in (NAMES.state, NAMES.wake, NAMES.override or ""):
        world.put(name, "{}")
    world.cloud.read(world.now, with_activity=False)
    for seen in (AT_ENGINE, Weights(0, 100, 0)):
        world.cloud.do(SetWeights(AT_WAKER, seen))
    return replace(world, cloud=Cloud(world.clients, NAMES))


def make_world(slices: int = 12) -> World:
    def client(name: str) -> Any:
        return boto3.client(name, region_name=REGION)

    ec2, elbv2, ecs = client("ec2"), client("elbv2"), client("ecs")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=f"{REGION}{zone}")[
            "Subnet"
        ]["SubnetId"]
        for n, zone in enumerate("ab")
    ]
    balancer = elbv2.create_load_balancer(Name="fleet", Subnets=subnets)["LoadBalancers"][0][
        "LoadBalancerArn"
    ]
    neuron, gpu, waker = (
        elbv2.create_target_group(Name=name, Protocol="HTTP", Port=80, VpcId=vpc)["TargetGroups"][0][
            "TargetGroupArn"
        ]
        for name in ("neuron", "gpu", "waker")
    )
    fixed = {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "404"}}
    listener = elbv2.create_listener(
        LoadBalancerArn=balancer, Protocol="HTTP", Port=80, DefaultActions=[fixed]
    )
    forward = {
        "Type": "forward",
        "ForwardConfig": {
            "TargetGroups": [
                {"TargetGroupArn": arn, "Weight": weight}
                for arn, weight in ((neuron, 0), (gpu, 0), (waker, 100))
            ],
            "TargetGroupStickinessConfig": {"Enabled": False},
        },
    }
    rule = elbv2.create_rule(
        ListenerArn=listener["Listeners"][0]["ListenerArn"],
        Priority=10,
        Conditions=[{"Field": "path-pattern", "Values": ["/v1/*"]}],
        Actions=[forward],
    )["Rules"][0]["RuleArn"]
    ecs.create_cluster(clusterName="fleet")
    ecs.register_task_definition(family="t", containerDefinitions=[{"name": "c", "image": "i", "memory": 64}])
    services = [f"slice-{n}" for n in range(slices)]
    for service in services:
        ecs.create_service(cluster="fleet", serviceName=service, taskDefinition="t", desiredCount=0)
    groups = client("autoscaling")
    groups.create_launch_configuration(
        LaunchConfigurationName="l", ImageId="ami-12345678", InstanceType="t3.micro"
    )
    groups.create_auto_scaling_group(
        AutoScalingGroupName="nodes",
        LaunchConfigurationName="l",
        MinSize=0,
        MaxSize=4,
        DesiredCapacity=0,
        VPCZoneIdentifier=subnets[0],
    )
    scaling = client("application-autoscaling")
    for service in services:
        scaling.register_scalable_target(
            ServiceNamespace="ecs",
            ResourceId=f"service/fleet/{service}",
            ScalableDimension="ecs:service:DesiredCount",
            MinCapacity=1,
            MaxCapacity=4,
        )
    clients = Clients(client("ssm"), ecs, elbv2, groups, scaling, client("cloudwatch"))
    world = World(
        clients, Cloud(clients, NAMES), neuron, gpu, waker, rule, services, datetime.now(UTC).timestamp()
    )
    world.put(NAMES.settings, {
        "environment": "pilot", "fleet": "chat", "model": "m", "idle_seconds": 600, "hold_seconds": 0,
        "start_low_seconds": 60, "start_high_seconds": 600, "nodes_at_wake": 1, "wake_paths": ["/v1/"],
        "cluster": "fleet", "services": services, "auto_scaling_group": "nodes", "listener_rule": rule,
        "load_balancer": balancer.partition("loadbalancer/")[2], "neuron_target_group": neuron,
        "gpu_target_group": gpu, "waker_target_group": waker,
    })  # fmt: skip
    return world


def tools(world: World, written: list[str] | None = None) -> Tools:
    write = (written if written is not None else []).append
    return Tools(world.cloud, lambda: world.now, lambda seconds: None, write, (ClientError, BotoCoreError))


def test_a_new_stack_is_asleep(world: World) -> None:
    read = world.cloud.read(world.now, with_activity=True)
    assert read.view.state.phase is Phase.OFF
    assert not read.view.wanted
    assert read.view.desired == (0,) * 12
    assert (read.view.weights, read.view.nodes_limit, read.view.group_desired) == (AT_WAKER, 4, 0)
    assert (read.view.healthy, read.view.override, read.view.refused, read.view.deploying) == (
        0,
        "auto",
        None,
        False,
    )
    assert read.view.activity is not None
    assert (read.view.activity.requests, read.view.activity.minutes) == (0, ())
    assert read.notes == ()


def test_every_action(world: World) -> None:
    world.cloud.read(world.now, with_activity=False)
    state, wake = State(Phase.FALLING, 3, world.now), Wake(3, world.now)
    for action in (
        SetState(state),
        RecordWake(wake),
        SetNodes(1),
        SetServices(1),
        SetWeights(AT_ENGINE, AT_WAKER),
    ):
        world.cloud.do(action)
    view = world.cloud.read(world.now, with_activity=False).view
    assert (view.state, view.wake, view.group_desired, view.weights) == (state, wake, 1, AT_ENGINE)
    assert view.desired == (1,) * 12
    world.cloud.do(SetServices(0))
    assert world.desired() == [0] * 10


def test_services_that_have_more_are_left_alone(world: World) -> None:
    world.clients.ecs.update_service(cluster="fleet", service="slice-3", desiredCount=3)
    world.cloud.read(world.now, with_activity=False)
    world.cloud.do(SetServices(1))
    assert world.desired() == [1, 1, 1, 3, 1, 1, 1, 1, 1, 1]


def test_weights_that_somebody_else_has_just_set_stay(world: World) -> None:
    world.cloud.read(world.now, with_activity=False)
    world.cloud.do(SetWeights(AT_ENGINE, AT_WAKER))
    world.cloud.do(SetWeights(Weights(0, 100, 0), AT_WAKER))
    assert world.groups() == {world.neuron: 100, world.gpu: 0, world.waker: 0}


@pytest.mark.parametrize(
    ("value", "mode", "noted"),
    [
        ({"mode": "gpu", "until": None}, "gpu", False),
        ({"mode": "neuron", "until": "2999-01-01T00:00:00Z"}, "neuron", False),
        ({"mode": "neuron", "until": "2020-01-01T00:00:00+01:00"}, "auto", False),
        ({"mode": "gpu", "until": "tomorrow"}, "auto", True),
        ({"mode": "strange"}, "auto", False),
        ("not json", "auto", True),
        ("[1]", "auto", True),
    ],
)
def test_an_override(world: World, value: object, mode: str, noted: bool) -> None:
    world.put("/n/override", value)
    read = world.cloud.read(world.now, with_activity=False)
    assert (read.view.override, bool(read.notes)) == (mode, noted)


@pytest.mark.parametrize(
    "garbled", ["", "{", "[]", '{"phase": "strange", "fall": 1, "since": 1}', '{"fall": "x"}']
)
def test_garbled_records_count_as_none(world: World, garbled: str) -> None:
    for name in (NAMES.state, NAMES.wake):
        world.put(name, garbled or "null")
    read = world.cloud.read(world.now, with_activity=False)
    assert (read.view.state, read.view.wake) == (State(Phase.OFF, 0, 0.0), Wake(-1, 0.0))


def test_metrics(world: World) -> None:
    start = world.now // 60 * 60 - 240
    dimensions = [
        {"Name": "Environment", "Value": "pilot"},
        {"Name": "Fleet", "Value": "chat"},
        {"Name": "Side", "Value": "neuron"},
    ]
    for name, value in (("RequestsRunning", 2), ("RequestsWaiting", 1), ("Replicas", 1)):
        world.clients.cloudwatch.put_metric_data(
            Namespace="neuronkit/serving",
            MetricData=[
                {
                    "MetricName": name,
                    "Dimensions": dimensions,
                    "Value": value,
                    "Timestamp": datetime.fromtimestamp(start + 20, UTC),
                }
            ],
        )
    settings = json.loads(world.clients.ssm.get_parameter(Name=NAMES.settings)["Parameter"]["Value"])
    seen = [
        {"Name": "LoadBalancer", "Value": settings["load_balancer"]},
        {"Name": "TargetGroup", "Value": world.gpu.rpartition(":")[2]},
    ]
    for at in (start, world.now - 86_000):
        world.clients.cloudwatch.put_metric_data(
            Namespace="AWS/ApplicationELB",
            MetricData=[
                {
                    "MetricName": "RequestCount",
                    "Dimensions": seen,
                    "Value": 5,
                    "Timestamp": datetime.fromtimestamp(at, UTC),
                }
            ],
        )
    activity = world.cloud.read(world.now, with_activity=True).view.activity
    assert activity is not None
    assert activity.requests == 5
    assert [(minute.busy, minute.scrapes) for minute in activity.minutes] == [(3, 1)]


def test_a_request_wakes_and_the_check_goes_on(world: World) -> None:
    written: list[str] = []
    answer = respond(EVENT, tools(world, written))
    assert answer["statusCode"] == 503
    assert world.desired() == [1] * 10
    assert world.cloud.read(world.now, with_activity=False).view.group_desired == 1
    metrics = [json.loads(line) for line in written if '"_aws"' in line]
    assert [metric["WakeRequests"] for metric in metrics] == [1]
    assert metrics[0]["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "neuronkit/serving"
    check(tools(world, written))
    assert json.loads(written[-1])["why"] == ["woken"]
    assert json.loads(written[-2])["Asleep"] == 0


def test_a_storm_in_one_process_reads_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    real = world.cloud.read

    def counted(now: float, *, with_activity: bool) -> Any:
        nonlocal reads
        reads += 1
        return real(now, with_activity=with_activity)

    monkeypatch.setattr(world.cloud, "read", counted)
    shared = tools(world)
    codes = {json.loads(respond(EVENT, shared)["body"])["error"]["code"] for _ in range(20)}
    assert (codes, reads) == ({"fleet_is_starting"}, 2)


def test_when_aws_refuses_the_client_is_told_to_come_again_and_the_log_says_why(world: World) -> None:
    settings = world.setting("services", ["slice-0", "gone"])
    written: list[str] = []
    answer = respond(EVENT, tools(world, written))
    assert answer["statusCode"] == 503
    assert "waker_out_of_order" in answer["body"]
    assert "gone" in written[-1]
    with pytest.raises(LookupError):
        check(tools(world))
    world.put(NAMES.settings, settings)


def test_a_group_that_cannot_be_set_does_not_stop_a_wake(world: World) -> None:
    def refuse(**_: object) -> None:
        raise ClientError(
            {"Error": {"Code": "ScalingActivityInProgress", "Message": "busy"}}, "SetDesiredCapacity"
        )

    autoscaling = _Refusing(world.clients.autoscaling, refuse)
    world.cloud = Cloud(replace(world.clients, autoscaling=autoscaling), NAMES)
    written: list[str] = []
    assert respond(EVENT, tools(world, written))["statusCode"] == 503
    assert world.desired() == [1] * 10
    assert any("ScalingActivityInProgress" in line for line in written)


class _Refusing:
    def __init__(self, client: Any, refuse: Any) -> None:
        self._client, self.set_desired_capacity = client, refuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_why_there_is_no_instance(world: World) -> None:
    """moto's activities never fail: its answer is replaced."""
    failed = {
        "StatusCode": "Failed",
        "StatusMessage": "no inf2.8xlarge",
        "StartTime": datetime.fromtimestamp(world.now, UTC),
    }

    class Failing(_Refusing):
        def describe_scaling_activities(self, **_: object) -> dict[str, Any]:
            return {"Activities": [failed]}

    world.cloud = Cloud(replace(world.clients, autoscaling=Failing(world.clients.autoscaling, None)), NAMES)
    places = world.cloud.read(world.now, with_activity=False)
    assert places.view.refused is None
    assert world.cloud._places is not None
    assert world.cloud._refused(world.cloud._places, world.now - 1) == "no inf2.8xlarge"
    assert world.cloud._refused(world.cloud._places, world.now + 1) is None


def test_the_entry_tells_requests_from_checks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("settings", "state", "wake", "override"):
        monkeypatch.setenv(f"NEURONKIT_{name.upper()}_PARAMETER", f"/n/{name}")
    handler._tools.cache_clear()
    try:
        assert handler.handle(EVENT, None)["statusCode"] == 503
        assert world.desired() == [1] * 10
        assert handler.handle({"event": "check"}, None) == {"why": ["woken"]}
        with pytest.raises(ValueError, match="strange"):
            handler.handle({"strange": 1}, None)
    finally:
        handler._tools.cache_clear()
