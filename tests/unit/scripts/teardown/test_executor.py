"""The executor against a world in memory: order, errors, retries, waiting, and being killed anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from scripts.aws.cloudformation import Stack
from scripts.aws.translation import AccessDeniedError, AwsError, CredentialsError
from scripts.teardown import executor
from scripts.teardown.executor import ATTEMPTS_MAX, Executor, Outcome
from scripts.teardown.model import Inventory, Item, JobItem, StackItem, Target
from stacks.domain.names import stack_names

TARGET = Target("pilot", stack_names("pilot", ("train",)), "CDKToolkit", ())
CLUSTER, STORAGE, NETWORK = "pilot-cluster-train", "pilot-storage", "pilot-network"


class Killed(BaseException):
    """As a SIGKILL: nobody handles it."""


@dataclass
class World:
    """What AWS would have. A deletion of a stack takes one look to be over; the bucket outlives its stack."""

    stacks: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys((NETWORK, STORAGE, CLUSTER), "CREATE_COMPLETE")
    )
    jobs: set[str] = field(default_factory=lambda: {"smoke-1"})
    loose: dict[str, Item] = field(default_factory=dict)
    bucket: bool = True
    log: list[str] = field(default_factory=list)
    refuses: Callable[[str], Exception | None] = lambda call: None
    killed_at: int | None = None
    fails_to_delete: set[str] = field(default_factory=set)

    # --- what the executor calls ---

    def take_inventory(self, cloud: Any, target: Target) -> Inventory:
        loose = list(self.loose.values())
        if self.bucket and STORAGE not in self.stacks:
            loose.append(Item("bucket", "b"))
        return Inventory(
            stacks=tuple(StackItem(name, name, status) for name, status in self.stacks.items()),
            jobs=tuple(JobItem(name, name, "RUNNING") for name in sorted(self.jobs)),
            loose=tuple(loose),
        )

    def terminate_job(self, cloud: Any, job_id: str, reason: str) -> None:
        self._change(f"stop {job_id}")
        self.jobs.discard(job_id)

    def find_job(self, cloud: Any, job_id: str) -> None:
        assert job_id not in self.jobs

    def delete_stack(self, cloud: Any, stack_id: str) -> None:
        self._change(f"delete {stack_id}")
        others = set(self.stacks) - {stack_id}
        uses_it = stack_id != CLUSTER and CLUSTER in others
        blocked = stack_id == NETWORK and any(i.kind == "network interface" for i in self.loose.values())
        in_the_way = uses_it or blocked or stack_id in self.fails_to_delete
        self.stacks[stack_id] = "DELETE_FAILED" if in_the_way else "DELETE_IN_PROGRESS"

    def find_stack(self, cloud: Any, stack_id: str) -> Stack | None:
        status = self.stacks.get(stack_id)
        if status is None:
            return None
        if status == "DELETE_IN_PROGRESS":
            del self.stacks[stack_id]
        elif status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
            self.stacks[stack_id] = status.replace("_IN_PROGRESS", "_COMPLETE")
        return Stack(stack_id, stack_id, status, "", {}, {}, False)

    def delete(self, cloud: Any, kind: str, id_: str) -> None:
        self._change(f"delete {id_}")
        del self.loose[id_]

    def empty_and_delete(self, cloud: Any, bucket: str, on_progress: Callable[[int], None]) -> None:
        self._change("empty the bucket")
        self._change("delete the bucket")
        self.bucket = False

    def _change(self, what: str) -> None:
        """A call can be refused, or be the last thing that the process does."""
        error = self.refuses(what)
        if error is not None:
            raise error
        self.log.append(what)
        if self.killed_at is not None and len(self.log) == self.killed_at:
            raise Killed

    @property
    def is_empty(self) -> bool:
        return self.take_inventory(None, TARGET).is_empty


class FakeCloud:
    poll_seconds = 1.0


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    install(monkeypatch, made)
    return made


def install(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setattr(executor, "take_inventory", world.take_inventory)
    monkeypatch.setattr(executor, "batch", world)
    monkeypatch.setattr(executor, "cloudformation", world)
    monkeypatch.setattr(executor, "ec2", world)
    monkeypatch.setattr(executor, "s3", world)
    monkeypatch.setattr(
        executor, "explain_stack", lambda cloud, stack: f"{stack.name} is in the way of itself"
    )
    monkeypatch.setattr(executor.cloudformation, "Stack", Stack, raising=False)


def run(world: World) -> Outcome:
    work = Executor(FakeCloud(), TARGET, lambda text: None, pause=lambda seconds: None)  # type: ignore[arg-type]
    return work.run(world.take_inventory(None, TARGET))


ALL = [
    "stop smoke-1",
    f"delete {CLUSTER}",
    f"delete {STORAGE}",
    f"delete {NETWORK}",
    "empty the bucket",
    "delete the bucket",
]


def test_everything_goes_in_order(world: World) -> None:
    outcome = run(world)
    assert world.log == ALL
    assert world.is_empty
    assert {item.name or item.id for item in outcome.deleted} == {"smoke-1", CLUSTER, STORAGE, NETWORK, "b"}
    assert outcome.failures == {}


@pytest.mark.parametrize("step", range(1, len(ALL) + 1))
def test_killed_after_any_change_the_same_command_finishes(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    world = World(killed_at=step)
    install(monkeypatch, world)
    with pytest.raises(Killed):
        run(world)
    world.killed_at = None
    outcome = run(world)
    assert world.is_empty
    assert outcome.failures == {}


@pytest.mark.parametrize(
    "status", ["CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "DELETE_IN_PROGRESS", "UPDATE_IN_PROGRESS"]
)
def test_what_runs_is_waited_for_and_then_deleted(world: World, status: str) -> None:
    world.stacks[CLUSTER] = status
    run(world)
    assert world.is_empty
    assert world.log.count(f"delete {CLUSTER}") == (0 if status == "DELETE_IN_PROGRESS" else 1)


def test_what_blocks_a_stack_goes_before_the_second_attempt(world: World) -> None:
    """The interface is in use while the cluster is there, and free afterwards."""
    world.loose["eni-1"] = Item("network interface", "eni-1", state="in-use")
    original = world.delete_stack

    def delete_stack(cloud: Any, stack_id: str) -> None:
        original(cloud, stack_id)
        if stack_id == NETWORK and "eni-1" in world.loose:
            world.loose["eni-1"] = replace(world.loose["eni-1"], state="available")

    world.delete_stack = delete_stack  # type: ignore[method-assign]
    outcome = run(world)
    assert world.log.index("delete eni-1") < len(world.log) - 1 - world.log[::-1].index(f"delete {NETWORK}")
    assert world.is_empty
    assert outcome.failures == {}


def test_an_error_does_not_stop_the_rest(world: World) -> None:
    world.refuses = lambda call: AwsError("busy", code="Conflict") if call == f"delete {STORAGE}" else None
    outcome = run(world)
    assert set(world.stacks) == {STORAGE}
    assert outcome.failures == {("stack", STORAGE): "busy"}
    assert NETWORK in {item.name for item in outcome.deleted}


def test_a_stack_that_cannot_be_deleted_is_tried_a_few_times_and_explained(world: World) -> None:
    world.fails_to_delete = {NETWORK}
    outcome = run(world)
    assert world.log.count(f"delete {NETWORK}") == ATTEMPTS_MAX
    assert outcome.failures == {("stack", NETWORK): f"{NETWORK} is in the way of itself"}
    assert NETWORK not in {item.name for item in outcome.deleted}
    assert not world.bucket


def test_a_missing_permission_is_not_asked_for_again(world: World) -> None:
    asked: list[str] = []

    def refuse(call: str) -> Exception | None:
        asked.append(call)
        return (
            AccessDeniedError("not allowed: s3:DeleteBucket", "add it")
            if call == "empty the bucket"
            else None
        )

    world.refuses = refuse
    outcome = run(world)
    assert asked.count("empty the bucket") == 1
    assert outcome.failures == {("bucket", "b"): "not allowed: s3:DeleteBucket; add it"}


def test_a_look_that_aws_refuses_is_a_reason_and_not_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is only waited for, too: it is tried a few times."""
    world.stacks[CLUSTER] = "CREATE_IN_PROGRESS"
    original = world.find_stack

    def find_stack(cloud: Any, stack_id: str) -> Stack | None:
        if stack_id == CLUSTER:
            raise AwsError("throttled", code="Throttling")
        return original(cloud, stack_id)

    monkeypatch.setattr(world, "find_stack", find_stack)
    outcome = run(world)
    assert outcome.failures["stack", CLUSTER] == "throttled"
    assert NETWORK not in world.log


