"""Slurm: runs on one cluster through the texts of `slurm_scripts`. One round trip for each question, one for a submission."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from scripts.aws import s3
from scripts.aws.cloud import Cloud
from scripts.run_choice import number_of
from scripts.schedulers import slurm_scripts
from scripts.schedulers.login_node import Transport
from scripts.schedulers.remote_answer import Answer
from scripts.schedulers.scheduler import ScheduledRun
from scripts.schedulers.slurm_answers import (
    Ended,
    NodeState,
    SlurmJob,
    parse_ended,
    parse_files,
    parse_jobs,
    parse_nodes,
)
from scripts.schedulers.slurm_runs import of_directory, of_job
from scripts.schedulers.slurm_scripts import Place
from scripts.schedulers.slurm_watch import SlurmWatch
from scripts.schedulers.slurm_words import sbatch_words
from stacks.domain.errors import WorldError
from stacks.domain.jobs import JobPackage
from stacks.domain.names import run_prefix
from stacks.domain.plan import ClusterPlan, JobPlan, Plan
from stacks.domain.render.batch import Run
from stacks.domain.render.slurm import job_script, run_directory, submit_arguments

SLURM: Final = "Slurm"
_SUBMITTED = re.compile(r"^(?:found|submitted) ([0-9]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Seen:
    """All that one look tells of the cluster's runs."""

    jobs: tuple[SlurmJob, ...]
    """Ours, active and ended, of those that Slurm has not forgotten."""
    ids: dict[tuple[str, str], str]
    """Of each (job, run) that was submitted."""
    ended: dict[tuple[str, str], Ended]
    nodes: tuple[NodeState, ...]


def place_of(plan: Plan, cluster: ClusterPlan) -> Place:
    slurm = cluster.slurm
    assert slurm is not None, "of a Slurm cluster"
    assert slurm.shared_storage is not None, "a rule asks for it"
    runs = f"{slurm.shared_storage.mount_point}/neuronkit/{plan.name}/runs"
    return Place(slurm.queue, slurm_scripts.comment_of(plan.name), runs)


