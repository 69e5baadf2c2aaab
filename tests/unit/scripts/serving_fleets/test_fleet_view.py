"""How a fleet is, in words and as a document."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from scripts.serving_fleets.fleet_view import FleetStatus, look_at_fleet
from stacks.domain import names
from tests.unit.scripts.serving_fleets.world import FALLBACK, GPU, NEURON, WAKER, World, fleet_plan, stacks_of

WITH_GPU = {
    names.OUTPUT_GPU_SERVICE: "gpu",
    names.OUTPUT_GPU_TARGET_GROUP: GPU,
    names.OUTPUT_WAKER_TARGET_GROUP: WAKER,
    names.OUTPUT_FALLBACK_PARAMETER: names.fallback_parameter("pilot", "chat"),
}
PLAN = fleet_plan(fallback=FALLBACK)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def look(world: World) -> FleetStatus:
    stack = stacks_of(PLAN, **WITH_GPU)[PLAN.stacks.of_fleet("chat")]
    return look_at_fleet(world, "pilot", PLAN.fleet("chat"), stack, NOW)  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    made = World()
    made.services["s0"]["desiredCount"] = made.services["s1"]["desiredCount"] = 1
    return made


def test_a_fleet_that_serves(world: World) -> None:
    world.serve()
    world.group["Instances"] = [{"LifecycleState": "InService"}]
    status = look(world)
    assert status.state == "serving"
    assert status.why == ()
    assert status.weights == {"neuron": 100, "gpu": 0, "waker": 0}
    text = "\n".join(status.lines())
    assert "fleet    chat: serving, http://lb.internal" in text
    assert "service s0 (neuron): 1 of 1 tasks run" in text
    assert "neuron nodes: 1 in service, 1 wanted, 2 at most" in text
    assert "neuron targets: 2 healthy" in text
    assert "requests go to neuron 100 %" in text
    json.dumps(status.as_dict())


def asleep(world: World) -> None:
    for one in world.services.values():
        one["desiredCount"] = 0
    world.weights = {NEURON: 0, GPU: 0, WAKER: 100}


def nothing(world: World) -> None:
    for one in world.services.values():
        one["desiredCount"] = 0


def on_gpu(world: World) -> None:
    world.health[GPU] = ["healthy"]


def gave_up(world: World) -> None:
    for one in world.services.values():
        one["deployments"] = [
            {"status": "PRIMARY", "rolloutState": "FAILED", "rolloutStateReason": "circuit breaker"}
        ]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (asleep, "asleep"),
        (nothing, "nothing serves"),
        (on_gpu, "partly serving"),
        (gave_up, "nothing serves"),
        (lambda _: None, "starting"),
    ],
)
def test_states(world: World, change: Any, state: str) -> None:
    change(world)
    assert look(world).state == state


def test_why_nothing_starts_is_said_in_ecs_and_ec2s_words(world: World) -> None:
    world.event(
        "s0",
        "(service s0) was unable to place a task because no container instance met all of its requirements",
    )
    world.activities = [{"StatusCode": "Failed", "StatusMessage": "VcpuLimitExceeded"}]
    world.health[NEURON] = ["unhealthy"]
    why = look(world).why
    assert any("unable to place a task" in words for words in why)
    assert "neuron target: is unhealthy" in why
    assert "EC2 started no neuron node: VcpuLimitExceeded" in why


def test_the_fallback_is_visible(world: World) -> None:
    world.weights = {NEURON: 25, GPU: 75, WAKER: 0}
    world.parameters = {
        names.fallback_parameter("pilot", "chat"): {
            "mode": "gpu",
            "until": "2026-12-01T00:00:00Z",
            "reason": "driver update",
        },
        names.fallback_state_parameter("pilot", "chat"): {
            "checked_at": "now",
            "words": "75 % to GPU: no capacity",
            "memory": {"x": 1},
        },
    }
    status = look(world)
    text = "\n".join(status.lines())
    assert "requests go to neuron 25 %, gpu 75 %" in text
    assert "override: gpu until 2026-12-01T00:00:00Z (driver update)" in text
    assert "fallback controller, now: 75 % to GPU: no capacity" in text
    assert "memory" not in (status.controller or {})


@pytest.mark.parametrize(
    ("checked_at", "is_silent"),
    [
        ("2026-11-30T11:59:01Z", False),
        ("2026-11-30T11:55:00Z", False),
        ("2026-11-30T11:54:59Z", True),
        ("2026-11-29T12:00:00Z", True),
        ("2026-11-30T11:00:00", False),
        ("garbled", False),
        (7, False),
    ],
)
def test_a_silent_fallback_controller_is_said(world: World, checked_at: object, is_silent: bool) -> None:
    world.parameters = {
        names.fallback_state_parameter("pilot", "chat"): {"checked_at": checked_at, "words": "-"}
    }
    assert any("controller is silent" in words for words in look(world).why) == is_silent


def test_what_the_fallback_controller_was_refused_is_said(world: World) -> None:
    state = {"checked_at": "2026-11-30T11:59:01Z", "words": "-", "failed": "weights: AccessDenied"}
    world.parameters = {names.fallback_state_parameter("pilot", "chat"): state}
    assert (
        "the fallback controller's last check was refused something: weights: AccessDenied" in look(world).why
    )


def test_a_refused_question_is_said_and_the_others_are_answered(world: World) -> None:
    world.serve()
    world.refused = {"describe_rules": "AccessDenied", "describe_auto_scaling_groups": "AccessDenied"}
    status = look(world)
    assert status.state == "serving"
    assert status.weights is None
    assert any(words.startswith("the listener's weights: could not be asked") for words in status.why)


def test_garbage_in_a_parameter_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts.aws import ssm

    monkeypatch.setattr(ssm, "find_parameter", lambda *_: "{not json")
    assert "is not JSON" in "\n".join(look(world).why)


def test_without_a_stack_it_is_not_deployed(world: World) -> None:
    status = look_at_fleet(world, "pilot", PLAN.fleet("chat"), None, NOW)  # type: ignore[arg-type]
    assert status.lines() == ["fleet    chat: not deployed"]