def test_without_credentials_nothing_goes_on(world: World) -> None:
    world.refuses = lambda call: CredentialsError("expired")
    with pytest.raises(CredentialsError):
        run(world)
    assert world.log == []


def test_a_job_that_never_ends_is_left_and_the_rest_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Running:
        is_active = True

    monkeypatch.setattr(world, "find_job", lambda cloud, job_id: Running())
    monkeypatch.setattr(executor, "WAIT_MINUTES_MAX", 1)
    monkeypatch.setattr(world, "terminate_job", lambda cloud, job_id, reason: None)
    outcome = run(world)
    assert "still busy" in outcome.failures["job", "smoke-1"]
    assert "smoke-1" not in {item.name for item in outcome.deleted}
    assert world.stacks == {}


def test_a_stack_that_stays_busy_ends_the_waiting_with_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Stack(CLUSTER, CLUSTER, "CREATE_IN_PROGRESS", "", {}, {}, False)
    world.stacks[CLUSTER] = "CREATE_IN_PROGRESS"
    original = world.find_stack
    monkeypatch.setattr(
        world, "find_stack", lambda cloud, id_: busy if id_ == CLUSTER else original(cloud, id_)
    )
    monkeypatch.setattr(executor, "WAIT_MINUTES_MAX", 1)
    outcome = run(world)
    assert "still busy after 1 minutes" in outcome.failures["stack", CLUSTER]


def test_what_goes_away_by_itself_is_waited_for(world: World) -> None:
    looks = iter(range(100))
    original = world.take_inventory

    def take_inventory(cloud: Any, target: Target) -> Inventory:
        inventory = original(cloud, target)
        if next(looks) < 20:
            return replace(
                inventory, loose=(*inventory.loose, Item("instance", "i-1", state="shutting-down"))
            )
        return inventory

    executor.take_inventory = take_inventory  # restored by the fixture's monkeypatch
    outcome = run(world)
    assert outcome.inventory.is_empty
    assert "delete i-1" not in world.log
