"""From a run's name to the run, on whichever cluster of the environment it is."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.outputs import storage_bucket
from scripts.run_store import RunStore
from scripts.schedulers.login_node import TransportKind
from scripts.schedulers.opening import open_scheduler
from scripts.schedulers.scheduler import ScheduledRun, Scheduler
from stacks.domain.errors import InputError
from stacks.domain.names import ENVIRONMENT_TAG, OUTPUT_LOG_GROUP
from stacks.domain.plan import ClusterPlan, Plan


@dataclass(frozen=True, slots=True)
class FoundRun:
    run: ScheduledRun
    logs: str
    scheduler: Scheduler


def find_run(cloud: Cloud, plan: Plan, run: str, transport: TransportKind) -> FoundRun:
    """The newest of that name. Raises InputError when no scheduler knows one (some forget what ended long ago)."""
    fleets = [fleet.name for fleet in plan.fleets]
    if run in fleets or not plan.clusters:
        raise _no_runs(cloud, plan, [run] if run in fleets else fleets)
    asked: list[Scheduler] = []
    for cluster in _likeliest_first(cloud, plan, run):
        scheduler = open_scheduler(cloud, plan, cluster, transport)
        found = scheduler.find(run)
        if found is not None:
            return FoundRun(*found, scheduler)
        asked.append(scheduler)
    names = " and ".join(dict.fromkeys(scheduler.name for scheduler in asked))
    forgotten = dict.fromkeys(scheduler.forgets for scheduler in asked)
    raise InputError(
        f"{names} knows no run {run} of {plan.name}",
        "; ".join(("`neuronkit status FILE` lists the runs", *forgotten)),
    )


def _no_runs(cloud: Cloud, plan: Plan, fleets: list[str]) -> InputError:
    """A fleet serves as soon as it is deployed, and writes to CloudWatch Logs."""
    groups = {name: _log_group(cloud, plan, name) for name in fleets}
    ways = [
        f"`aws logs tail {group} --follow --region {cloud.region}`"
        if group
        else f"fleet {name} is not deployed: `neuronkit deploy FILE`"
        for name, group in groups.items()
    ]
    is_empty = cloud.is_local and any(groups.values())
    local = "; the local cloud runs no containers of fleets, so nothing is in it" if is_empty else ""
    names = ", ".join(fleets)
    return InputError(
        f"{names or plan.name} has no runs" + (": fleets serve, and log to CloudWatch" if fleets else ""),
        "; ".join(ways) + local if ways else "the file has no clusters",
    )


def _log_group(cloud: Cloud, plan: Plan, fleet: str) -> str | None:
    stack = cloudformation.find_stack(cloud, plan.stacks.of_fleet(fleet))
    is_ours = stack is not None and stack.tags.get(ENVIRONMENT_TAG) == plan.name
    return stack.outputs.get(OUTPUT_LOG_GROUP) if stack is not None and is_ours else None


def _likeliest_first(cloud: Cloud, plan: Plan, run: str) -> list[ClusterPlan]:
    """By the bucket, so that nobody waits for the login node of a cluster on which the run is not."""
    if len(plan.clusters) < 2:
        return list(plan.clusters)
    bucket = storage_bucket(cloud, plan)
    jobs = [job for job in plan.jobs if RunStore(cloud, bucket, job.name).read(run) is not None]
    likely = {job.cluster for job in jobs}
    return sorted(plan.clusters, key=lambda cluster: cluster.name not in likely)
