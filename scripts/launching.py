"""`neuronkit launch`: starts a run, or joins the one that is there. Never twice.

No scheduler's submission has a client token, so the run's name is the token: a claim in the bucket gives the name to
one launch (`run_store`), a lock on this machine keeps launches of one job apart, and the name is looked for in the
queue before it is submitted. Killed at any point, the same command goes on: it finds the run in the queue, or its claim.

A claim of another machine that has not led to a job yet is waited for; after CLAIM_SECONDS it is taken over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scripts.aws import s3
from scripts.aws.cloud import Cloud
from scripts.console import Console
from scripts.deployed_cluster import DeployedCluster, require_room
from scripts.machine_lock import machine_lock, this_owner
from scripts.run_choice import (
    Resume,
    ResumeWish,
    check_join,
    choose_checkpoint,
    next_run,
    numbered,
)
from scripts.run_store import RunRecord, RunStore, StoredRecord
from scripts.schedulers.scheduler import ScheduledRun, Scheduler
from stacks.domain.errors import InputError
from stacks.domain.jobs import JobPackage, pack
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.batch import Run

CLAIM_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Launched:
    scheduled: ScheduledRun
    nodes: int
    metrics: str
    logs: str
    """The log group, or the directory on the shared file system."""
    logs_are: str
    joined: bool
    resumes: Resume | None

    @property
    def run(self) -> str:
        return self.scheduled.name

    @property
    def state(self) -> str:
        return self.scheduled.state

    @property
    def scheduler_id(self) -> str:
        return self.scheduled.id

    def as_dict(self) -> dict[str, Any]:
        names = ("run", "state", "scheduler_id", "nodes", "metrics", "logs")
        return {name: getattr(self, name) for name in names}


@dataclass
class Launcher:
    """One launch of one job. `scheduler` is of the job's cluster."""

    console: Console
    cloud: Cloud
    plan: Plan
    job: JobPlan
    scheduler: Scheduler
    source_directory: Path
    deployed: DeployedCluster | None = None
    pause: Callable[[float], None] = time.sleep
    owner: str = field(default_factory=this_owner)

    @property
    def store(self) -> RunStore:
        return RunStore(self.cloud, self.scheduler.bucket, self.job.name)

    def launch(self, wish: ResumeWish | None, run_name: str | None) -> Launched:
        with machine_lock(self._place, f"job {self.job.name}"):
            active = self._active_run(run_name)
            if active is not None:
                return self._join(active, wish)
            if self.deployed is not None:
                require_room(self.job, self.plan.cluster(self.job.cluster), self.deployed)
            resumes = self._checkpoint(wish)
            package = pack(self.job, self.plan, self.source_directory)
            while True:
                claim = self._claim(run_name, resumes)
                if claim is not None:
                    launched = self._start(claim, package)
                    if launched is not None:
                        return launched
                active = self._active_run(run_name)
                if active is not None:
                    return self._join(active, wish)

    @property
    def _place(self) -> str:
        cloud = self.cloud
        return (
            f"{cloud.endpoint_url or 'aws'} {cloud.account} {cloud.region} {self.plan.name} {self.job.name}"
        )

    # --- what is there ---

    def _active_run(self, run_name: str | None) -> ScheduledRun | None:
        """The newest active run of this job; with a name, only the run of that name."""
        active = {run.name: run for run in self.scheduler.active_runs()}
        if run_name is not None:
            return active.get(run_name) if run_name in self.store.names() else None
        ours = set(self.store.names()).intersection(active) | set(numbered(self.job.name, active))
        return max((active[name] for name in ours), key=lambda run: run.order, default=None)

    def _join(self, active: ScheduledRun, wish: ResumeWish | None) -> Launched:
        stored = self.store.read(active.name)
        resumes = _resumes(stored.record) if stored else None
        check_join(active.name, wish, resumes)
        if stored is not None and stored.record.scheduler_id is None:
            self.store.submitted(stored, active.id)
        return self._launched(active, joined=True, resumes=resumes)

    def _checkpoint(self, wish: ResumeWish | None) -> Resume | None:
        if wish is None:
            return None
        candidates = [wish.run] if wish.run else numbered(self.job.name, self.store.names())
        for run in candidates:
            steps = self.store.checkpoint_steps(run)
            if steps or wish.run:
                return choose_checkpoint(wish, run, steps)
        raise InputError(f"no run of job {self.job.name} has a checkpoint", "launch it without --resume")

    # --- the name ---

    def _claim(self, run_name: str | None, resumes: Resume | None) -> StoredRecord | None:
        """A name that is ours alone now. None: somebody else was faster, look again."""
        names = self.store.names()
        candidates = [run_name] if run_name else numbered(self.job.name, names)[:1]
        for run in candidates:
            stored = self.store.read(run) if run in names else None
            if stored is None:
                continue
            known = self._known(stored)
            if known is None:
                return self._adopt(stored, resumes)
            if known.is_active:
                return None
            if run_name is not None:
                raise InputError(
                    f"there was a run {run} already ({known.state})",
                    f"choose another name, or begin from it with --resume {run}",
                )
        run = run_name or next_run(self.job.name, (*names, *self.scheduler.names_of(self.job)))
        return self.store.claim(self._record(run, resumes))

    def _known(self, stored: StoredRecord) -> ScheduledRun | None:
        """The run; None when it was never submitted."""
        record = stored.record
        found = self.scheduler.runs_named(self.job, record.run)
        if record.scheduler_id is None and found:
            self.store.submitted(stored, found[0].id)
        if found or record.scheduler_id is None:
            return found[0] if found else None
        state = f"ended, and {self.scheduler.name} has forgotten it"
        return ScheduledRun(
            record.run, record.scheduler_id, state, is_active=False, has_failed=False, order=0
        )

    def _adopt(self, stored: StoredRecord, resumes: Resume | None) -> StoredRecord | None:
        """The claim of a launch that ended too early. Whoever holds this machine's lock knows that it is over."""
        run, owner = stored.record.run, stored.record.owner
        if owner != self.owner and stored.age_seconds < CLAIM_SECONDS:
            self.console.progress(
                f"{owner} claimed run {run} {stored.age_seconds:.0f} s ago and has not submitted it yet: waiting"
            )
            self.pause(max(self.cloud.poll_seconds, 1.0))
            return None
        self.console.progress(f"going on with run {run}, which {owner} claimed but did not submit")
        return self.store.replace(stored, self._record(run, resumes))

    def _record(self, run: str, resumes: Resume | None) -> RunRecord:
        return RunRecord(
            run=run,
            job=self.job.name,
            owner=self.owner,
            resume_from=resumes.run if resumes else None,
            resume_step=resumes.step if resumes else None,
        )

    # --- the job ---

    def _start(self, claim: StoredRecord, package: JobPackage) -> Launched | None:
        """None when the claim was taken over meanwhile."""
        run = claim.record.run
        self._upload(package)
        prepared = self.scheduler.prepare(self.job, package)
        current = self.store.read(run)
        if current is None or current.etag != claim.etag:
            return None
        resumes = _resumes(claim.record)
        submitted = self.scheduler.submit(self.job, self._run(run, resumes), prepared)
        self.store.submitted(claim, submitted.id)
        return self._launched(submitted, joined=False, resumes=resumes)

    def _upload(self, package: JobPackage) -> None:
        if not s3.exists(self.cloud, self.scheduler.bucket, package.key):
            self.console.progress(f"uploading the job's package, {len(package.content) / 2**20:.1f} MiB")
            s3.put(self.cloud, self.scheduler.bucket, package.key, package.content)

    def _run(self, run: str, resumes: Resume | None) -> Run:
        if resumes is None:
            return Run(run)
        return Run(run, self.store.checkpoints_uri(resumes.run), resumes.step)

    def _launched(self, run: ScheduledRun, *, joined: bool, resumes: Resume | None) -> Launched:
        return Launched(
            scheduled=run,
            nodes=self.job.nodes,
            metrics=self.store.metrics_uri(run.name),
            logs=self.scheduler.logs_of(self.job, run.name),
            logs_are=self.scheduler.logs_are,
            joined=joined,
            resumes=resumes,
        )


def find_job(plan: Plan, name: str) -> JobPlan:
    for job in plan.jobs:
        if job.name == name:
            return job
    if not plan.jobs and plan.fleets:
        fleets = ", ".join(fleet.name for fleet in plan.fleets)
        raise InputError(
            f"{plan.name} has no jobs, only fleets ({fleets}): they serve as soon as they are deployed",
            "`neuronkit status FILE` says how they are, `neuronkit bench-serving` loads them",
        )
    known = ", ".join(job.name for job in plan.jobs) or "none"
    raise InputError(f"the file has no job {name}", f"its jobs: {known}")


def require_image(job: JobPlan) -> None:
    """Of a job that runs in a container."""
    if job.virtual_environment is not None:
        return
    if job.image is None or not job.image.is_resolved:
        raise InputError(f"the image of job {job.name} is not resolved", "run `neuronkit lock FILE`")


def _resumes(record: RunRecord) -> Resume | None:
    if record.resume_from is None or record.resume_step is None:
        return None
    return Resume(record.resume_from, record.resume_step)
