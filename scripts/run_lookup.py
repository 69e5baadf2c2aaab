"""From a run's name to its job, in whichever queue of the environment it is."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws import batch
from scripts.aws.batch import Job
from scripts.aws.cloud import Cloud
from scripts.outputs import cluster_outputs
from stacks.domain.errors import InputError
from stacks.domain.plan import Plan
from stacks.domain.render.batch import ClusterOutputs


@dataclass(frozen=True, slots=True)
class FoundRun:
    job: Job
    outputs: ClusterOutputs


def find_run(cloud: Cloud, plan: Plan, run: str) -> FoundRun:
    """The newest job of that name. Raises InputError when AWS Batch knows none (it forgets what ended a week ago)."""
    for cluster in plan.clusters:
        outputs = cluster_outputs(cloud, plan, cluster.name)
        found = batch.jobs_named(cloud, outputs.job_queue_arn, run)
        job = batch.find_job(cloud, found[0].id) if found else None
        if job is not None:
            return FoundRun(job, outputs)
    raise InputError(
        f"AWS Batch knows no run {run} of {plan.name}",
        "`neuronkit status` lists the runs; Batch forgets those that ended more than a week ago",
    )
