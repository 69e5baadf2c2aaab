"""What scales, wakes and falls back, and what raises an alarm: who owns what, and what each may do."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from stacks.constructs.fleet_function import PAYLOADS, copy_package
from stacks.domain import names
from stacks.domain.fleet_plan import FleetPlan
from tests.fleet_plans import FLEET_PLANS
from tests.synthesized import Template, assembly_directory, fleet, plans, resources

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
every_fleet = pytest.mark.parametrize("plan", FLEET_PLANS)
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
ASLEEP = ("fleet-asleep", "fleet-fallback")
WITH_GPU = ("fleet-fallback", "fleet-weighted")


def planned(plan: str) -> FleetPlan:
    return plans()[plan].fleet("chat")


def part(plan: str, id_: str) -> Template:
    properties: Template = fleet(plan)["Resources"][id_]["Properties"]
    return properties


def variables(plan: str, function: str) -> dict[str, Any]:
    found: dict[str, Any] = part(plan, function)["Environment"]["Variables"]
    return found


def read_by(payload: str) -> set[str]:
    """Every variable that a payload's README names."""
    text = (PAYLOADS / payload / "README.md").read_text(encoding="utf-8")
    return set(re.findall(r"`(NEURONKIT_[A-Z_]+)`", text))


def flat(value: Any) -> str:
    """Joined text, with the names of what it refers to."""
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return str(value["Ref"])
    if "Fn::GetAtt" in value:
        return ".".join(value["Fn::GetAtt"])
    return "".join(flat(each) for each in value["Fn::Join"][1])


class TestScaling:
    @every_fleet
    def test_nodes_scale_between_the_files_bounds_and_never_to_zero_by_a_metric(self, plan: str) -> None:
        one = planned(plan)
        targets = resources(fleet(plan), TARGET)
        assert len(targets) == one.replicas_per_node
        for body in targets.values():
            found = body["Properties"]
            gpus_alone = one.fallback is not None and one.fallback.mode == "model"
            least = 0 if gpus_alone else max(1, one.nodes_minimum)
            assert found["MinCapacity"] == {"Fn::If": ["IsFirstDeploy", 0, least]}
            assert found["MaxCapacity"] == one.nodes_maximum
            parts = found["ResourceId"]["Fn::Join"]
            assert parts[0] == "/"
            assert parts[1][:2] == ["service", {"Ref": "Cluster"}]

    @every_fleet
    def test_the_metric_is_waiting_requests_for_each_replica_by_the_engine(self, plan: str) -> None:
        one = planned(plan)
        policies = resources(fleet(plan), POLICY)
        assert len(policies) == (
            one.replicas_per_node if one.nodes_maximum > max(1, one.nodes_minimum) else 0
        )
        for body in policies.values():
            settings = body["Properties"]["TargetTrackingScalingPolicyConfiguration"]
            metrics = {m["Id"]: m for m in settings["CustomizedMetricSpecification"]["Metrics"]}
            assert [m["Id"] for m in metrics.values() if m["ReturnData"]] == ["perReplica"]
            asked = {m["MetricStat"]["Metric"]["MetricName"] for m in metrics.values() if "MetricStat" in m}
            assert asked == {"RequestsWaiting", "Replicas"}
            for metric in (m["MetricStat"]["Metric"] for m in metrics.values() if "MetricStat" in m):
                assert metric["Namespace"] == "neuronkit/serving"
                assert {d["Name"]: d["Value"] for d in metric["Dimensions"]} == {
                    "Environment": "pilot",
                    "Fleet": "chat",
                    "Side": "neuron",
                }
            assert settings["TargetValue"] == one.settings.scaling.waiting_per_replica
            assert settings["ScaleOutCooldown"] >= one.times.start_high
            assert settings["ScaleInCooldown"] == one.times.scale_in_cooldown
        assert "gpu" not in str(policies).lower()


