"""`neuronkit status`: stacks, clusters with their capacity, and runs with their newest step, as AWS says them now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from scripts.aws import batch, cloudformation, ec2
from scripts.aws.batch import JobSummary
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.ec2 import CapacityReservation
from scripts.run_choice import number_of
from scripts.run_store import RunStore
from scripts.waiting_reasons import Surroundings, reasons
from stacks.domain.catalog import load_catalog
from stacks.domain.names import (
    ENVIRONMENT_TAG,
    OUTPUT_BUCKET,
    OUTPUT_COMPUTE_ENVIRONMENT_ARN,
    OUTPUT_JOB_QUEUE_ARN,
)
from stacks.domain.plan import ClusterPlan, JobPlan, Plan
from stacks.domain.quotas import quota_code

RUNS_OF_A_JOB_MAX = 10
_NOT_DEPLOYED = "not deployed"


@dataclass(frozen=True, slots=True)
class StackStatus:
    name: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    name: str
    compute_environment: str
    """Batch's status and state, such as "VALID, ENABLED"."""
    queue: str
    capacity: str
    ends: str | None
    """When the reservation or block ends, ISO 8601."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """`step` and `loss` are of the newest metrics in the bucket; None before the first."""

    job: str
    run: str
    state: str
    scheduler_id: str | None
    step: int | None
    loss: float | None
    why: tuple[str, ...]
    """Why it does not start, or why it failed."""


@dataclass(frozen=True, slots=True)
class Status:
    environment: str
    region: str
    account: str
    stacks: tuple[StackStatus, ...]
    clusters: tuple[ClusterStatus, ...]
    runs: tuple[RunStatus, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        lines = [f"{self.environment} in account {self.account}, {self.region}"]
        lines += [
            f"stack    {s.name}: {s.status}" + (f" ({s.reason})" if s.reason else "") for s in self.stacks
        ]
        for cluster in self.clusters:
            lines.append(
                f"cluster  {cluster.name}: compute environment {cluster.compute_environment}; queue {cluster.queue}"
            )
            ends = f", ends {cluster.ends}" if cluster.ends else ""
            lines.append(f"         capacity {cluster.capacity}{ends}")
        lines += [line for run in self.runs for line in _run_lines(run)]
        return "\n".join(lines if self.runs else [*lines, "no runs"])


def take_status(cloud: Cloud, plan: Plan) -> Status:
    stacks = {name: _own_stack(cloud, plan, name) for name in plan.stacks.all}
    around = {cluster.name: _surroundings(cloud, plan, cluster, stacks) for cluster in plan.clusters}
    storage = stacks[plan.stacks.storage]
    bucket = storage.outputs.get(OUTPUT_BUCKET) if storage else None
    runs = [run for job in plan.jobs for run in _runs(cloud, job, around[job.cluster], bucket)]
    return Status(
        environment=plan.name,
        region=cloud.region,
        account=cloud.account or "",
        stacks=tuple(_stack_status(name, stack) for name, stack in stacks.items()),
        clusters=tuple(_cluster_status(one) for one in around.values()),
        runs=tuple(runs),
    )


def _own_stack(cloud: Cloud, plan: Plan, name: str) -> Stack | None:
    stack = cloudformation.find_stack(cloud, name)
    return stack if stack is not None and stack.tags.get(ENVIRONMENT_TAG) == plan.name else None


def _stack_status(name: str, stack: Stack | None) -> StackStatus:
    return StackStatus(name, stack.status, stack.reason) if stack else StackStatus(name, _NOT_DEPLOYED, "")


def _surroundings(
    cloud: Cloud, plan: Plan, cluster: ClusterPlan, stacks: dict[str, Stack | None]
) -> Surroundings:
    stack = stacks[plan.stacks.of_cluster(cluster.name)]
    outputs = stack.outputs if stack else {}
    environment_arn = outputs.get(OUTPUT_COMPUTE_ENVIRONMENT_ARN)
    queue_arn = outputs.get(OUTPUT_JOB_QUEUE_ARN)
    return Surroundings(
        cluster=cluster,
        environment=batch.find_compute_environment(cloud, environment_arn) if environment_arn else None,
        queue=batch.find_job_queue(cloud, queue_arn) if queue_arn else None,
        reservation=_reservation(cloud, plan, cluster),
        quota_code=quota_code(cluster, load_catalog()),
    )


def _reservation(cloud: Cloud, plan: Plan, cluster: ClusterPlan) -> CapacityReservation | None:
    """The file's; on the local cloud, the one that it supplied."""
    if cluster.capacity.kind in ("on-demand", "spot"):
        return None
    if cluster.capacity.id is not None:
        return ec2.find_reservation(cloud, cluster.capacity.id)
    tagged = ec2.reservations_with_tag(cloud, ENVIRONMENT_TAG, plan.name)
    return next((one for one in tagged if one.instance_type == cluster.instance_type), None)


