"""Every runtime and job file of a plan as text, for people to read before anything is deployed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stacks.domain.buildable import refuse_projected
from stacks.domain.errors import InputError
from stacks.domain.findings import closest, one_of
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.jobs import pack
from stacks.domain.names import (
    OUTPUT_BUCKET,
    OUTPUT_EXECUTION_ROLE_ARN,
    OUTPUT_JOB_QUEUE_ARN,
    OUTPUT_JOB_ROLE_ARN,
    OUTPUT_LOG_GROUP,
)
from stacks.domain.plan import ClusterPlan, JobPlan, Plan
from stacks.domain.render.batch import ClusterOutputs, Request, Run, job_definition, submit_request
from stacks.domain.render.neuron_env import neuron_env
from stacks.domain.render.node_bootstrap import node_bootstrap
from stacks.domain.render.node_programs import node_programs
from stacks.domain.render.node_user_data import node_user_data
from stacks.domain.render.slurm import job_script
from stacks.domain.render.slurm_node_setup import compute_node_setup, login_node_setup
from stacks.domain.render.slurm_node_user_data import slurm_node_user_data
from stacks.domain.rendered_fleets import fleet_texts

RUN_PLACEHOLDER = "<run id, chosen by launch>"
DEFINITION_PLACEHOLDER = "<ARN of the registered job definition>"


@dataclass(frozen=True, slots=True)
class RenderedFile:
    path: PurePosixPath
    """Relative to the directory that the user names."""
    text: str
    is_executable: bool = False


def rendered_files(
    plan: Plan, job_name: str | None, source_directory: Callable[[JobPlan], Path]
) -> tuple[RenderedFile, ...]:
    """Of all jobs, clusters and fleets, or of one job and its cluster. What a deploy decides is a placeholder in <>."""
    refuse_projected(plan)
    jobs = plan.jobs if job_name is None else (_job(plan, job_name),)
    clusters = plan.clusters if job_name is None else (plan.cluster(jobs[0].cluster),)
    files = [file for job in jobs for file in _job_files(plan, job, source_directory(job))]
    files += [file for cluster in clusters for file in _cluster_files(cluster)]
    if job_name is None:
        files += [file for fleet in plan.fleets for file in _fleet_files(plan, fleet)]
    return tuple(files)


def placeholder_outputs(plan: Plan, cluster: str) -> ClusterOutputs:
    def value(output: str, stack: str) -> str:
        return f"<{output} of stack {stack}>"

    stack = plan.stacks.of_cluster(cluster)
    return ClusterOutputs(
        bucket=value(OUTPUT_BUCKET, plan.stacks.storage),
        job_queue_arn=value(OUTPUT_JOB_QUEUE_ARN, stack),
        job_role_arn=value(OUTPUT_JOB_ROLE_ARN, stack),
        execution_role_arn=value(OUTPUT_EXECUTION_ROLE_ARN, stack),
        log_group=value(OUTPUT_LOG_GROUP, stack),
    )


def _job(plan: Plan, name: str) -> JobPlan:
    names = [job.name for job in plan.jobs]
    if name in names:
        return plan.job(name)
    if not names:
        raise InputError(f"no job is called {name}: the file has none", "add one under `jobs`")
    near = closest(name, names)
    raise InputError(
        f"no job is called {name}", f"did you mean {near}?" if near else f"there is {one_of(names)}"
    )


def _cluster_files(cluster: ClusterPlan) -> Iterator[RenderedFile]:
    place = PurePosixPath("clusters", cluster.name)
    if cluster.slurm is None:
        yield RenderedFile(place / "node-user-data.mime", node_user_data(cluster))
        return
    yield RenderedFile(place / "node-user-data.mime", slurm_node_user_data(cluster))
    yield RenderedFile(place / "compute-node-setup.sh", compute_node_setup(cluster), is_executable=True)
    yield RenderedFile(place / "login-node-setup.sh", login_node_setup(cluster), is_executable=True)


def _fleet_files(plan: Plan, fleet: FleetPlan) -> Iterator[RenderedFile]:
    for path, text in fleet_texts(plan, fleet):
        yield RenderedFile(path, text, is_executable=path.suffix == ".sh")


def _job_files(plan: Plan, job: JobPlan, source_directory: Path) -> Iterator[RenderedFile]:
    outputs = placeholder_outputs(plan, job.cluster)
    package = pack(job, plan, source_directory)
    place = PurePosixPath("jobs", job.name)
    yield RenderedFile(place / "neuron.env", neuron_env(plan, job))
    yield RenderedFile(place / "node-bootstrap.sh", node_bootstrap(plan, job), is_executable=True)
    for name, text in node_programs(job):
        yield RenderedFile(place / name, text)
    if plan.cluster(job.cluster).slurm is not None:
        yield RenderedFile(place / "job.sbatch", job_script(plan, job, package.sha256, outputs.bucket))
        return
    definition = job_definition(plan, job, package.sha256, outputs)
    submission = submit_request(plan, job, Run(RUN_PLACEHOLDER), DEFINITION_PLACEHOLDER, outputs)
    yield RenderedFile(place / "multi-node-job-definition.json", _json(definition))
    yield RenderedFile(place / "submit-job.json", _json(submission))


def _json(request: Request) -> str:
    return json.dumps(request, indent=2, ensure_ascii=False) + "\n"
