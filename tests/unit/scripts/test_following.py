"""Following a run: state changes, lines of all nodes, the end, and who is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scripts.aws.batch import Job
from scripts.aws.logs import LogLine
from scripts.following import Follower
from scripts.schedulers import batch_ranks, batch_watch
from scripts.schedulers.batch_ranks import Ranks
from scripts.schedulers.batch_runs import of_job
from scripts.schedulers.batch_watch import BatchWatch
from scripts.schedulers.scheduler import RunLine, ScheduledRun, Sight
from scripts.schedulers.slurm_runs import of_directory
from stacks.domain.errors import JobFailedError, WorldError
from tests.unit.scripts.fakes import a_cloud

JOB = Job(
    name="smoke-1", id="id", state="RUNNABLE", reason="", created_at=1, nodes=2,
    exit_code=None, container_reason="", log_streams=(), vcpus=None,
)  # fmt: skip
Look = tuple[Job, tuple[Job, ...]]


def node(index: int, state: str, **more: Any) -> Job:
    return replace(JOB, id=f"id#{index}", state=state, nodes=1, **more)


class Film:
    """What Batch and CloudWatch Logs say, look after look; the last picture stays."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, looks: list[Look], lines: dict[str, list[list[LogLine]]]
    ) -> None:
        self.looks = looks
        self.lines = lines
        monkeypatch.setattr(batch_watch.batch, "find_job", self.find_job)
        monkeypatch.setattr(batch_watch.batch, "nodes_of", lambda cloud, job_id, count: self.looks[0][1])
        monkeypatch.setattr(batch_watch, "StreamReader", self.reader)

    def find_job(self, cloud: Any, job_id: str) -> Job:
        if len(self.looks) > 1:
            self.looks.pop(0)
        return self.looks[0][0]

    def reader(self, cloud: Any, group: str, stream: str) -> Any:
        film = self

        class Reader:
            def new_lines(self) -> list[LogLine]:
                pages = film.lines.get(stream, [])
                return pages.pop(0) if pages else []

        return Reader()


def follow(
    only_node: int | None = None, ranks: Ranks | None = None
) -> tuple[ScheduledRun, list[str], list[str]]:
    states: list[str] = []
    lines: list[str] = []
    watch = BatchWatch(a_cloud(), "group", "id", only_node, ranks or Ranks())
    follower = Follower(a_cloud(), watch, states.append, lines.append, only_node, pause=lambda seconds: None)
    return follower.follow(), states, lines


def failure(job: Job) -> JobFailedError:
    return BatchWatch(a_cloud(), "group", job.id).failure(of_job(job))


LOOKS: list[Look] = [
    (JOB, ()),
    (JOB, ()),
    (JOB, ()),
    (replace(JOB, state="STARTING"), (node(0, "STARTING"), node(1, "STARTING"))),
    (
        replace(JOB, state="RUNNING"),
        (node(0, "RUNNING", log_streams=("a",)), node(1, "RUNNING", log_streams=("b",))),
    ),
    (
        replace(JOB, state="SUCCEEDED"),
        (node(0, "SUCCEEDED", log_streams=("a", "a2")), node(1, "SUCCEEDED", log_streams=("b",))),
    ),
]


def lines_of_two() -> dict[str, list[list[LogLine]]]:
    return {
        "a": [[LogLine(1, "one"), LogLine(3, "three")], [], [LogLine(9, "late")]],
        "a2": [[LogLine(5, "second attempt")]],
        "b": [[LogLine(2, "two")]],
    }


def test_states_are_said_once_and_lines_come_by_time_with_their_node(monkeypatch: pytest.MonkeyPatch) -> None:
    Film(monkeypatch, list(LOOKS), lines_of_two())
    job, states, lines = follow()
    assert job.state == "SUCCEEDED"
    assert states == [
        "smoke-1: RUNNABLE",
        "smoke-1: STARTING",
        "smoke-1: RUNNING, 2 of 2 nodes run",
        "smoke-1: SUCCEEDED",
    ]
    assert lines == ["[0] one", "[1] two", "[0] three", "[0] second attempt", "[0] late"]