def _cluster_status(around: Surroundings) -> ClusterStatus:
    environment, queue, reservation = around.environment, around.queue, around.reservation
    return ClusterStatus(
        name=around.cluster.name,
        compute_environment=f"{environment.status}, {environment.state}" if environment else _NOT_DEPLOYED,
        queue=f"{queue.status}, {queue.state}" if queue else _NOT_DEPLOYED,
        capacity=_capacity_words(around),
        ends=reservation.ends.isoformat() if reservation and reservation.ends else None,
    )


def _capacity_words(around: Surroundings) -> str:
    capacity, reservation = around.cluster.capacity, around.reservation
    words = f"{capacity.name}: {capacity.kind}"
    if capacity.kind in ("on-demand", "spot"):
        return words
    if reservation is None:
        return f"{words}, {'not bought yet' if capacity.id is None else f'{capacity.id} does not exist'}"
    return f"{words}, {reservation.id} {reservation.state}, {reservation.available} of {reservation.instances} instances free"


def _runs(cloud: Cloud, job: JobPlan, around: Surroundings, bucket: str | None) -> Iterator[RunStatus]:
    """Newest first."""
    if around.queue is None or bucket is None:
        return
    store = RunStore(cloud, bucket, job.name)
    names = set(store.names())
    known = _known_jobs(cloud, job, around.queue.arn, names)
    unknown = sorted(names - known.keys(), key=lambda run: number_of(job.name, run) or 0, reverse=True)
    newest = sorted(known.values(), key=lambda one: one.created_at, reverse=True)
    described = {
        one.id: one for one in batch.describe_jobs(cloud, (job.id for job in newest[:RUNS_OF_A_JOB_MAX]))
    }
    for summary in newest[:RUNS_OF_A_JOB_MAX]:
        detail = described.get(summary.id)
        why = reasons(detail, around) if detail else ()
        if detail is not None and detail.state == "FAILED":
            why = (detail.reason,) if detail.reason else ()
        yield _run_status(store, summary.name, summary.state, summary.id, why)
    for run in unknown[: max(0, RUNS_OF_A_JOB_MAX - len(newest))]:
        stored = store.read(run)
        submitted = stored is None or stored.record.scheduler_id is not None
        state = "ENDED (AWS Batch has forgotten how)" if submitted else "CLAIMED (launch again to submit it)"
        yield _run_status(store, run, state, stored.record.scheduler_id if stored else None, ())


def _known_jobs(cloud: Cloud, job: JobPlan, queue_arn: str, names: set[str]) -> dict[str, JobSummary]:
    """The newest job of each of the job's runs."""
    found = list(batch.jobs_named(cloud, queue_arn, f"{job.name}-*"))
    for name in names:
        if not name.startswith(f"{job.name}-"):
            found += batch.jobs_named(cloud, queue_arn, name)
    ours = [one for one in found if one.name in names or number_of(job.name, one.name) is not None]
    return {one.name: one for one in sorted(ours, key=lambda one: one.created_at)}


def _run_status(store: RunStore, run: str, state: str, id_: str | None, why: tuple[str, ...]) -> RunStatus:
    metrics = store.newest_metrics(run) or {}
    return RunStatus(store.job, run, state, id_, metrics.get("step"), metrics.get("loss"), why)


def _run_lines(run: RunStatus) -> list[str]:
    progress = (
        ""
        if run.step is None
        else f", step {run.step}" + (f", loss {run.loss:.4f}" if run.loss is not None else "")
    )
    return [f"run      {run.run}: {run.state}{progress}", *(f"         {words}" for words in run.why)]
