"""`neuronkit status`: stacks, clusters with their capacity, fleets, shifts, and runs with their newest step, as AWS says them now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.run_choice import number_of
from scripts.run_store import RunStore
from scripts.schedulers.login_node import TransportKind
from scripts.schedulers.opening import open_view
from scripts.schedulers.scheduler import ClusterStatus, ClusterView, ScheduledRun
from scripts.serving_fleets.fleet_view import FleetStatus, look_at_fleet
from scripts.serving_fleets.shift_view import ShiftStatus, look_at_shift
from stacks.domain.names import ENVIRONMENT_TAG, OUTPUT_BUCKET
from stacks.domain.plan import JobPlan, Plan

RUNS_OF_A_JOB_MAX = 10
_NOT_DEPLOYED = "not deployed"


@dataclass(frozen=True, slots=True)
class StackStatus:
    name: str
    status: str
    reason: str


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
    fleets: tuple[FleetStatus, ...] = ()
    shifts: tuple[ShiftStatus, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("environment", "region", "account")}
        return {
            **own,
            "stacks": [asdict(stack) for stack in self.stacks],
            "clusters": [cluster.as_dict() for cluster in self.clusters],
            "runs": [asdict(run) for run in self.runs],
            "fleets": [fleet.as_dict() for fleet in self.fleets],
            "shifts": [shift.as_dict() for shift in self.shifts],
        }

    def text(self) -> str:
        lines = [f"{self.environment} in account {self.account}, {self.region}"]
        lines += [
            f"stack    {s.name}: {s.status}" + (f" ({s.reason})" if s.reason else "") for s in self.stacks
        ]
        lines += [line for cluster in self.clusters for line in cluster.lines()]
        lines += [line for fleet in self.fleets for line in fleet.lines()]
        lines += [line for shift in self.shifts for line in shift.lines()]
        lines += [line for run in self.runs for line in _run_lines(run)]
        has_no_runs = not self.runs and (self.clusters or not self.fleets)
        return "\n".join([*lines, "no runs"] if has_no_runs else lines)


def take_status(cloud: Cloud, plan: Plan, transport: TransportKind = "ssm", *, now: datetime) -> Status:
    stacks = {name: _own_stack(cloud, plan, name) for name in plan.stacks.all}
    storage = stacks[plan.stacks.storage]
    bucket = storage.outputs.get(OUTPUT_BUCKET) if storage else None
    views = {
        cluster.name: open_view(
            cloud, plan, cluster, stacks[plan.stacks.of_cluster(cluster.name)], bucket, transport
        )
        for cluster in plan.clusters
    }
    runs = [run for job in plan.jobs for run in _runs(cloud, job, views[job.cluster], bucket)]
    return Status(
        environment=plan.name,
        region=cloud.region,
        account=cloud.account or "",
        stacks=tuple(_stack_status(name, stack) for name, stack in stacks.items()),
        clusters=tuple(view.status for view in views.values()),
        runs=tuple(runs),
        fleets=tuple(
            look_at_fleet(cloud, plan.name, fleet, stacks[plan.stacks.of_fleet(fleet.name)], now)
            for fleet in plan.fleets
        ),
        shifts=tuple(
            look_at_shift(cloud, plan.name, shift, stacks[plan.stacks.of_shift(shift.name)], now)
            for shift in plan.shifts
        ),
    )


def _own_stack(cloud: Cloud, plan: Plan, name: str) -> Stack | None:
    stack = cloudformation.find_stack(cloud, name)
    return stack if stack is not None and stack.tags.get(ENVIRONMENT_TAG) == plan.name else None


def _stack_status(name: str, stack: Stack | None) -> StackStatus:
    return StackStatus(name, stack.status, stack.reason) if stack else StackStatus(name, _NOT_DEPLOYED, "")


def _runs(cloud: Cloud, job: JobPlan, view: ClusterView, bucket: str | None) -> Iterator[RunStatus]:
    """Newest first."""
    if bucket is None:
        return
    store = RunStore(cloud, bucket, job.name)
    names = set(store.names())
    known = view.newest_runs(job, names, RUNS_OF_A_JOB_MAX)
    if known is None and view.unanswered is None:
        return
    unknown = sorted(
        names - {run.name for run in known or ()},
        key=lambda run: number_of(job.name, run) or 0,
        reverse=True,
    )
    for run in (known or ())[:RUNS_OF_A_JOB_MAX]:
        yield _run_status(store, run, view.why(job, run))
    for name in unknown[: max(0, RUNS_OF_A_JOB_MAX - len(known or ()))]:
        yield _forgotten(store, name, view, is_asked=known is not None)


def _forgotten(store: RunStore, run: str, view: ClusterView, *, is_asked: bool) -> RunStatus:
    """Of a run that only the bucket knows."""
    stored = store.read(run)
    scheduler_id = stored.record.scheduler_id if stored else None
    if not is_asked:
        state = view.unanswered or ""
    elif stored is None or scheduler_id is not None:
        state = f"ENDED ({view.scheduler_name} has forgotten how)"
    else:
        state = "CLAIMED (launch again to submit it)"
    metrics = store.newest_metrics(run) or {}
    return RunStatus(store.job, run, state, scheduler_id, metrics.get("step"), metrics.get("loss"), ())


def _run_status(store: RunStore, run: ScheduledRun, why: tuple[str, ...]) -> RunStatus:
    metrics = store.newest_metrics(run.name) or {}
    return RunStatus(store.job, run.name, run.state, run.id, metrics.get("step"), metrics.get("loss"), why)


def _run_lines(run: RunStatus) -> list[str]:
    progress = (
        ""
        if run.step is None
        else f", step {run.step}" + (f", loss {run.loss:.4f}" if run.loss is not None else "")
    )
    return [f"run      {run.run}: {run.state}{progress}", *(f"         {words}" for words in run.why)]
