"""The executor against a Slurm cluster in memory: what takes minutes, conflicts, CloudFormation stuck on a node group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from scripts.aws import pcs
from scripts.aws.cloudformation import Stack, StackResource
from scripts.aws.translation import AwsError
from scripts.teardown import executor
from scripts.teardown.executor import Executor, Outcome
from scripts.teardown.model import Inventory, Item, StackItem, Target
from scripts.teardown.removal import SlowRemoval, Standing
from stacks.domain.names import stack_names

CLUSTER = "pilot-cluster-train"
TARGET = Target("pilot", stack_names("pilot", ("train",)), "CDKToolkit", (), uses_slurm=True)
LOOKS_UNTIL_GONE = 4


class Killed(BaseException):
    """As a SIGKILL: nobody handles it."""


@dataclass
class World:
    """A stack that cannot delete its node group, which PCS can once it is asked."""

    stack: str | None = "CREATE_COMPLETE"
    group: str | None = "ACTIVE"
    stuck: bool = True
    log: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    conflicts: int = 0
    fails: bool = False
    killed_at: int | None = None
    _looks: int = 0

    def take_inventory(self, cloud: Any, target: Target) -> Inventory:
        stacks = (StackItem(CLUSTER, CLUSTER, self.stack),) if self.stack else ()
        is_loose = self.group and (self.stack == "DELETE_FAILED" or not self.stack)
        loose = (Item(pcs.NODE_GROUP, "c/g", "trn2-us0", self.group or ""),) if is_loose else ()
        return Inventory(stacks=stacks, loose=loose)

    def delete_stack(self, cloud: Any, stack_id: str) -> None:
        self._do("delete stack")
        self.stack = "DELETE_FAILED" if self.stuck and self.group else None

    def find_stack(self, cloud: Any, stack_id: str) -> Stack | None:
        return Stack(CLUSTER, CLUSTER, self.stack, "", {}, {}, False) if self.stack else None

    def resources(self, cloud: Any, stack_id: str) -> tuple[StackResource, ...]:
        return ()

    def begin(self, cloud: Any, id_: str) -> None:
        assert id_ == "c/g"
        if self.conflicts:
            self.conflicts -= 1
            raise AwsError("a queue is being deleted", code="ConflictException")
        self._do("delete group")
        self.group = "DELETE_FAILED" if self.fails else "DELETING"

    def look(self, cloud: Any, id_: str) -> Standing | None:
        self._looks += 1
        if self.group == "DELETING" and self._looks % LOOKS_UNTIL_GONE == 0:
            self.group = None
        if self.group is None:
            return None
        failed = self.group == "DELETE_FAILED"
        return Standing(
            self.group, self.group == "DELETING", failed, "InternalError: try later" if failed else ""
        )

    def _do(self, what: str) -> None:
        self.log.append(what)
        if len(self.log) == self.killed_at:
            raise Killed


class FakeCloud:
    poll_seconds = 31.0


def install(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setattr(executor, "take_inventory", world.take_inventory)
    monkeypatch.setattr(executor, "cloudformation", world)
    monkeypatch.setattr(world, "Stack", Stack, raising=False)
    monkeypatch.setattr(executor, "SLOW", {pcs.NODE_GROUP: SlowRemoval(world.begin, world.look)})
    monkeypatch.setattr(executor, "explain_stack", lambda cloud, stack: "stuck on trn2-us0")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    install(monkeypatch, made)
    return made


def run(world: World) -> Outcome:
    work = Executor(FakeCloud(), TARGET, world.said.append, pause=lambda seconds: None)  # type: ignore[arg-type]
    return work.run(world.take_inventory(None, TARGET))


STUCK = ["delete stack", "delete group", "delete stack"]


def test_a_group_that_cloudformation_is_stuck_on_goes_through_pcs_and_then_the_stack_goes(
    world: World,
) -> None:
    outcome = run(world)
    assert world.log == STUCK
    assert outcome.inventory.is_empty
    assert outcome.failures == {}
    assert any("(1 min): DELETING" in line for line in world.said), world.said


@pytest.mark.parametrize("step", range(1, len(STUCK) + 1))
def test_killed_after_any_change_the_same_command_finishes(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    world = World(killed_at=step)
    install(monkeypatch, world)
    with pytest.raises(Killed):
        run(world)
    world.killed_at = None
    assert run(world).inventory.is_empty


@pytest.mark.parametrize("status", ["CREATING", "UPDATING", "SUSPENDING"])
def test_what_pcs_is_busy_with_is_waited_for_and_then_deleted(world: World, status: str) -> None:
    world.stack, world.group = None, status
    original = world.look

    def look(cloud: Any, id_: str) -> Standing | None:
        if world.group == status:
            world.group = "ACTIVE"
            return Standing(status, is_busy=True, has_failed=False)
        return original(cloud, id_)

    executor.SLOW = {pcs.NODE_GROUP: SlowRemoval(world.begin, look)}  # type: ignore[attr-defined]
    assert run(world).inventory.is_empty
    assert world.log == ["delete group"]


def test_a_conflict_is_tried_again_for_some_minutes(world: World) -> None:
    world.stack, world.conflicts = None, 5
    assert run(world).inventory.is_empty


def test_a_conflict_that_stays_is_told(world: World) -> None:
    world.stack, world.conflicts = None, 10_000
    outcome = run(world)
    assert outcome.failures == {(pcs.NODE_GROUP, "c/g"): "a queue is being deleted"}


def test_why_pcs_could_not_delete_is_told(world: World) -> None:
    world.stack, world.fails = None, True
    outcome = run(world)
    assert outcome.failures == {(pcs.NODE_GROUP, "c/g"): "DELETE_FAILED InternalError: try later"}


def test_a_deletion_that_never_ends_ends_the_waiting_with_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "WAIT_MINUTES_MAX", 2)
    monkeypatch.setattr(world, "look", lambda cloud, id_: Standing("DELETING", True, False))
    world.stack = None
    monkeypatch.setattr(executor, "SLOW", {pcs.NODE_GROUP: SlowRemoval(world.begin, world.look)})
    outcome = run(world)
    assert "still busy after 2 minutes" in outcome.failures[pcs.NODE_GROUP, "c/g"]
