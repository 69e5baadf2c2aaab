"""What launch, status, logs and cancel need of a scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from stacks.domain.errors import JobFailedError
from stacks.domain.jobs import JobPackage
from stacks.domain.plan import JobPlan
from stacks.domain.render.batch import Run


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """A run as its scheduler knows it. `state` is the scheduler's own word."""

    name: str
    id: str
    state: str
    is_active: bool
    has_failed: bool
    order: int
    """Later runs have higher ones."""
    nodes: int | None = None
    """None where the scheduler does not say."""
    reason: str = ""
    """Why it waits or failed, as the scheduler says it."""
    end_is_known: bool = True
    """False: it has ended, and its scheduler has forgotten how."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One line of a log; `node` None: of the job's own script."""

    node: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Sight:
    """One look at a run that is followed."""

    run: ScheduledRun
    words: str
    """Its state, for people."""
    nodes: int | None
    lines: tuple[RunLine, ...]
    """What is new since the last look."""


class Watch(Protocol):
    """A run that is followed."""

    def look(self) -> Sight:
        """Raises WorldError when the scheduler no longer knows the run."""

    def failure(self, run: ScheduledRun) -> JobFailedError:
        """Why it failed, and which node is to blame."""


class Scheduler(Protocol):
    """The runs of one cluster."""

    @property
    def name(self) -> str:
        """As people call it: AWS Batch, Slurm."""

    @property
    def forgets(self) -> str:
        """Which runs it no longer knows."""

    @property
    def bucket(self) -> str: ...

    @property
    def logs_are(self) -> str:
        """What `logs_of` names: a log group, a directory."""

    def logs_of(self, job: JobPlan, run: str) -> str: ...

    def active_runs(self) -> tuple[ScheduledRun, ...]:
        """Waiting or running now, of all jobs."""

    def runs_named(self, job: JobPlan, run: str) -> tuple[ScheduledRun, ...]:
        """In every state, newest first."""

    def find(self, run: str) -> tuple[ScheduledRun, str] | None:
        """The newest of that name, of whatever job, and where its logs are."""

    def names_of(self, job: JobPlan) -> tuple[str, ...]:
        """Of the job's numbered runs that the scheduler has not forgotten."""

    def prepare(self, job: JobPlan, package: JobPackage) -> str:
        """What `submit` needs besides the run; the same for every run with this package."""

    def submit(self, job: JobPlan, run: Run, prepared: str) -> ScheduledRun:
        """Never submits the same name twice, as far as the scheduler lets us know."""

    def cancel(self, run: ScheduledRun, logs: str) -> None:
        """Waiting or running; no error if it has ended."""

    def watch(self, run: ScheduledRun, logs: str, only_node: int | None = None) -> Watch: ...


class ClusterStatus(Protocol):
    """What `status` says of one cluster."""

    def as_dict(self) -> dict[str, Any]: ...

    def lines(self) -> list[str]: ...


class ClusterView(Protocol):
    """One cluster as `status` looks at it; nothing in it raises because something is not there or does not answer."""

    @property
    def scheduler_name(self) -> str: ...

    @property
    def unanswered(self) -> str | None:
        """The state of runs while the scheduler does not answer; None: where there is no scheduler, there are no runs."""

    @property
    def status(self) -> ClusterStatus: ...

    def newest_runs(
        self, job: JobPlan, names: Iterable[str], at_most: int
    ) -> tuple[ScheduledRun, ...] | None:
        """All runs of the job that the scheduler knows, newest first, `at_most` of them with their reasons.

        `names` are those in the bucket. None: the scheduler cannot be asked.
        """

    def why(self, job: JobPlan, run: ScheduledRun) -> tuple[str, ...]:
        """Why it does not start, or why it failed."""
