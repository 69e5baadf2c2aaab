"""AWS Batch: a job as a multi-node job definition, a run as a submission of it. Plain requests; nothing is called."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from stacks.domain.errors import InputError
from stacks.domain.names import (
    CLUSTER_TAG,
    CONTENT_TAG,
    ENVIRONMENT_TAG,
    JOB_TAG,
    RUN_TAG,
    job_definition_name,
    package_key,
    run_prefix,
)
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.engine import render

DEFINITION_BYTES_MAX = 24 * 1024
SUBMISSION_BYTES_MAX = 30 * 1024
"""AWS Batch user guide, service quotas."""

Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClusterOutputs:
    """What the deployed stacks promise to a job of one cluster."""

    bucket: str
    job_queue_arn: str
    job_role_arn: str
    execution_role_arn: str
    log_group: str


@dataclass(frozen=True, slots=True)
class Run:
    """`resume_from` is `s3://BUCKET/…/checkpoints`, or one step's directory in it; `resume_step` chooses among several."""

    id: str
    resume_from: str | None = None
    resume_step: int | None = None


@dataclass(frozen=True, slots=True)
class PackageLoader:
    template: ClassVar[str] = "jobs/batch/package-loader.sh.j2"


@dataclass(frozen=True, slots=True)
class MultiNodeJobDefinition:
    template: ClassVar[str] = "jobs/batch/multi-node-job-definition.json.j2"

    name: str
    job: str
    region: str
    nodes: int
    last_node: int
    image: str
    instance_type: str
    loader: str
    job_role_arn: str
    execution_role_arn: str
    vcpus: int
    memory_mib: int
    shared_memory_mib: int
    device_paths: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    secrets: tuple[tuple[str, str], ...]
    log_group: str
    attempts: int
    time_limit_seconds: int
    tags: tuple[tuple[str, str], ...]
    content_tag: str
    content_sha256: str


def job_definition(plan: Plan, job: JobPlan, package_sha256: str, outputs: ClusterOutputs) -> Request:
    """A RegisterJobDefinition request; CONTENT_TAG tells whether a registered revision is this very one."""
    context = _definition_context(plan, job, package_sha256, outputs)
    digest = hashlib.sha256(render(context).encode()).hexdigest()
    request: Request = json.loads(render(replace(context, content_sha256=digest)))
    _check_size(request, DEFINITION_BYTES_MAX, f"the job definition of {job.name}")
    return request


def submit_request(
    plan: Plan, job: JobPlan, run: Run, job_definition_arn: str, outputs: ClusterOutputs
) -> Request:
    """A SubmitJob request. The run's id is the job's name: that is how a repeated launch finds it again."""
    variables = {
        "NEURONKIT_BUCKET": outputs.bucket,
        "NEURONKIT_RUN_ID": run.id,
        "NEURONKIT_RUN_PREFIX": run_prefix(job.name, run.id),
    }
    if run.resume_from is not None:
        variables["NEURONKIT_RESUME_FROM"] = run.resume_from
    if run.resume_step is not None:
        variables["NEURONKIT_RESUME_STEP"] = str(run.resume_step)
    environment = [{"name": name, "value": value} for name, value in sorted(variables.items())]
    # The very range of the definition: whether Batch takes another spelling of it nobody has tried.
    override = {"targetNodes": f"0:{job.nodes - 1}", "containerOverrides": {"environment": environment}}
    request: Request = {
        "jobName": run.id,
        "jobQueue": outputs.job_queue_arn,
        "jobDefinition": job_definition_arn,
        "nodeOverrides": {"nodePropertyOverrides": [override]},
        "tags": {ENVIRONMENT_TAG: plan.name, JOB_TAG: job.name, RUN_TAG: run.id},
        "propagateTags": True,
    }
    _check_size(request, SUBMISSION_BYTES_MAX, f"the submission of {run.id}")
    return request


def _definition_context(
    plan: Plan, job: JobPlan, package_sha256: str, outputs: ClusterOutputs
) -> MultiNodeJobDefinition:
    if job.image is None:
        raise InputError(f"no container image is known for job {job.name}", "name one under software.images")
    return MultiNodeJobDefinition(
        name=job_definition_name(plan.name, job.name),
        job=job.name,
        region=plan.region,
        nodes=job.nodes,
        last_node=job.nodes - 1,
        image=job.image.pinned_uri,
        instance_type=plan.cluster(job.cluster).instance_type,
        loader=render(PackageLoader()),
        job_role_arn=outputs.job_role_arn,
        execution_role_arn=outputs.execution_role_arn,
        vcpus=job.vcpus_per_node,
        memory_mib=job.memory_mib_per_node,
        shared_memory_mib=job.shared_memory_mib_per_node,
        device_paths=_device_paths(job),
        variables=_variables(plan, package_sha256),
        secrets=job.secrets,
        log_group=outputs.log_group,
        attempts=job.attempts,
        time_limit_seconds=job.time_limit_seconds,
        tags=tuple(sorted((*plan.tags, (CLUSTER_TAG, job.cluster), (JOB_TAG, job.name)))),
        content_tag=CONTENT_TAG,
        content_sha256="",
    )


def _device_paths(job: JobPlan) -> tuple[str, ...]:
    """Every chip and every EFA device: one that is not mapped does not exist in the container."""
    chips = [f"/dev/neuron{index}" for index in range(job.chips_per_node)]
    efa = [f"/dev/infiniband/uverbs{index}" for index in range(job.efa_devices_per_node)]
    return (*chips, *efa)


def _variables(plan: Plan, package_sha256: str) -> tuple[tuple[str, str], ...]:
    """Of every run; the aws command and boto3 each read a region variable of their own."""
    variables = {
        "AWS_DEFAULT_REGION": plan.region,
        "AWS_REGION": plan.region,
        "NEURONKIT_PACKAGE_KEY": package_key(package_sha256),
        "NEURONKIT_PACKAGE_SHA256": package_sha256,
    }
    return tuple(sorted(variables.items()))


def _check_size(request: Request, bytes_max: int, what: str) -> None:
    size = len(json.dumps(request).encode())
    if size > bytes_max:
        raise InputError(
            f"{what} has {size} bytes; AWS Batch takes {bytes_max}",
            "shorten the tags, or give long values to the job in a file of its source",
        )
