"""One check from variables to writes, and what it leaves when AWS refuses something in the middle."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError
from fallback.decisions import decide
from fallback.handler import CheckError, check
from fallback.memory import REMEMBERED_SWITCHES, Memory
from fallback.observed import Observation, Override, Side, Weights
from fallback.state import state_document

from tests.unit.payload.fallback.fleet_aws import ACCOUNT_VARIABLES, GPU, NEURON, FleetAws
from tests.unit.payload.fallback.fleet_world import MODEL, OVERFLOW

START = 1_800_000_000.0
PARAMETER_BYTES = 4096


class Minutes:
    def __init__(self, aws: FleetAws, **variables: str) -> None:
        self.aws, self.now = aws, START
        self.variables = {**ACCOUNT_VARIABLES, **variables}

    def check(self, count: int = 1) -> dict[str, object]:
        for _ in range(count):
            self.now += 60
            state = check(self.aws.clients(), self.variables, self.now)
        return state


def metric(aws: FleetAws, name: str) -> list[float]:
    return [datum["Value"] for datum in aws.metrics if datum["MetricName"] == name]


def fallen() -> Minutes:
    minutes = Minutes(FleetAws())
    minutes.check(3)
    minutes.aws.healthy[NEURON] = 0
    return minutes


def test_nothing_is_written_while_nothing_is_wrong() -> None:
    minutes = Minutes(FleetAws())
    state = minutes.check(5)
    assert minutes.aws.writes == []
    assert json.loads(json.dumps(state)) == minutes.aws.state
    assert (state["reason"], state["owner"], state["gpu_share_percent"]) == ("none", "controller", 0)
    assert metric(minutes.aws, "FallbackActive") == [0.0, 0.0]


def test_neuron_dies_gpu_starts_and_takes_the_requests_and_gives_them_back() -> None:
    minutes = fallen()
    aws = minutes.aws
    minutes.check(3)
    assert (aws.desired["gpu"], aws.weights[GPU]) == (2, 0)
    aws.healthy[GPU] = 1
    state = minutes.check()
    assert aws.weights == {NEURON: 0, GPU: 100}
    assert state["since"] == "2027-01-15T08:07:00Z"
    assert "Neuron has no serving target" in state["words"]
    assert metric(aws, "FallbackActive") == [1.0, 1.0]
    reasons = [d["Dimensions"][-1] for d in aws.metrics if len(d["Dimensions"]) == 3]
    assert reasons == [{"Name": "Reason", "Value": "no-healthy-target"}]
    aws.healthy[NEURON] = 2
    minutes.check(20)
    assert (aws.weights, aws.desired["gpu"]) == ({NEURON: 100, GPU: 0}, 0)
    assert aws.writes == ["UpdateService", *["ModifyRule"] * 5, "UpdateService"]


@pytest.mark.parametrize("refused", ["UpdateService", "ModifyRule", "PutParameter", "PutMetricData"])
def test_what_is_refused_once_is_done_the_next_time(refused: str) -> None:
    minutes = fallen()
    aws = minutes.aws
    minutes.check(2)
    aws.healthy[GPU] = 1
    aws.refuses = {refused}
    with pytest.raises(CheckError, match="Rate exceeded"):
        minutes.check()
    if refused not in ("PutParameter", "PutMetricData"):
        assert "Rate exceeded" in aws.state["failed"]
    aws.refuses = set()
    minutes.check(2)
    assert (aws.weights[GPU], aws.desired["gpu"]) == (100, 2)
    assert aws.state["failed"] == ""


def test_gpu_replicas_stay_while_the_rule_cannot_be_written() -> None:
    minutes = fallen()
    aws = minutes.aws
    minutes.check(3)
    aws.healthy[GPU] = 2
    minutes.check()
    aws.healthy[NEURON] = 2
    aws.refuses = {"ModifyRule"}
    for _ in range(20):
        with pytest.raises(CheckError):
            minutes.check(5)
    assert (aws.weights[GPU], aws.desired["gpu"]) == (100, 2)


@pytest.mark.parametrize("refused", ["DescribeScalingActivities", "GetMetricData", "DescribeScalableTargets"])
def test_a_check_does_without(refused: str) -> None:
    minutes = fallen()
    minutes.aws.refuses = {refused}
    minutes.check(3)
    assert minutes.aws.desired["gpu"] == 2


@pytest.mark.parametrize(
    "refused", ["GetParameters", "DescribeRules", "DescribeTargetHealth", "DescribeServices"]
)
def test_without_these_nothing_is_decided_and_nothing_written(refused: str) -> None:
    minutes = fallen()
    minutes.check(2)
    before = minutes.aws.state
    minutes.aws.refuses = {refused}
    with pytest.raises(ClientError):
        minutes.check()
    assert minutes.aws.writes == []
    assert minutes.aws.state == before


def test_a_rule_that_somebody_else_wrote_meanwhile_is_left_to_the_next_check() -> None:
    minutes = fallen()
    aws = minutes.aws
    minutes.check(3)
    aws.healthy[GPU] = 1
    aws.written_meanwhile = {NEURON: 50, GPU: 50}
    minutes.check()
    assert aws.weights == {NEURON: 50, GPU: 50}
    minutes.check()
    assert aws.weights == {NEURON: 0, GPU: 100}


def test_an_override_is_read_obeyed_shown_and_ends() -> None:
    minutes = Minutes(FleetAws())
    aws = minutes.aws
    minutes.check()
    until = "2027-01-15T08:10:00Z"
    aws.parameters[ACCOUNT_VARIABLES["NEURONKIT_OVERRIDE_PARAMETER"]] = json.dumps(
        {"mode": "gpu", "until": until}
    )
    minutes.check()
    aws.healthy[GPU] = aws.desired["gpu"]
    state = minutes.check()
    assert aws.weights == {NEURON: 0, GPU: 100}
    assert state["override"] == {"mode": "gpu", "until": until}
    state = minutes.check(8)
    assert state["override"] is None
    assert aws.weights[NEURON] > 0


def test_stalled_engines_move_requests_though_every_target_is_healthy() -> None:
    minutes = Minutes(FleetAws(healthy={NEURON: 2, GPU: 1}))
    minutes.aws.metric_values = {"neuron_progress": [0.0]}
    state = minutes.check(3)
    assert minutes.aws.weights[GPU] == 100
    assert "no progress" in state["words"]


def test_many_slices_are_read_in_several_calls() -> None:
    names = [f"neuron-{number}" for number in range(12)]
    aws = FleetAws(desired={**dict.fromkeys(names, 1), "gpu": 0})
    aws.describe_scalable_targets = lambda **_: {"ScalableTargets": []}  # type: ignore[method-assign]
    state = Minutes(aws, NEURONKIT_NEURON_SERVICES=",".join(names)).check()
    assert state["sides"]["neuron"]["desired"] == 12


def test_the_longest_state_fits_a_parameter() -> None:
    lost = Side(healthy=9, desired=1000, running=9, pending=991, refused="n" * 160, stalled=9)
    switches = tuple(START - number for number in range(REMEMBERED_SWITCHES))
    for settings in (OVERFLOW, replace(MODEL, model_reason="m" * 2000)):
        seen = Observation(lost, lost, Weights(33, 67), Override("gpu", START + 999_999))
        decision = decide(settings, seen, Memory(neuron="-" * 12, gpu="-" * 12, switches=switches), START)
        state = state_document(settings, seen, decision, ["f" * 3000], START)
        assert len(json.dumps(state, separators=(",", ":"))) < PARAMETER_BYTES
