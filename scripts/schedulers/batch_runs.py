"""AWS Batch's jobs as runs. Pure."""

from __future__ import annotations

from scripts.aws.batch import Job, JobSummary
from scripts.schedulers.scheduler import ScheduledRun


def of_summary(one: JobSummary) -> ScheduledRun:
    return ScheduledRun(one.name, one.id, one.state, one.is_active, one.state == "FAILED", one.created_at)


def of_job(job: Job) -> ScheduledRun:
    return ScheduledRun(
        job.name,
        job.id,
        job.state,
        job.is_active,
        job.state == "FAILED",
        job.created_at,
        job.nodes,
        job.reason,
    )
