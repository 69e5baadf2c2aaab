"""AWS Batch: the runs of one cluster's job queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from scripts.aws import batch
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from scripts.schedulers.batch_ranks import ranks_of
from scripts.schedulers.batch_runs import of_job, of_summary
from scripts.schedulers.batch_watch import BatchWatch
from scripts.schedulers.scheduler import ScheduledRun
from stacks.domain.jobs import JobPackage
from stacks.domain.names import CONTENT_TAG, job_definition_name
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.batch import ClusterOutputs, Run, job_definition, submit_request


@dataclass(frozen=True, slots=True)
class BatchScheduler:
    cloud: Cloud
    plan: Plan
    outputs: ClusterOutputs
    pause: Callable[[float], None] = time.sleep
    name: str = "AWS Batch"
    forgets: str = "AWS Batch forgets those that ended more than a week ago"
    logs_are: str = "log group"

    @property
    def bucket(self) -> str:
        return self.outputs.bucket

    def logs_of(self, job: JobPlan, run: str) -> str:
        return self.outputs.log_group

    def active_runs(self) -> tuple[ScheduledRun, ...]:
        return tuple(of_summary(one) for one in batch.active_jobs(self.cloud, self.outputs.job_queue_arn))

    def runs_named(self, job: JobPlan, run: str) -> tuple[ScheduledRun, ...]:
        found = batch.jobs_named(self.cloud, self.outputs.job_queue_arn, run)
        return tuple(of_summary(one) for one in found)

    def find(self, run: str) -> tuple[ScheduledRun, str] | None:
        found = batch.jobs_named(self.cloud, self.outputs.job_queue_arn, run)
        job = batch.find_job(self.cloud, found[0].id) if found else None
        return (of_job(job), self.outputs.log_group) if job else None

    def names_of(self, job: JobPlan) -> tuple[str, ...]:
        found = batch.jobs_named(self.cloud, self.outputs.job_queue_arn, f"{job.name}-*")
        return tuple(one.name for one in found)

    def prepare(self, job: JobPlan, package: JobPackage) -> str:
        """The ARN of a job definition with this very content; registered if there is none."""
        request = job_definition(self.plan, job, package.sha256, self.outputs)
        content = request["tags"][CONTENT_TAG]
        name = job_definition_name(self.plan.name, job.name)
        for definition in batch.active_job_definitions(self.cloud, name):
            if definition.tags.get(CONTENT_TAG) == content:
                return definition.arn
        return batch.register_job_definition(self.cloud, request)

    def submit(self, job: JobPlan, run: Run, prepared: str) -> ScheduledRun:
        """When the answer is lost, the queue says whether the job was taken."""
        request = submit_request(self.plan, job, run, prepared, self.outputs)
        try:
            id_ = batch.submit(self.cloud, request)
        except AwsError:
            self.pause(self.cloud.poll_seconds)
            found = batch.jobs_named(self.cloud, self.outputs.job_queue_arn, run.id)
            if not found:
                raise
            id_ = found[0].id
        return ScheduledRun(
            run.id, id_, "SUBMITTED", is_active=True, has_failed=False, order=0, nodes=job.nodes
        )

    def cancel(self, run: ScheduledRun, logs: str) -> None:
        batch.terminate_job(self.cloud, run.id, "neuronkit status --cancel")

    def watch(self, run: ScheduledRun, logs: str, only_node: int | None = None) -> BatchWatch:
        ranks = ranks_of(self.cloud, self.plan, self.bucket, run.name)
        return BatchWatch(self.cloud, logs, run.id, only_node, ranks)
