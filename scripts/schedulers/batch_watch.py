"""A run on AWS Batch as it goes: changes of state and the log lines of every node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scripts.aws import batch
from scripts.aws.batch import Job
from scripts.aws.cloud import Cloud
from scripts.aws.logs import LogLine, StreamReader
from scripts.schedulers.batch_ranks import Ranks
from scripts.schedulers.batch_runs import of_job
from scripts.schedulers.scheduler import RunLine, ScheduledRun, Sight
from stacks.domain.errors import JobFailedError, WorldError


@dataclass
class BatchWatch:
    """`group` is the log group; each attempt of each node has a stream of its own in it."""

    cloud: Cloud
    group: str
    job_id: str
    only_node: int | None = None
    """A rank, as are the nodes of all lines."""
    ranks: Ranks = field(default_factory=Ranks)
    _readers: dict[str, StreamReader] = field(default_factory=dict)

    def look(self) -> Sight:
        """Raises WorldError when Batch has forgotten the job."""
        job = _known(batch.find_job(self.cloud, self.job_id), self.job_id)
        nodes = batch.nodes_of(self.cloud, job.id, job.nodes)
        return Sight(of_job(job), _words(job, nodes), len(nodes), tuple(self._new_lines(nodes)))

    def failure(self, run: ScheduledRun) -> JobFailedError:
        """The reason of the job, and of the first node to blame with its exit code."""
        nodes = batch.nodes_of(self.cloud, run.id, run.nodes or 1)
        lines = [f"run {run.name} failed: {run.reason or 'AWS Batch gives no reason'}"]
        ranks = self.ranks.of_attempt(max((len(node.log_streams) for node in nodes), default=0))
        blames = (_blame(ranks.get(index, index), node) for index, node in enumerate(nodes))
        lines += [f"  {words}" for words in blames if words]
        return JobFailedError("\n".join(lines), f"its log: `neuronkit logs FILE {run.name}`")

    def _new_lines(self, nodes: tuple[Job, ...]) -> Iterator[RunLine]:
        """By time within what has just come."""
        found: list[tuple[int, LogLine]] = []
        attempts = max((len(node.log_streams) for node in nodes), default=0)
        orders = [self.ranks.of_attempt(attempt + 1) for attempt in range(attempts)]
        for index, node in enumerate(nodes):
            for order, stream in zip(orders, node.log_streams, strict=False):
                rank = order.get(index, index)
                if self.only_node in (None, rank):
                    found += [(rank, line) for line in self._lines_of(stream)]
        for rank, line in sorted(found, key=lambda pair: (pair[1].time_ms, pair[0])):
            yield RunLine(rank, line.text)

    def _lines_of(self, stream: str) -> Iterator[LogLine]:
        if stream not in self._readers:
            self._readers[stream] = StreamReader(self.cloud, self.group, stream)
        yield from self._readers[stream].new_lines()


def _words(job: Job, nodes: tuple[Job, ...]) -> str:
    running = sum(node.state == "RUNNING" for node in nodes)
    words = job.state if not running else f"{job.state}, {running} of {job.nodes} nodes run"
    return words + (f": {job.reason}" if job.reason else "")


def _blame(rank: int, node: Job) -> str:
    """Empty for a node that did well or that was only stopped with the others."""
    if node.state != "FAILED":
        return ""
    code = "no exit code" if node.exit_code is None else f"exit code {node.exit_code}"
    words = "; ".join(dict.fromkeys(filter(None, (node.container_reason, node.reason))))
    return f"node {rank}: {code}" + (f": {words}" if words else "")


def _known(job: Job | None, job_id: str) -> Job:
    if job is None:
        raise WorldError(
            f"AWS Batch no longer knows the job {job_id}",
            "`neuronkit status FILE` shows the runs that it knows",
        )
    return job
