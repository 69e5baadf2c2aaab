"""Each state and what is done in it: for a request, and for the check of the schedule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from waker.activity import Activity, Minute
from waker.decisions import (
    Phase,
    RecordWake,
    RequestPlan,
    SetNodes,
    SetServices,
    SetState,
    Settings,
    SetWeights,
    Situation,
    State,
    View,
    Wake,
    Weights,
    on_request,
    on_tick,
)

NOW = 100_000.0
SETTINGS = Settings(
    environment="pilot",
    fleet="chat",
    model="m",
    idle_seconds=600,
    hold_seconds=0,
    start_low_seconds=100,
    start_high_seconds=900,
    nodes_at_wake=1,
    wake_paths=("/v1/",),
)
AT_WAKER, AT_ENGINE, AT_GPU = Weights(0, 0, 100), Weights(100, 0, 0), Weights(0, 100, 0)


def minutes(busy: float = 0, scrapes: float = 4, count: int = 20) -> tuple[Minute, ...]:
    end = NOW // 60 * 60
    return tuple(Minute(end - 60 * n, busy, scrapes) for n in range(count, -1, -1))


QUIET = Activity(0, minutes())
ON = State(Phase.ON, 3, NOW - 5000)
FALLING = State(Phase.FALLING, 4, NOW - 400)
ENDING = replace(FALLING, phase=Phase.ENDING)
RETURNING = replace(FALLING, phase=Phase.RETURNING)
OFF = State(Phase.OFF, 4, NOW - 400)
OLD, ASKED = Wake(3, NOW - 5000), Wake(4, NOW - 20)


def view(**changes: Any) -> View:
    """Awake, idle for long."""
    base = View(
        now=NOW,
        state=ON,
        wake=OLD,
        desired=(1,),
        running=(1,),
        deploying=False,
        healthy=1,
        weights=AT_ENGINE,
        override="auto",
        nodes_limit=4,
        group_desired=1,
        refused=None,
        activity=QUIET,
    )
    return replace(base, **changes)


ASLEEP: dict[str, Any] = {
    "state": OFF,
    "desired": (0,),
    "running": (0,),
    "healthy": 0,
    "weights": AT_WAKER,
    "group_desired": 0,
}
STARTING: dict[str, Any] = {"wake": Wake(3, NOW - 60), "running": (0,), "healthy": 0, "weights": AT_WAKER}
FELL: dict[str, Any] = {"state": FALLING, "weights": AT_WAKER}
ENDS: dict[str, Any] = {"state": ENDING, "weights": AT_WAKER}
RETURNS: dict[str, Any] = {"state": RETURNING, "weights": AT_WAKER, "wake": ASKED}


def kinds(actions: tuple[object, ...]) -> list[str]:
    return [type(action).__name__ for action in actions]


@pytest.mark.parametrize(
    ("changes", "does", "situation"),
    [
        (ASLEEP, ["RecordWake"], None),
        ({**ASLEEP, "wake": ASKED}, ["SetNodes", "SetServices"], Situation.STARTING),
        ({**ASLEEP, "wake": ASKED, "group_desired": 1}, ["SetServices"], Situation.STARTING),
        ({**ASLEEP, "wake": ASKED, "group_desired": None}, ["SetServices"], Situation.STARTING),
        (
            {**ASLEEP, "wake": ASKED, "desired": (1, 0), "group_desired": 1},
            ["SetServices"],
            Situation.STARTING,
        ),
        ({**ASLEEP, "state": ON}, ["SetNodes", "SetServices"], Situation.STARTING),
        ({**ASLEEP, "nodes_limit": 0}, [], Situation.ELSEWHERE),
        ({**ASLEEP, "override": "gpu"}, [], Situation.OVERRIDDEN),
        ({**ASLEEP, "override": "neuron"}, ["RecordWake"], None),
        (STARTING, [], Situation.STARTING),
        ({**STARTING, "refused": "no capacity"}, [], Situation.REFUSED),
        ({**STARTING, "healthy": 1}, ["RecordWake", "SetWeights"], Situation.AWAKE),
        ({}, [], Situation.AWAKE),
        (FELL, ["RecordWake"], None),
        ({**FELL, "wake": ASKED}, ["RecordWake", "SetWeights"], Situation.AWAKE),
        (ENDS, ["RecordWake"], None),
        ({**ENDS, "wake": ASKED}, [], Situation.ENDING),
        (RETURNS, [], Situation.ENDING),
        ({**RETURNS, "wake": OLD}, ["RecordWake"], None),
    ],
)
def test_a_request(changes: dict[str, Any], does: list[str], situation: Situation | None) -> None:
    plan = on_request(view(**changes), SETTINGS)
    assert (kinds(plan.actions), plan.situation) == (does, situation)


def test_a_wake_starts_one_node_and_no_second_one() -> None:
    plan = on_request(view(**ASLEEP, wake=ASKED), SETTINGS)
    assert plan == RequestPlan((SetNodes(1), SetServices(1)), Situation.STARTING)


def test_a_wake_stays_within_what_the_fleet_may_have() -> None:
    settings = replace(SETTINGS, nodes_at_wake=3)
    plan = on_request(view(**{**ASLEEP, "nodes_limit": 2}, wake=ASKED), settings)
    assert plan.actions == (SetNodes(2), SetServices(2))


def test_a_request_ends_the_fall_that_it_saw() -> None:
    assert on_request(view(**ASLEEP), SETTINGS).actions == (RecordWake(Wake(4, NOW)),)


LATE = Minute(NOW // 60 * 60 - 180, 0, 4)
YOUNG = Activity(0, (Minute(NOW // 60 * 60 - 60, 0, 4),))


@pytest.mark.parametrize(
    ("changes", "does", "phase"),
    [
        ({}, ["SetState", "SetWeights"], Phase.FALLING),
        ({"activity": Activity(1, minutes())}, [], None),
        ({"activity": Activity(0, minutes(busy=1))}, [], None),
        ({"activity": Activity(0, minutes(scrapes=2))}, [], None),
        ({"activity": Activity(0, ())}, [], None),
        ({"activity": YOUNG}, [], None),
        ({"running": (1, 1), "desired": (1, 1)}, [], None),
        ({"running": (1, 1), "desired": (1, 1), "activity": Activity(0, minutes(scrapes=8))}, ["SetState", "SetWeights"], Phase.FALLING),
        ({"state": replace(ON, since=NOW - 599)}, [], None),
        ({"wake": replace(OLD, at=NOW - 599)}, [], None),
        ({"deploying": True}, [], None),
        ({"override": "neuron"}, [], None),
        ({"override": "gpu"}, [], None),
        ({"weights": AT_GPU}, [], None),
        ({"weights": AT_WAKER}, ["SetWeights", "SetState"], Phase.ON),
        ({"weights": AT_WAKER, "override": "gpu"}, [], None),
        ({"desired": (0,), "healthy": 0}, ["SetState", "SetWeights"], Phase.OFF),
        ({"desired": (0,), "healthy": 0, "weights": AT_GPU}, ["SetState"], Phase.OFF),
        ({"healthy": 0, "state": replace(ON, since=NOW - 1499)}, [], None),
        ({"healthy": 0, "state": replace(ON, since=NOW - 1500)}, ["SetState", "SetWeights"], Phase.FALLING),
        (FELL, ["SetState"], Phase.ENDING),
        ({**FELL, "activity": Activity(0, minutes(busy=2))}, [], None),
        ({**FELL, "activity": Activity(0, ())}, [], None),
        ({**FELL, "activity": Activity(0, ()), "healthy": 0}, ["SetState"], Phase.ENDING),
        ({**FELL, "activity": Activity(0, ()), "healthy": 0, "state": replace(FALLING, since=NOW - 239)}, [], None),
        ({**FELL, "activity": Activity(1, ()), "healthy": 0}, ["SetState"], Phase.ON),
        ({**FELL, "state": replace(FALLING, since=NOW - 100)}, [], None),
        ({**FELL, "state": replace(FALLING, since=NOW - 901), "activity": Activity(0, ())}, ["SetState", "SetWeights"], Phase.ON),
        ({**FELL, "wake": ASKED}, ["SetState", "SetWeights"], Phase.ON),
        ({**FELL, "deploying": True}, ["SetState", "SetWeights"], Phase.ON),
        ({**FELL, "override": "neuron"}, ["SetState", "SetWeights"], Phase.ON),
        ({**FELL, "weights": AT_ENGINE}, ["SetState"], Phase.ON),
        ({**FELL, "weights": AT_GPU}, ["SetState"], Phase.ON),
        ({**FELL, "desired": (0,)}, ["SetState"], Phase.ENDING),
        (ENDS, ["SetServices"], None),
        ({**ENDS, "wake": ASKED}, ["SetState"], Phase.RETURNING),
        ({**ENDS, "weights": AT_ENGINE}, ["SetState"], Phase.RETURNING),
        ({**ENDS, "desired": (0,)}, ["SetState"], Phase.OFF),
        ({**ENDS, "desired": (0,), "wake": ASKED}, ["SetState"], Phase.RETURNING),
        ({**RETURNS, "state": replace(RETURNING, since=NOW - 44)}, [], None),
        (RETURNS, ["SetState", "SetWeights"], Phase.ON),
        ({**RETURNS, "desired": (0,)}, ["SetServices", "SetState"], Phase.ON),
        ({**RETURNS, "desired": (0,), "nodes_limit": 0}, ["SetState"], Phase.OFF),
        ({**RETURNS, "desired": (0,), "wake": OLD}, ["SetState"], Phase.OFF),
        ({**ASLEEP, "wake": ASKED, "state": replace(OFF, since=NOW - 44)}, [], None),
        ({**ASLEEP, "desired": (1,), "state": replace(OFF, since=NOW - 44)}, [], None),
        (ASLEEP, [], None),
        ({**ASLEEP, "wake": ASKED}, ["SetNodes", "SetServices", "SetState"], Phase.ON),
        ({**ASLEEP, "wake": ASKED, "nodes_limit": 0}, [], None),
        ({**ASLEEP, "wake": ASKED, "override": "gpu"}, [], None),
        ({**ASLEEP, "desired": (1,)}, ["SetState"], Phase.ON),
        ({**ASLEEP, "weights": AT_ENGINE}, ["SetWeights"], None),
        ({**ASLEEP, "weights": AT_GPU}, [], None),
    ],
)  # fmt: skip
def test_a_check(changes: dict[str, Any], does: list[str], phase: Phase | None) -> None:
    plan = on_tick(view(**changes), SETTINGS)
    assert kinds(plan.actions) == does
    states = [action.state.phase for action in plan.actions if isinstance(action, SetState)]
    assert states == ([] if phase is None else [phase])
    assert plan.why


def test_requests_go_to_the_waker_before_anything_ends() -> None:
    plan = on_tick(view(), SETTINGS)
    assert plan.actions == (
        SetState(State(Phase.FALLING, 4, NOW)),
        SetWeights(AT_WAKER, AT_ENGINE),
    )


def test_ending_reads_again_before_and_after() -> None:
    assert on_tick(view(**FELL), SETTINGS).again
    assert on_tick(view(**ENDS), SETTINGS).again
    assert not on_tick(view(**{**ENDS, "desired": (0,)}), SETTINGS).again


def test_the_share_of_gpus_stays_when_requests_are_handed_over() -> None:
    plan = on_tick(view(weights=Weights(0, 30, 100)), SETTINGS)
    assert SetWeights(Weights(100, 30, 0), Weights(0, 30, 100)) in plan.actions


def test_missing_metrics_are_told() -> None:
    assert on_tick(view(activity=Activity(0, ())), SETTINGS).idle_unknown
    assert not on_tick(view(), SETTINGS).idle_unknown
