"""An AWS Batch cluster as `status` shows it: environment, queue, capacity, runs and why one does not start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from scripts.aws import batch
from scripts.aws.batch import Job, JobSummary
from scripts.aws.cloud import Cloud
from scripts.run_choice import number_of
from scripts.schedulers.batch_runs import of_job, of_summary
from scripts.schedulers.capacity_words import capacity_words, ends
from scripts.schedulers.scheduler import ScheduledRun
from scripts.waiting_reasons import Surroundings, reasons
from stacks.domain.plan import JobPlan

NOT_DEPLOYED = "not deployed"


@dataclass(frozen=True, slots=True)
class BatchClusterStatus:
    name: str
    compute_environment: str
    """Batch's status and state, such as "VALID, ENABLED"."""
    queue: str
    capacity: str
    ends: str | None
    """When the reservation or block ends, ISO 8601."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        return [
            f"cluster  {self.name}: compute environment {self.compute_environment}; queue {self.queue}",
            f"         capacity {self.capacity}" + (f", ends {self.ends}" if self.ends else ""),
        ]


@dataclass
class BatchView:
    cloud: Cloud
    around: Surroundings
    scheduler_name: str = "AWS Batch"
    unanswered: str | None = None
    _details: dict[str, Job] = field(default_factory=dict, init=False)

    @property
    def status(self) -> BatchClusterStatus:
        environment, queue = self.around.environment, self.around.queue
        reservations = (self.around.reservation,) if self.around.reservation else ()
        return BatchClusterStatus(
            name=self.around.cluster.name,
            compute_environment=f"{environment.status}, {environment.state}" if environment else NOT_DEPLOYED,
            queue=f"{queue.status}, {queue.state}" if queue else NOT_DEPLOYED,
            capacity=capacity_words(self.around.capacity, reservations, self.around.cluster.capacity),
            ends=ends(reservations),
        )

    def newest_runs(
        self, job: JobPlan, names: Iterable[str], at_most: int
    ) -> tuple[ScheduledRun, ...] | None:
        """The newest `at_most` with Batch's reason."""
        if self.around.queue is None:
            return None
        known = self._known_jobs(job, self.around.queue.arn, set(names))
        newest = sorted(known, key=lambda one: one.created_at, reverse=True)
        details = batch.describe_jobs(self.cloud, (one.id for one in newest[:at_most]))
        self._details |= {one.id: one for one in details}
        described = {one.id: of_job(one) for one in details}
        return tuple(described.get(one.id, of_summary(one)) for one in newest)

    def why(self, job: JobPlan, run: ScheduledRun) -> tuple[str, ...]:
        if run.has_failed:
            return (run.reason,) if run.reason else ()
        detail = self._details.get(run.id)
        return reasons(detail, self.around) if detail else ()

    def _known_jobs(self, job: JobPlan, queue_arn: str, names: set[str]) -> tuple[JobSummary, ...]:
        """The newest job of each of the job's runs."""
        found = list(batch.jobs_named(self.cloud, queue_arn, f"{job.name}-*"))
        for name in names:
            if not name.startswith(f"{job.name}-"):
                found += batch.jobs_named(self.cloud, queue_arn, name)
        ours = [one for one in found if one.name in names or number_of(job.name, one.name) is not None]
        return tuple({one.name: one for one in sorted(ours, key=lambda one: one.created_at)}.values())
