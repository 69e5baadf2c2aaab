"""What AWS answers, variables, the override and a garbled memory: read as they are, never trusted."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime

import pytest
from fallback.memory import REMEMBERED_SWITCHES, Memory, read_memory
from fallback.metric_queries import side_metrics
from fallback.observed import Override, Settings, Weights
from fallback.override import read_override
from fallback.settings import SettingsError, read_places, read_settings
from fallback.signals import REFUSED_SECONDS, RuleError, SideMetrics, actions_with, side, weights
from fallback.state import read_state_memory

from tests.unit.payload.fallback.fleet_aws import ACCOUNT_VARIABLES, GPU, NEURON, WAKER

NOW = 1_800_000_000.0
UNPLACED = "(service a) was unable to place a task because no container instance met all of its requirements."
STEADY = "(service a) has reached a steady state."
NO_CAPACITY = (
    "We currently do not have sufficient inf2.8xlarge capacity in zones with support for 'gp3' volumes."
)


def at(seconds_ago: float) -> datetime:
    return datetime.fromtimestamp(NOW - seconds_ago, UTC)


def service(*events: tuple[float, str], rollout: str = "COMPLETED", **counts: int) -> dict[str, object]:
    """Events newest first, as ECS gives them."""
    return {
        "serviceName": "a",
        "status": "ACTIVE",
        "desiredCount": 2,
        "runningCount": 1,
        "pendingCount": 1,
        **counts,
        "deployments": [{"rolloutState": rollout}],
        "events": [{"id": "x", "createdAt": at(ago), "message": text} for ago, text in events],
    }


def launch(seconds_ago: float, status: str = "Failed", message: str = NO_CAPACITY) -> dict[str, object]:
    return {
        "Description": "Launching a new EC2 instance",
        "StartTime": at(seconds_ago),
        "StatusCode": status,
        "StatusMessage": message,
    }


def targets(*states: str) -> dict[str, object]:
    return {"TargetHealthDescriptions": [{"TargetHealth": {"State": state}} for state in states]}


def seen(*services, health=(), activities=(), metrics=None, scalable=()):
    return side(
        services or [service()], targets(*health), activities, metrics or SideMetrics(), NOW, scalable
    )


def test_counts_of_all_services_and_only_healthy_targets() -> None:
    found = seen(service(), service(desiredCount=3), health=("healthy", "initial", "draining", "unhealthy"))
    assert (found.healthy, found.desired, found.running, found.pending) == (1, 5, 2, 2)


def test_a_service_that_is_gone_counts_nothing() -> None:
    gone = {**service(), "status": "INACTIVE"}
    assert seen(gone).desired == 0


@pytest.mark.parametrize(
    ("rollout", "deploying"), [("IN_PROGRESS", True), ("COMPLETED", False), ("FAILED", False)]
)
def test_a_deployment_goes_on(rollout: str, deploying: bool) -> None:
    assert seen(service(rollout=rollout)).deploying is deploying


@pytest.mark.parametrize(
    ("services", "activities", "refused"),
    [
        ([service()], [], ""),
        ([service((60, UNPLACED))], [], UNPLACED),
        ([service((30, STEADY), (60, UNPLACED))], [], ""),
        ([service((30, "(service a) has started 1 tasks."), (60, UNPLACED), (90, STEADY))], [], UNPLACED),
        ([service((REFUSED_SECONDS + 1, UNPLACED))], [], ""),
        ([service()], [launch(60)], NO_CAPACITY),
        ([service()], [launch(REFUSED_SECONDS + 1)], ""),
        ([service()], [launch(60, "Successful"), launch(120)], ""),
        # An instance is coming: what ECS said before it was asked for is over.
        ([service((60, UNPLACED))], [launch(30, "InProgress")], ""),
        ([service((30, UNPLACED))], [launch(60, "Successful")], UNPLACED),
        ([service()], [{**launch(30), "Description": "Terminating EC2 instance: i-1"}], ""),
        ([service(), service((60, UNPLACED))], [], UNPLACED),
    ],
)
def test_refusals_of_capacity(services, activities, refused: str) -> None:
    assert seen(*services, activities=activities).refused == refused[:160]


@pytest.mark.parametrize(
    ("progress", "stalled"), [(None, 0), (1.0, 0), (0.0, 4), (0.5, 2), (0.9, 0), (-1.0, 4), (7.0, 0)]
)
def test_stalled_engines(progress: float | None, stalled: int) -> None:
    found = seen(health=("healthy",) * 4, metrics=SideMetrics(progress=progress))
    assert found.stalled == stalled


def test_metrics_that_are_missing_are_unknown() -> None:
    found = seen(health=("healthy",))
    assert (found.waiting, found.requests, found.erring) == (None, None, False)
    results = [
        {"Id": "neuron_waiting", "Values": [3.0, 9.0]},
        {"Id": "neuron_requests", "Values": [20.0, 30.0]},
        {"Id": "neuron_errors", "Values": []},
        {"Id": "gpu_waiting", "Values": [7.0]},
    ]
    assert side_metrics(results, "neuron") == SideMetrics(3.0, None, 50.0, None)
    found = seen(health=("healthy", "healthy"), metrics=side_metrics(results, "neuron"))
    assert (found.waiting, found.errors, found.erring) == (6.0, 0.0, False)


@pytest.mark.parametrize(
    ("maximums", "withdrawn"), [((), False), ((0, 0), True), ((0, 2), False), ((4,), False)]
)
def test_a_maximum_of_zero_is_a_shifts(maximums: tuple[int, ...], withdrawn: bool) -> None:
    assert seen(scalable=[{"MaxCapacity": m} for m in maximums]).withdrawn is withdrawn


# ---- the rule


def rule(*groups: tuple[str, int]) -> dict[str, object]:
    token = {"Type": "jwt-validation", "Order": 1, "JwtValidationConfig": {"Issuer": "https://idp"}}
    config = {
        "TargetGroups": [{"TargetGroupArn": arn, "Weight": weight} for arn, weight in groups],
        "TargetGroupStickinessConfig": {"Enabled": False},
    }
    return {"Actions": [token, {"Type": "forward", "Order": 2, "ForwardConfig": config}]}


def test_weights_of_a_rule() -> None:
    assert weights(rule((NEURON, 70), (GPU, 30)), NEURON, GPU, WAKER) == Weights(70, 30, 0)
    single = {"Actions": [{"Type": "forward", "TargetGroupArn": WAKER}]}
    assert weights(single, NEURON, GPU, WAKER) == Weights(0, 0, 1)


@pytest.mark.parametrize(
    "wrong", [rule((NEURON, 1), ("somebody", 1)), {"Actions": [{"Type": "fixed-response"}]}]
)
def test_a_rule_of_somebody_else_is_refused(wrong) -> None:
    with pytest.raises(RuleError):
        weights(wrong, NEURON, GPU, WAKER)


def test_a_written_rule_keeps_everything_but_the_weights() -> None:
    before = {**rule((NEURON, 100), (GPU, 0))}
    before["Actions"][1]["TargetGroupArn"] = NEURON
    token, forward = actions_with(before, NEURON, GPU, "", Weights(25, 75))
    assert token == before["Actions"][0]
    assert forward["Order"] == 2
    assert "TargetGroupArn" not in forward
    assert forward["ForwardConfig"] == {
        "TargetGroups": [{"TargetGroupArn": NEURON, "Weight": 25}, {"TargetGroupArn": GPU, "Weight": 75}],
        "TargetGroupStickinessConfig": {"Enabled": False},
    }
    assert weights({"Actions": [token, forward]}, NEURON, GPU, "") == Weights(25, 75, 0)


# ---- override


@pytest.mark.parametrize(
    ("document", "override"),
    [
        ({"mode": "gpu", "until": None, "reason": "test"}, Override("gpu")),
        ({"mode": "neuron", "until": "2027-01-15T08:00:00Z"}, Override("neuron", NOW)),
        ({"mode": "neuron", "until": "2027-01-15T09:00:00+01:00"}, Override("neuron", NOW)),
        ({"mode": "neuron", "until": "2027-01-15T08:00:00"}, Override("neuron", NOW)),
        ({"mode": "auto", "until": None, "reason": ""}, Override()),
    ],
)
def test_overrides(document, override: Override) -> None:
    assert read_override(json.dumps(document)) == override


def test_an_override_ends_at_its_time() -> None:
    override = Override("gpu", NOW)
    assert [override.at(NOW - 1), override.at(NOW), override.at(NOW + 1)] == ["gpu", "auto", "auto"]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "gpu",
        "[]",
        '"gpu"',
        '{"mode": "GPU"}',
        '{"mode": ["gpu"]}',
        '{"mode": "gpu", "until": "soon"}',
        '{"mode": "gpu", "until": 5}',
    ],
)
def test_what_is_no_override_is_auto_and_says_why(text: str | None) -> None:
    override = read_override(text)
    assert override.at(0) == "auto"
    assert override.complaint


# ---- memory


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", "7", '{"memory": 7}', '{"memory": {}}', '{"memory": []}', "[" * 100_000]
)
def test_no_memory(text: str | None) -> None:
    assert read_state_memory(text, NOW) == Memory()


def test_senseless_fields_are_forgotten_one_by_one() -> None:
    senseless = {
        "checked_at": NOW + 1,
        "neuron": "++x",
        "gpu": "+-" * 30,
        "neuron_down": "yes",
        "heading": 140,
        "switches": [NOW - 5, "x", None, float("nan"), NOW + 9],
        "since": True,
        "gpu_wanted": -1,
        "gpu_needed": 1,
    }
    assert read_memory(senseless, NOW) == Memory(gpu="+-" * 6, switches=(NOW - 5,))


def test_a_memory_survives_its_parameter() -> None:
    memory = Memory(
        checked_at=NOW,
        neuron="++-",
        neuron_down=True,
        gpu_down=False,
        heading=30,
        since=NOW - 9,
        switches=tuple(NOW - number for number in range(REMEMBERED_SWITCHES)),
        gpu_wanted=3,
        gpu_needed=True,
    )
    assert read_memory(json.loads(json.dumps(asdict(memory))), NOW) == memory


# ---- variables


def test_settings_of_the_variables() -> None:
    assert read_settings(ACCOUNT_VARIABLES) == Settings(
        mode="overflow",
        weight_percent=0,
        back="gradual",
        gpu_minimum=0,
        gpu_maximum=2,
        waiting_per_replica=2.0,
        drain_seconds=300.0,
        start_seconds=3600.0,
        sleeps=False,
    )
    assert read_settings({**ACCOUNT_VARIABLES, "NEURONKIT_WAKER_TARGET_GROUP_ARN": WAKER}).sleeps
    assert read_places(ACCOUNT_VARIABLES).neuron_services == ("neuron-0", "neuron-1")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("NEURONKIT_MODE", "always"),
        ("NEURONKIT_MODE", ""),
        ("NEURONKIT_BACK", "slowly"),
        ("NEURONKIT_GPU_REPLICAS_MAXIMUM", "many"),
        ("NEURONKIT_DRAIN_SECONDS", ""),
    ],
)
def test_wrong_variables_are_named(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        read_settings({**ACCOUNT_VARIABLES, variable: value})