class TestWaker:
    @every_fleet
    def test_a_fleet_that_sleeps_has_one(self, plan: str) -> None:
        assert ("WakerFunction" in fleet(plan)["Resources"]) is (plan in ASLEEP)

    @pytest.mark.parametrize("plan", ASLEEP)
    def test_it_gets_what_it_reads(self, plan: str) -> None:
        expected = read_by("waker")
        if planned(plan).fallback is None:
            expected -= {"NEURONKIT_OVERRIDE_PARAMETER"}
        assert set(variables(plan, "WakerFunction")) == expected

    @pytest.mark.parametrize("plan", ASLEEP)
    def test_its_settings_are_those_that_its_code_takes(
        self, plan: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(PAYLOADS)
        from waker.cloud import _settings

        settings, places = _settings(flat(part(plan, "WakerSettingsParameter")["Value"]))
        one = planned(plan)
        assert (settings.environment, settings.fleet) == ("pilot", "chat")
        assert settings.idle_seconds == one.settings.scale_to_zero.idle_minutes * 60  # type: ignore[union-attr]
        assert settings.start_high_seconds == one.times.start_high
        assert places.services == ("Service.Name",)
        assert places.auto_scaling_group == "NodesAutoScalingGroup"
        assert places.listener_rule == "ListenerRule"
        assert places.waker_target_group == "WakerTargetGroup"
        assert places.gpu_target_group == ("GpuTargetGroup" if one.fallback else None)

    @pytest.mark.parametrize("plan", ASLEEP)
    def test_the_load_balancer_may_call_it_before_it_is_a_target(self, plan: str) -> None:
        group = fleet(plan)["Resources"]["WakerTargetGroup"]
        assert group["Properties"]["TargetType"] == "lambda"
        assert group["Properties"]["HealthCheckEnabled"] is False
        assert "WakerPermission" in group["DependsOn"]
        permission = part(plan, "WakerPermission")
        assert permission["Principal"] == "elasticloadbalancing.amazonaws.com"
        assert permission["SourceAccount"] == "111122223333"

    def test_it_has_longer_than_a_request_is_held_and_the_load_balancer_waits_longer_still(self) -> None:
        function = part("fleet-asleep", "WakerFunction")
        assert function["Timeout"] == 75
        assert "ReservedConcurrentExecutions" not in function
        assert planned("fleet-asleep").times.idle_timeout > 45

    @pytest.mark.parametrize("plan", ASLEEP)
    def test_it_looks_every_minute(self, plan: str) -> None:
        schedule = part(plan, "WakerSchedule")
        assert schedule["ScheduleExpression"] == "rate(1 minutes)"
        assert json.loads(schedule["Target"]["Input"]) == {"event": "check"}
        assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}


class TestFallbackController:
    @every_fleet
    def test_a_fleet_with_a_gpu_group_has_one(self, plan: str) -> None:
        assert ("FallbackFunction" in fleet(plan)["Resources"]) is (plan in WITH_GPU)

    @pytest.mark.parametrize("plan", WITH_GPU)
    def test_it_gets_what_it_reads(self, plan: str) -> None:
        optional = {"NEURONKIT_MODEL_REASON"}
        if plan not in ASLEEP:
            optional.add("NEURONKIT_WAKER_TARGET_GROUP_ARN")
        assert set(variables(plan, "FallbackFunction")) == read_by("fallback") - optional

    @pytest.mark.parametrize("plan", WITH_GPU)
    def test_one_at_a_time_every_minute_and_never_again(self, plan: str) -> None:
        function = part(plan, "FallbackFunction")
        assert function["ReservedConcurrentExecutions"] == 1
        assert function["Timeout"] < 60
        assert function["Runtime"] == "python3.13"
        assert part(plan, "FallbackInvocations")["MaximumRetryAttempts"] == 0
        target = part(plan, "FallbackSchedule")["Target"]
        assert target["RetryPolicy"] == {"MaximumRetryAttempts": 0}

    @pytest.mark.parametrize("plan", WITH_GPU)
    def test_it_changes_its_rule_and_the_gpu_service_and_nothing_else(self, plan: str) -> None:
        (work,) = part(plan, "FallbackRole")["Policies"]
        allowed = {str(s["Action"]): s["Resource"] for s in work["PolicyDocument"]["Statement"]}
        assert allowed["elasticloadbalancing:ModifyRule"] == {"Ref": "ListenerRule"}
        assert allowed["ecs:UpdateService"] == {"Ref": "GpuService"}
        assert allowed["ssm:PutParameter"].endswith("/fleets/chat/fallback-state")

    @pytest.mark.parametrize("plan", WITH_GPU)
    def test_people_override_it_through_a_parameter(self, plan: str) -> None:
        parameter = part(plan, "FallbackParameter")
        assert parameter["Name"] == names.fallback_parameter("pilot", "chat")
        assert json.loads(parameter["Value"]) == {"mode": "auto", "until": None, "reason": ""}


@pytest.mark.parametrize("plan", sorted({*ASLEEP, *WITH_GPU}))
def test_what_others_write_is_not_written_again_when_a_tag_changes(plan: str) -> None:
    """CloudFormation would put the first value back: an override, a state, or the weights of the rule."""
    template = fleet(plan)
    for type_ in ("AWS::SSM::Parameter", "AWS::ElasticLoadBalancingV2::ListenerRule"):
        assert resources(template, type_)
        assert names.LIFETIME_TAG not in str(resources(template, type_))