@dataclass
class SlurmScheduler:
    cloud: Cloud
    plan: Plan
    cluster: ClusterPlan
    bucket: str
    transport: Transport
    slurm_version: str | None
    """Of the Slurm that takes the jobs, where it is known."""
    name: str = SLURM
    logs_are: str = "log directory"
    seen: Seen | None = field(default=None, init=False)
    """The newest look."""

    @property
    def forgets(self) -> str:
        return f"a run is known as long as its directory below {self.place.runs_directory} is there"

    @property
    def place(self) -> Place:
        return place_of(self.plan, self.cluster)

    def logs_of(self, job: JobPlan, run: str) -> str:
        return run_directory(self.plan, job, run)

    # --- what is there ---

    def active_runs(self) -> tuple[ScheduledRun, ...]:
        """A new look; what the other questions answer is of it. `submit` looks once more, under its lock."""
        seen = self.seen = self.look()
        return tuple(run for job in seen.jobs if (run := of_job(job, None)).is_active)

    def runs_named(self, job: JobPlan, run: str) -> tuple[ScheduledRun, ...]:
        return tuple(one for one in self.runs_of(job, [run]) if one.name == run)

    def find(self, run: str) -> tuple[ScheduledRun, str] | None:
        seen = self.seen = self.seen or self.look()
        found = [(int(id_), job) for (job, name), id_ in seen.ids.items() if name == run]
        if not found:
            return None
        number, job = max(found)
        known = next((one for one in seen.jobs if one.id == str(number)), None)
        ended = seen.ended.get((job, run))
        return (
            of_job(known, ended) if known else of_directory(run, str(number), ended),
            f"{self.place.runs_directory}/{job}/{run}",
        )

    def names_of(self, job: JobPlan) -> tuple[str, ...]:
        return tuple(run.name for run in self.runs_of(job, ()))

    def runs_of(self, job: JobPlan, names: Iterable[str]) -> tuple[ScheduledRun, ...]:
        """Newest first: numbered runs and those with one of the names, each once."""
        seen = self.seen = self.seen or self.look()
        wanted, found = set(names), {}
        for (job_name, run), id_ in seen.ids.items():
            if job_name == job.name:
                found[run] = of_directory(run, id_, seen.ended.get((job_name, run)))
        for one in sorted(seen.jobs, key=lambda one: int(one.id)):
            if one.name in wanted or one.name in found or number_of(job.name, one.name) is not None:
                found[one.name] = of_job(one, seen.ended.get((job.name, one.name)))
        return tuple(sorted(found.values(), key=lambda run: run.order, reverse=True))

    def look(self) -> Seen:
        answer = self._run(slurm_scripts.look_script(self.place), "look for runs")
        queue, nodes, files = _sections(answer.text)
        contents = {tuple(path.split("/")): text for path, text in parse_files(files)}
        ids, ended = {}, {}
        for path, text in contents.items():
            if len(path) != 3:
                continue
            key = (path[0], path[1])
            if path[2] == slurm_scripts.JOB_ID_FILE and text.strip().isdecimal():
                ids[key] = text.strip()
            elif path[2] == slurm_scripts.ENDED_FILE and (how := parse_ended(text)) is not None:
                ended[key] = how
        ours = [job for job in parse_jobs(queue) if job.comment == self.place.comment and job.id.isdecimal()]
        return Seen(tuple(ours), ids, ended, parse_nodes(nodes))

    # --- a new run ---

    def prepare(self, job: JobPlan, package: JobPackage) -> str:
        return job_script(self.plan, job, package.sha256, self.bucket)

    def submit(self, job: JobPlan, run: Run, prepared: str) -> ScheduledRun:
        """Repeated, it finds what it has submitted, also when its answer was lost. Raises WorldError with Slurm's words."""
        s3.put(self.cloud, self.bucket, f"{run_prefix(job.name, run.id)}/job.sbatch", prepared.encode())
        options, arguments = submit_arguments(self.plan, job, run, self.slurm_version)
        directory = run_directory(self.plan, job, run.id)
        text = slurm_scripts.submit_script(self.place, run.id, directory, prepared, options, arguments)
        answer = self.transport.run(text)
        if answer.exit_code == slurm_scripts.REFUSED:
            raise WorldError(
                f"Slurm refuses run {run.id}: {sbatch_words(answer.stderr)}",
                "change the job or the cluster in the file and deploy; `sinfo` on the login node shows what there is",
            )
        self._check(answer, f"submit run {run.id}")
        submitted = _SUBMITTED.search(answer.text)
        if submitted is None:
            raise WorldError(
                f"the login node does not say whether run {run.id} was submitted: {answer.text.strip()[:200]}",
                "give the same command again: it finds the run if it was",
            )
        id_ = submitted.group(1)
        return ScheduledRun(
            run.id, id_, "PENDING", is_active=True, has_failed=False, order=int(id_), nodes=job.nodes
        )

    # --- one run ---

    def cancel(self, run: ScheduledRun, logs: str) -> None:
        self._run(slurm_scripts.cancel_script(logs, run.id), f"cancel run {run.name}")

    def watch(self, run: ScheduledRun, logs: str, only_node: int | None = None) -> SlurmWatch:
        return SlurmWatch(self._run, logs, run, only_node)

    def _run(self, script: str, what: str) -> Answer:
        answer = self.transport.run(script)
        self._check(answer, what)
        return answer

    def _check(self, answer: Answer, what: str) -> None:
        if answer.exit_code == 0:
            return
        if answer.exit_code == slurm_scripts.BUSY:
            raise WorldError(
                f"cannot {what}: another launch has held its lock for {slurm_scripts.LOCK_SECONDS} s",
                "wait for it, then give the same command again",
            )
        words = sbatch_words(answer.stderr) or f"exit code {answer.exit_code}"
        raise WorldError(
            f"cannot {what}: the login node says: {words}",
            "see the cluster's state with `neuronkit status FILE`; the same command continues from here",
        )


def _sections(text: str) -> tuple[str, str, str]:
    queue, _, rest = text.partition("--\n")
    nodes, _, files = rest.partition("--\n")
    return queue, nodes, files
