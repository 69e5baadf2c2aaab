"""From a run's name to the run, on whichever cluster of the environment it is."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws.cloud import Cloud
from scripts.outputs import storage_bucket
from scripts.run_store import RunStore
from scripts.schedulers.login_node import TransportKind
from scripts.schedulers.opening import open_scheduler
from scripts.schedulers.scheduler import ScheduledRun, Scheduler
from stacks.domain.errors import InputError
from stacks.domain.plan import ClusterPlan, Plan


@dataclass(frozen=True, slots=True)
class FoundRun:
    run: ScheduledRun
    logs: str
    scheduler: Scheduler


def find_run(cloud: Cloud, plan: Plan, run: str, transport: TransportKind) -> FoundRun:
    """The newest of that name. Raises InputError when no scheduler knows one (they forget what ended long ago)."""
    asked: list[str] = []
    for cluster in _likeliest_first(cloud, plan, run):
        scheduler = open_scheduler(cloud, plan, cluster, transport)
        found = scheduler.find(run)
        if found is not None:
            return FoundRun(*found, scheduler)
        asked.append(scheduler.name)
    raise InputError(
        f"{' and '.join(dict.fromkeys(asked)) or 'nothing'} knows no run {run} of {plan.name}",
        "`neuronkit status` lists the runs; AWS Batch forgets those that ended more than a week ago",
    )


def _likeliest_first(cloud: Cloud, plan: Plan, run: str) -> list[ClusterPlan]:
    """By the bucket, so that nobody waits for the login node of a cluster on which the run is not."""
    if len(plan.clusters) < 2:
        return list(plan.clusters)
    bucket = storage_bucket(cloud, plan)
    jobs = [job for job in plan.jobs if RunStore(cloud, bucket, job.name).read(run) is not None]
    likely = {job.cluster for job in jobs}
    return sorted(plan.clusters, key=lambda cluster: cluster.name not in likely)
