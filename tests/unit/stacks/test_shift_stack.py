"""What a shift's stack means: its clock, what its controller may do, and that it depends on neither side."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from stacks.domain.rules.limits import OTHER_VARIABLES_BYTES, VARIABLES_BYTES_MAX
from stacks.domain.windows import WeeklyWindow
from stacks.domain.zones import zone_file, zone_names
from stacks.shift_stack import _variables
from tests.synthesized import Template, plans, resources, template, the_one
from tests.unit.domain.test_timetable import every_day, shift

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
PLAN = "fleet-shift"


def stack() -> Template:
    return template(PLAN, plans()[PLAN].stacks.of_shift("day"))


def schedules() -> dict[str, dict[str, Any]]:
    return {id_: body["Properties"] for id_, body in resources(stack(), "AWS::Scheduler::Schedule").items()}


def statements() -> list[dict[str, Any]]:
    role = stack()["Resources"]["ShiftRole"]["Properties"]
    found: list[dict[str, Any]] = role["Policies"][0]["PolicyDocument"]["Statement"]
    return found


def allowing(action: str) -> list[dict[str, Any]]:
    return [one for one in statements() if action in one["Action"] or action == one["Action"]]


def test_it_is_made_last_and_leaves_first() -> None:
    assert plans()[PLAN].stacks.all[-3:] == ("pilot-cluster-train", "pilot-fleet-chat", "pilot-shift-day")


def test_there_is_a_schedule_for_each_switch_and_drain_in_the_zone() -> None:
    found = {
        body["ScheduleExpression"]: body.get("ScheduleExpressionTimezone") for body in schedules().values()
    }
    workdays = "MON,TUE,WED,THU,FRI"
    assert found == {
        f"cron(30 6 ? * {workdays} *)": "Europe/Berlin",
        f"cron(0 7 ? * {workdays} *)": "Europe/Berlin",
        "cron(30 19 ? * MON,TUE,WED,THU *)": "Europe/Berlin",
        f"cron(0 20 ? * {workdays} *)": "Europe/Berlin",  # on Friday another number of replicas
        "cron(30 0 ? * SAT *)": "Europe/Berlin",
        "cron(0 1 ? * SAT *)": "Europe/Berlin",
        "rate(10 minutes)": None,
    }


def test_no_call_is_repeated_and_never_are_there_two() -> None:
    assert {body["Target"]["RetryPolicy"]["MaximumRetryAttempts"] for body in schedules().values()} == {0}
    assert the_one(stack(), "AWS::Lambda::EventInvokeConfig")["MaximumRetryAttempts"] == 0
    assert the_one(stack(), "AWS::Lambda::Function")["ReservedConcurrentExecutions"] == 1


def test_it_needs_neither_side_to_be_there() -> None:
    """It imports the bucket, and nothing of the fleet or the cluster: each can be destroyed and made anew alone."""
    text = json.dumps(stack())
    assert "pilot-storage:" in text
    assert "pilot-fleet-chat:" not in text
    assert "pilot-cluster-train:" not in text


@pytest.mark.parametrize(
    ("action", "tag", "value"),
    [
        ("ecs:UpdateService", "neuronkit:fleet", "chat"),
        ("batch:UpdateComputeEnvironment", "neuronkit:cluster", "train"),
        ("batch:SubmitJob", "neuronkit:cluster", "train"),
        ("batch:TerminateJob", "neuronkit:environment", "pilot"),
    ],
)
def test_what_it_changes_carries_the_tags_of_its_sides(action: str, tag: str, value: str) -> None:
    (statement,) = allowing(action)
    assert statement["Condition"]["StringEquals"][f"aws:ResourceTag/{tag}"] == value
    assert statement["Condition"]["StringEquals"]["aws:ResourceTag/neuronkit:environment"] == "pilot"


def test_both_sides_carry_these_tags() -> None:
    of_fleet = template(PLAN, "pilot-fleet-chat")
    for service in resources(of_fleet, "AWS::ECS::Service").values():
        tags = {tag["Key"]: tag["Value"] for tag in service["Properties"]["Tags"]}
        assert (tags["neuronkit:fleet"], tags["neuronkit:environment"]) == ("chat", "pilot")
    of_cluster = template(PLAN, "pilot-cluster-train")
    for type_ in ("AWS::Batch::ComputeEnvironment", "AWS::Batch::JobQueue"):
        found = the_one(of_cluster, type_)["Tags"]
        assert (found["neuronkit:cluster"], found["neuronkit:environment"]) == ("train", "pilot")
    nodes = the_one(of_cluster, "AWS::Batch::ComputeEnvironment")["ComputeResources"]["Tags"]
    assert (nodes["neuronkit:cluster"], nodes["neuronkit:environment"]) == ("train", "pilot")


def test_both_sides_have_the_outputs_that_it_reads() -> None:
    assert {"EcsClusterName", "ServiceNames", "AutoScalingGroupName"} <= set(
        template(PLAN, "pilot-fleet-chat")["Outputs"]
    )
    assert {"ComputeEnvironmentArn", "JobQueueArn"} <= set(template(PLAN, "pilot-cluster-train")["Outputs"])


def test_only_describing_and_metrics_have_no_resource() -> None:
    actions = {
        action
        for one in statements()
        if one["Resource"] == "*"
        for action in ([one["Action"]] if isinstance(one["Action"], str) else one["Action"])
    }
    assert all(
        action.partition(":")[2].startswith(("Describe", "List"))
        for action in actions - {"cloudwatch:PutMetricData"}
    )


def test_the_override_is_a_parameter_that_says_auto() -> None:
    parameter = parameters()["/neuronkit/pilot/shifts/day"]
    assert json.loads(parameter["Value"]) == {"mode": "auto", "until": None, "reason": ""}


def test_the_controller_may_write_its_state_and_not_its_override() -> None:
    variables = the_one(stack(), "AWS::Lambda::Function")["Environment"]["Variables"]
    assert (variables["NEURONKIT_PARAMETER"], variables["NEURONKIT_STATE_PARAMETER"]) == tuple(parameters())
    assert parameters()["/neuronkit/pilot/shifts/day-state"]["Value"] == "{}"
    (writes,) = allowing("ssm:PutParameter")
    assert writes["Resource"].endswith(":parameter/neuronkit/pilot/shifts/day-state")


def parameters() -> dict[str, dict[str, Any]]:
    found = [body["Properties"] for body in resources(stack(), "AWS::SSM::Parameter").values()]
    return {one["Name"]: one for one in found}


def test_silence_is_an_alarm() -> None:
    alarms = resources(stack(), "AWS::CloudWatch::Alarm")
    assert {id_: body["Properties"]["TreatMissingData"] for id_, body in alarms.items()} == {
        "ShiftLateAlarm": "notBreaching", "ShiftFailsAlarm": "notBreaching", "ShiftSilentAlarm": "breaching",
    }  # fmt: skip


def test_the_rules_of_every_zone_fit_into_the_functions_variables() -> None:
    """With four windows a day, which is more than anybody writes."""
    windows = [WeeklyWindow(day, hour * 60, 60, 1000) for day in range(7) for hour in range(0, 24, 6)]
    longest = max(zone_names(), key=lambda name: len(zlib.compress(zone_file(name), 9)))
    for name in (longest, "Europe/Berlin"):
        values = _variables(
            "e" * 30,
            shift(windows, name="s" * 30, cluster="t" * 30, timezone=name),
            ("f" * 70, "c" * 70),
            "b" * 63,
        )
        sizes = {key: len(key) + len(value) for key, value in values.items()}
        assert sum(sizes.values()) <= VARIABLES_BYTES_MAX
        others = sum(sizes.values()) - len(values["NEURONKIT_WINDOWS"]) - len(values["NEURONKIT_ZONE_RULES"])
        assert others <= OTHER_VARIABLES_BYTES
        assert zlib.decompress(base64.b64decode(values["NEURONKIT_ZONE_RULES"])) == zone_file(name)


def test_windows_that_touch_have_a_schedule_for_their_beginnings_alone() -> None:
    from stacks.constructs.shift_clock import times_of_day

    assert times_of_day(shift(every_day(0, 1440))) == [(0, ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"))]