def test_of_one_node_only_its_lines_are_printed_without_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    Film(monkeypatch, list(LOOKS), lines_of_two())
    assert follow(only_node=1)[2] == ["two"]


def test_a_job_that_batch_forgets_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_watch.batch, "find_job", lambda cloud, job_id: None)
    with pytest.raises(WorldError, match="no longer knows"):
        follow()


def test_a_failed_run_names_reason_node_and_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = (
        node(0, "FAILED", reason="Essential container in task exited", exit_code=143),
        node(
            1,
            "FAILED",
            reason="Essential container in task exited",
            exit_code=17,
            container_reason="OutOfMemory",
        ),
        node(2, "SUCCEEDED", exit_code=0),
    )
    monkeypatch.setattr(batch_watch.batch, "nodes_of", lambda cloud, job_id, count: nodes)
    error = failure(replace(JOB, state="FAILED", reason="Essential container in task exited"))
    assert error.exit_code == 4
    assert error.message.splitlines() == [
        "run smoke-1 failed: Essential container in task exited",
        "  node 0: exit code 143: Essential container in task exited",
        "  node 1: exit code 17: OutOfMemory; Essential container in task exited",
    ]


def test_a_run_that_never_had_nodes_still_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_watch.batch, "nodes_of", lambda cloud, job_id, count: ())
    error = failure(replace(JOB, state="FAILED", reason="CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"))
    assert error.message == "run smoke-1 failed: CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"


class Forgotten:
    """A scheduler that knows only that nothing runs any more."""

    def look(self) -> Sight:
        run = of_directory("smoke-1", "7", None)
        return Sight(run, run.state, 1, (RunLine(0, "step 3"),))

    def failure(self, run: ScheduledRun) -> JobFailedError:
        raise AssertionError("nobody knows that it failed")


def test_an_end_that_nobody_knows_is_no_success() -> None:
    lines: list[str] = []
    follower = Follower(a_cloud(), Forgotten(), lambda words: None, lines.append, pause=lambda seconds: None)
    with pytest.raises(WorldError, match="nobody knows how run smoke-1 ended"):
        follower.follow()
    assert lines == ["step 3", "step 3"]
    assert follower.print_once().end_is_known is False


def test_with_ultraservers_nodes_are_called_by_their_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch numbers the nodes of each attempt as it likes; an order that is not there yet changes nothing."""
    orders = {
        "runs/smoke/smoke-1/places/attempt-1.order": b"refused 78 no whole UltraServer",
        "runs/smoke/smoke-1/places/attempt-2.order": b"0 1 node-1 10.0.0.2 s 0\n1 0 node-0 10.0.0.1 s 1\n",
    }
    monkeypatch.setattr(batch_ranks.s3, "read_bytes", lambda cloud, bucket, key: orders.get(key))
    streams = [("a1", "a2"), ("b1", "b2")]
    nodes = tuple(node(i, "FAILED", log_streams=s, exit_code=i) for i, s in enumerate(streams))
    ended = replace(JOB, state="FAILED")
    ranks = Ranks(((a_cloud(), "bucket", "runs/smoke/smoke-1"),))

    def lines(only_node: int | None = None) -> list[str]:
        pages = {name: [[LogLine(int(name[1]), name)]] for name in ("a1", "a2", "b1", "b2")}
        Film(monkeypatch, [(ended, nodes)], pages)
        return follow(only_node, ranks)[2]

    assert lines() == ["[0] a1", "[1] b1", "[0] b2", "[1] a2"]
    assert lines(only_node=0) == ["a1", "b2"]
    message = BatchWatch(a_cloud(), "group", "id", None, ranks).failure(of_job(ended)).message
    assert message.splitlines()[1:] == ["  node 1: exit code 0", "  node 0: exit code 1"]
