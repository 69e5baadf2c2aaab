"""A run as it goes: changes of state and the log lines of every node, until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from scripts.aws import batch
from scripts.aws.batch import Job
from scripts.aws.cloud import Cloud
from scripts.aws.logs import LogLine, StreamReader
from stacks.domain.errors import JobFailedError, WorldError

# ECS sends the last lines of a container a moment after it has ended.
_LAST_LINES_SECONDS = 5.0


@dataclass
class NodeLogs:
    """New lines of all nodes (or of one), each attempt in a stream of its own."""

    cloud: Cloud
    group: str
    only_node: int | None = None
    _readers: dict[str, StreamReader] = field(default_factory=dict)

    def new_lines(self, nodes: tuple[Job, ...]) -> Iterator[tuple[int, LogLine]]:
        """By time within what has just come."""
        found: list[tuple[int, LogLine]] = []
        for index, node in enumerate(nodes):
            if self.only_node in (None, index):
                found += [(index, line) for line in self._lines_of(node)]
        return iter(sorted(found, key=lambda pair: (pair[1].time_ms, pair[0])))

    def _lines_of(self, node: Job) -> Iterator[LogLine]:
        for stream in node.log_streams:
            if stream not in self._readers:
                self._readers[stream] = StreamReader(self.cloud, self.group, stream)
            yield from self._readers[stream].new_lines()


@dataclass
class Follower:
    """`on_state` hears of changes, `on_line` prints log lines."""

    cloud: Cloud
    group: str
    on_state: Callable[[str], None]
    on_line: Callable[[str], None]
    only_node: int | None = None
    pause: Callable[[float], None] = time.sleep

    def follow(self, job_id: str) -> Job:
        """The job when it has ended. Raises WorldError when Batch forgets it meanwhile."""
        logs = NodeLogs(self.cloud, self.group, self.only_node)
        told = ""
        while True:
            job = _known(batch.find_job(self.cloud, job_id), job_id)
            nodes = batch.nodes_of(self.cloud, job)
            told = self._tell(job, nodes, told)
            self._print(logs, nodes)
            if not job.is_active:
                self._print_the_rest(logs, job)
                return job
            self.pause(self.cloud.poll_seconds)

    def print_once(self, job: Job) -> None:
        self._print(NodeLogs(self.cloud, self.group, self.only_node), batch.nodes_of(self.cloud, job))

    def _tell(self, job: Job, nodes: tuple[Job, ...], told: str) -> str:
        running = sum(node.state == "RUNNING" for node in nodes)
        words = job.state if not running else f"{job.state}, {running} of {job.nodes} nodes run"
        reason = f": {job.reason}" if job.reason else ""
        if words + reason != told:
            self.on_state(f"{job.name}: {words}{reason}")
        return words + reason

    def _print(self, logs: NodeLogs, nodes: tuple[Job, ...]) -> None:
        several = len(nodes) > 1 and self.only_node is None
        for index, line in logs.new_lines(nodes):
            self.on_line(f"[{index}] {line.text}" if several else line.text)

    def _print_the_rest(self, logs: NodeLogs, job: Job) -> None:
        self.pause(0.0 if self.cloud.is_local else _LAST_LINES_SECONDS)
        self._print(logs, batch.nodes_of(self.cloud, job))


def failure(cloud: Cloud, job: Job) -> JobFailedError:
    """Why a job failed: the reason of the job, and of the first node to blame with its exit code."""
    nodes = batch.nodes_of(cloud, job)
    lines = [f"run {job.name} failed: {job.reason or 'AWS Batch gives no reason'}"]
    lines += [f"  {words}" for index, node in enumerate(nodes) if (words := _blame(index, node))]
    return JobFailedError("\n".join(lines), f"its log: `neuronkit logs FILE {job.name}`")


def _blame(index: int, node: Job) -> str:
    """Empty for a node that did well or that was only stopped with the others."""
    if node.state != "FAILED":
        return ""
    code = "no exit code" if node.exit_code is None else f"exit code {node.exit_code}"
    words = "; ".join(dict.fromkeys(filter(None, (node.container_reason, node.reason))))
    return f"node {index}: {code}" + (f": {words}" if words else "")


def _known(job: Job | None, job_id: str) -> Job:
    if job is None:
        raise WorldError(
            f"AWS Batch no longer knows the job {job_id}", "`neuronkit status` shows the runs that it knows"
        )
    return job