@pytest.mark.parametrize(("plan", "payload"), [("fleet-asleep", "waker"), ("fleet-weighted", "fallback")])
def test_a_function_is_the_payloads_package(plan: str, payload: str) -> None:
    stack = plans()[plan].stacks.of_fleet("chat")
    assets = json.loads((assembly_directory(plan) / f"{stack}.assets.json").read_text())["files"]
    (directory,) = (
        asset["source"]["path"] for asset in assets.values() if asset["source"]["packaging"] == "zip"
    )
    assert (assembly_directory(plan) / directory / payload / "handler.py").is_file()
    (function,) = resources(fleet(plan), "AWS::Lambda::Function").values()
    assert function["Properties"]["Handler"] == f"{payload}.handler.handle"


class TestAlarms:
    @every_fleet
    def test_missing_data_is_no_breach_but_where_silence_is_the_fault(self, plan: str) -> None:
        alarms = resources(fleet(plan), "AWS::CloudWatch::Alarm")
        assert {"NoHealthyReplicaAlarm", "ErrorsAlarm", "DeadEngineAlarm"} <= set(alarms)
        for id_, body in alarms.items():
            found = body["Properties"]
            silent = id_ == "ControllerSilentAlarm"
            assert found["TreatMissingData"] == ("breaching" if silent else "notBreaching")
            assert found["DatapointsToAlarm"] <= found["EvaluationPeriods"]
            returned = [query for query in found["Metrics"] if query.get("ReturnData")]
            assert len(returned) == 1

    @every_fleet
    def test_a_start_is_no_alarm_and_a_sleeping_fleet_is_none(self, plan: str) -> None:
        alarm = part(plan, "NoHealthyReplicaAlarm")
        assert alarm["EvaluationPeriods"] * 60 >= planned(plan).times.grace
        expression = next(q["Expression"] for q in alarm["Metrics"] if "Expression" in q)
        assert "wanted > 0" in expression

    @pytest.mark.parametrize("plan", WITH_GPU)
    def test_serving_by_gpus_is_seen(self, plan: str) -> None:
        alarms = resources(fleet(plan), "AWS::CloudWatch::Alarm")
        assert {"FallbackActiveAlarm", "NobodyServesAlarm", "GpuMissingAlarm", "DeadGpuEngineAlarm"} <= set(
            alarms
        )


class TestOutputs:
    @every_fleet
    def test_what_other_programs_rely_on(self, plan: str) -> None:
        outputs = fleet(plan)["Outputs"]
        always = {
            names.OUTPUT_ECS_CLUSTER, names.OUTPUT_SERVICES, names.OUTPUT_CAPACITY_PROVIDER, names.OUTPUT_LOG_GROUP,
            names.OUTPUT_LOAD_BALANCER, names.OUTPUT_LOAD_BALANCER_DNS_NAME, names.OUTPUT_LISTENER_RULE,
            names.OUTPUT_NEURON_TARGET_GROUP,
        }  # fmt: skip
        sleeping = {names.OUTPUT_WAKER_FUNCTION, names.OUTPUT_WAKER_TARGET_GROUP}
        gpu = {
            names.OUTPUT_GPU_SERVICE, names.OUTPUT_GPU_AUTO_SCALING_GROUP, names.OUTPUT_GPU_TARGET_GROUP,
            names.OUTPUT_FALLBACK_FUNCTION, names.OUTPUT_FALLBACK_PARAMETER,
        }  # fmt: skip
        assert always <= set(outputs)
        assert (sleeping <= set(outputs)) is (plan in ASLEEP)
        assert (gpu <= set(outputs)) is (plan in WITH_GPU)
        assert (names.OUTPUT_AUTO_SCALING_GROUP in outputs) is (plan != "fleet-managed")

    def test_services_are_named_in_the_order_of_the_slices(self) -> None:
        separator, parts = fleet("fleet-slices")["Outputs"][names.OUTPUT_SERVICES]["Value"]["Fn::Join"]
        assert separator == ","
        assert [each["Fn::GetAtt"][0] for each in parts] == [f"Slice{index}xService" for index in range(4)]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o007])
def test_a_careful_umask_does_not_hide_code_from_lambda(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        copy_package("waker", tmp_path)
    finally:
        os.umask(before)
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "waker").iterdir()}
    assert modes == {".py": 0o644}
    assert stat.S_IMODE((tmp_path / "waker").stat().st_mode) == 0o755
