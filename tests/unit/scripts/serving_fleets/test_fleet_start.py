"""The first start: compile once, raise to the floor and never lower, wait with words and bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from scripts.serving_fleets.compile_task import STARTED_BY, compiled_key
from scripts.serving_fleets.fleet_start import Starts, floor_nodes, start_fleets
from stacks.domain import names
from stacks.domain.errors import WorldError
from tests.environments import plan_of
from tests.unit.domain.shift_cases import day
from tests.unit.scripts.serving_fleets.world import COMPILE, FALLBACK, FLEET, World, fleet_plan, stacks_of

COMPILES = {names.OUTPUT_COMPILE_TASK_DEFINITION: COMPILE, names.OUTPUT_COMPILE_CAPACITY_PROVIDER: "cp"}


def start(world: World, plan: Any = None, **outputs: str) -> None:
    plan = plan or fleet_plan()
    stacks = stacks_of(plan, **outputs)
    start_fleets(world, plan, stacks, world.said.append, world.pause).raise_failures()  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    return World()


def test_services_made_without_a_task_are_raised_to_the_minimum_in_nodes(world: World) -> None:
    world.on_pause = [lambda: world.event("s0", "(service s0) has started 1 tasks"), world.serve]
    start(world)
    assert world.calls == [("desired", "s0", 1), ("desired", "s1", 1)]
    assert "  ecs: (service s0) has started 1 tasks" in world.said


def test_what_scaling_has_set_is_never_lowered(world: World) -> None:
    for one in world.services.values():
        one["desiredCount"] = 2
    world.serve(2)
    start(world)
    assert world.calls == []


def test_a_start_that_was_interrupted_is_taken_up_where_it_was(world: World) -> None:
    world.services["s0"]["desiredCount"] = 1
    world.on_pause = [world.serve]
    start(world)
    assert world.calls == [("desired", "s1", 1)]


@pytest.mark.parametrize(
    ("changes", "nodes"),
    [
        ({}, 1),
        ({"replicas": {"minimum": 3, "maximum": 4, "per_node": 2}}, 2),
        ({"scale_to_zero": {}}, 0),
        ({"fallback": {**FALLBACK, "mode": "model"}}, 0),
        ({"fallback": FALLBACK}, 1),
    ],
)
def test_the_floor(changes: dict[str, Any], nodes: int) -> None:
    plan = fleet_plan(**changes)
    assert floor_nodes(plan, plan.fleet("chat")) == nodes


def test_a_fleet_that_may_sleep_is_left_as_it_is(world: World) -> None:
    start(world, fleet_plan(scale_to_zero={}))
    assert world.calls == []


def test_the_compile_task_comes_first_and_only_once(world: World) -> None:
    world.on_pause = [lambda: world.end_task(0), world.serve]
    start(world, **COMPILES)
    assert world.calls == [("run", COMPILE, "cp"), ("desired", "s0", 1), ("desired", "s1", 1)]
    assert world.objects == {compiled_key("chat"): COMPILE.encode()}
    world.calls.clear()
    start(world, **COMPILES)
    assert world.calls == []


def test_on_the_local_cloud_a_compile_task_compiles_nothing_and_says_so(world: World) -> None:
    world.is_local = True
    world.on_pause = [lambda: world.end_task(0), world.serve]
    start(world, **COMPILES)
    assert [call[0] for call in world.calls] == ["run", "desired", "desired"]
    assert any("nothing is compiled" in words for words in world.said)


def test_commands_at_the_same_time_ask_with_one_token_and_later_ones_with_another(world: World) -> None:
    other = World()
    for one in (world, other):
        one.on_pause = [partial(one.end_task, 1)]
        with pytest.raises(WorldError):
            start(one, **COMPILES)
    assert world.tokens == other.tokens
    world.on_pause = [lambda: world.end_task(0), world.serve]
    start(world, **COMPILES)
    assert len(set(world.tokens)) == 2


def test_what_ended_well_while_nobody_looked_is_not_compiled_again(world: World) -> None:
    world.tasks["arn:task/x"] = {
        "taskArn": "arn:task/x",
        "taskDefinitionArn": COMPILE,
        "startedBy": STARTED_BY,
    }
    world.end_task(0)
    world.on_pause = [world.serve]
    start(world, **COMPILES)
    assert [call[0] for call in world.calls] == ["desired", "desired"]
    assert world.objects == {compiled_key("chat"): COMPILE.encode()}


def test_a_task_of_an_older_deploy_is_stopped_and_not_joined(world: World) -> None:
    world.tasks["arn:task/old"] = {
        "taskArn": "arn:task/old",
        "taskDefinitionArn": COMPILE.replace(":3", ":2"),
        "lastStatus": "RUNNING",
        "startedBy": STARTED_BY,
    }
    world.on_pause = [lambda: world.end_task(0), world.serve]
    start(world, **COMPILES)
    assert world.calls[:2] == [("stop", "arn:task/old"), ("run", COMPILE, "cp")]
    assert any("compile task old of an older deploy is stopped" in words for words in world.said)


def test_a_task_that_somebody_else_started_is_left_alone(world: World) -> None:
    world.tasks["arn:task/x"] = {
        "taskArn": "arn:task/x",
        "taskDefinitionArn": COMPILE,
        "lastStatus": "RUNNING",
    }
    world.on_pause = [lambda: world.end_task(0), world.serve]
    start(world, **COMPILES)
    assert [call[0] for call in world.calls][:1] == ["run"]


def test_a_task_that_gets_no_node_says_what_ec2_answers(world: World) -> None:
    world.activities = [{"StatusCode": "Failed", "StatusMessage": "InsufficientInstanceCapacity: none"}]

    def wait_for_a_node() -> None:
        for task in world.tasks.values():
            task["lastStatus"] = "PROVISIONING"

    def give_up() -> None:
        world.end_task(None, "EMPTY CAPACITY PROVIDER")
        for task in world.tasks.values():
            task["stopCode"] = "TaskFailedToStart"

    world.on_pause = [wait_for_a_node, give_up]
    with pytest.raises(WorldError) as caught:
        start(world, **COMPILES)
    refused = "EC2 started no node: InsufficientInstanceCapacity: none"
    assert any("PROVISIONING" in words and refused in words for words in world.said)
    assert "EMPTY CAPACITY PROVIDER" in caught.value.message
    assert refused in caught.value.message


def test_another_task_definition_is_compiled_for_again(world: World) -> None:
    world.objects[compiled_key("chat")] = b"another"
    world.on_pause = [lambda: world.end_task(0), world.serve]
    start(world, **COMPILES)
    assert world.calls[0][0] == "run"


def test_a_running_compile_task_is_joined(world: World) -> None:
    world.tasks["arn:task/x"] = {
        "taskArn": "arn:task/x",
        "taskDefinitionArn": COMPILE,
        "lastStatus": "RUNNING",
        "startedBy": STARTED_BY,
    }
    world.on_pause = [lambda: world.end_task(0), world.serve]
    start(world, **COMPILES)
    assert not [call for call in world.calls if call[0] == "run"]
    assert any("joined compile task x" in words for words in world.said)


@pytest.mark.parametrize(
    ("code", "words"), [(1, "exit codes 1"), (None, "exit codes none; EssentialContainerExited; no device")]
)
def test_a_failed_compile_starts_nothing(world: World, code: int | None, words: str) -> None:
    world.on_pause = [lambda: world.end_task(code, "no device" if code is None else "")]
    with pytest.raises(WorldError) as caught:
        start(world, **COMPILES)
    assert words in caught.value.message
    assert "/pilot/chat" in caught.value.hint
    assert [call[0] for call in world.calls] == ["run"]
    assert world.objects == {}


def test_a_running_compile_task_is_joined_though_replicas_hold_every_node(world: World) -> None:
    """A waker may have asked for them meanwhile: nothing is started beside the task, and its end is waited for."""
    world.tasks["arn:task/x"] = {
        "taskArn": "arn:task/x",
        "taskDefinitionArn": COMPILE,
        "lastStatus": "RUNNING",
        "startedBy": STARTED_BY,
    }
    for one in world.services.values():
        one["desiredCount"] = 2
    world.on_pause = [lambda: world.end_task(0), lambda: world.serve(2)]
    start(world, **COMPILES)
    assert world.calls == []
    assert world.objects == {compiled_key("chat"): COMPILE.encode()}


def test_where_replicas_hold_every_node_nothing_is_compiled_beforehand_and_that_is_said(world: World) -> None:
    world.tasks["arn:task/old"] = {
        "taskArn": "arn:task/old",
        "taskDefinitionArn": COMPILE.replace(":3", ":2"),
        "lastStatus": "RUNNING",
        "startedBy": STARTED_BY,
    }
    for one in world.services.values():
        one["desiredCount"] = 2
    world.serve(2)
    start(world, **COMPILES)
    assert world.calls == [("stop", "arn:task/old")], "what would hold a replica's node"
    assert world.objects == {}
    assert any("replicas hold all 2 nodes: nothing is compiled beforehand" in words for words in world.said)


TWO = {"fleets.chat": FLEET, "fleets.more": FLEET}


def of_two(world: World, **outputs: str) -> Starts:
    """Both fleets have the same outputs, but only `chat` compiles."""
    plan = plan_of(TWO)
    stacks = stacks_of(plan)
    chat, more = plan.stacks.of_fleet("chat"), plan.stacks.of_fleet("more")
    stacks[more] = replace(stacks[more], outputs=dict(stacks[chat].outputs))
    stacks[chat].outputs.update(outputs)
    return start_fleets(world, plan, stacks, world.said.append, world.pause)  # type: ignore[arg-type]


def test_a_fleet_that_fails_stops_no_other(world: World) -> None:
    world.on_pause = [lambda: world.end_task(1), world.serve]
    starts = of_two(world, **COMPILES)
    assert starts.started == ("more",)
    assert any("of fleet chat failed: exit codes 1" in words for words in world.said)
    with pytest.raises(WorldError, match="of fleet chat failed"):
        starts.raise_failures()


def test_of_fleets_that_fail_all_is_said(world: World) -> None:
    del world.services["s1"]
    starts = of_two(world)
    assert starts.started == ()
    with pytest.raises(WorldError) as caught:
        starts.raise_failures()
    assert [line[:10] for line in caught.value.message.splitlines()] == ["fleet chat", "fleet more"]
    assert caught.value.hint == "somebody deleted the others: `neuronkit destroy` and deploy again"


def test_a_compile_that_never_ends_is_left_running(world: World) -> None:
    with pytest.raises(WorldError, match="is still PENDING after 240 minutes"):
        start(world, **COMPILES)
    assert any("(1 min)" in words for words in world.said)


def test_a_deployment_that_ecs_gave_up_ends_the_wait_at_once(world: World) -> None:
    def give_up() -> None:
        world.services["s1"]["deployments"][0] |= {
            "rolloutState": "FAILED",
            "rolloutStateReason": "tasks failed to start",
        }

    world.on_pause = [give_up]
    with pytest.raises(WorldError) as caught:
        start(world)
    assert "s1: tasks failed to start" in caught.value.message


def test_a_fleet_that_does_not_come_up_says_why_in_ec2s_words(world: World) -> None:
    world.activities = [
        {
            "StatusCode": "Failed",
            "StatusMessage": "We currently do not have sufficient inf2.24xlarge capacity",
        }
    ]
    world.event("s0", "(service s0) was unable to place a task")
    with pytest.raises(WorldError) as caught:
        start(world)
    assert (
        "EC2 started no node: We currently do not have sufficient inf2.24xlarge capacity"
        in caught.value.message
    )
    assert "unable to place a task" in caught.value.message
    assert "targets: none" in caught.value.message


def test_running_is_not_serving(world: World) -> None:
    def run_only() -> None:
        world.serve()
        world.health = {group: ["unhealthy"] * 2 for group in world.health}

    world.on_pause = [run_only]
    with pytest.raises(WorldError, match="2 unhealthy"):
        start(world)


def test_a_service_that_somebody_deleted_is_said(world: World) -> None:
    del world.services["s1"]
    with pytest.raises(WorldError, match="1 of its 2 services"):
        start(world)


def test_a_stack_of_an_older_kit_is_said(world: World) -> None:
    plan = fleet_plan()
    stacks = stacks_of(plan)
    stacks[plan.stacks.of_fleet("chat")].outputs.clear()
    with pytest.raises(WorldError, match="has no outputs"):
        start_fleets(world, plan, stacks, world.said.append, world.pause)  # type: ignore[arg-type]


def test_a_fleet_in_a_shift_has_the_shifts_floor() -> None:
    plan = plan_of({**day(replicas_floor=1), "fleets.chat.replicas": {"minimum": 3, "maximum": 4}})
    assert floor_nodes(plan, plan.fleet("chat")) == plan.shifts[0].nodes_floor
