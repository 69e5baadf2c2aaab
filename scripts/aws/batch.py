"""AWS Batch: environments, queues, definitions and jobs, multi-node parallel ones with their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.aws.cloud import Cloud

_SERVICE = "batch"
ACTIVE_STATES = ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING")
_DESCRIBE_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class ComputeEnvironment:
    name: str
    arn: str
    state: str
    """ENABLED or DISABLED: what was asked for."""
    status: str
    """CREATING, VALID, INVALID, …: what it is."""
    reason: str
    vcpus_max: int | None
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class JobQueue:
    name: str
    arn: str
    state: str
    status: str
    reason: str
    state_limits: tuple[dict[str, Any], ...]
    """JobStateTimeLimitAction, as the API says them."""
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class JobDefinition:
    name: str
    arn: str
    revision: int
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class JobSummary:
    name: str
    id: str
    state: str
    created_at: int
    """Milliseconds since 1970, of AWS's clock."""

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES


@dataclass(frozen=True, slots=True)
class Job:
    """A job, or one node of a multi-node job (then its id ends in #N)."""

    name: str
    id: str
    state: str
    reason: str
    created_at: int
    nodes: int
    exit_code: int | None
    container_reason: str
    log_streams: tuple[str, ...]
    """Of every attempt, oldest first."""
    vcpus: int | None
    """Of the whole job, where the definition gives them."""

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES


def compute_environments(cloud: Cloud) -> tuple[ComputeEnvironment, ...]:
    raw_environments = cloud.pages(_SERVICE, "describe_compute_environments", "computeEnvironments")
    found = (_compute_environment(raw) for raw in raw_environments)
    return tuple(environment for environment in found if environment.status != "DELETED")


def job_queues(cloud: Cloud) -> tuple[JobQueue, ...]:
    found = (_job_queue(raw) for raw in cloud.pages(_SERVICE, "describe_job_queues", "jobQueues"))
    return tuple(queue for queue in found if queue.status != "DELETED")


def find_compute_environment(cloud: Cloud, arn: str) -> ComputeEnvironment | None:
    answer = cloud.call(_SERVICE, "describe_compute_environments", computeEnvironments=[arn])
    return next((_compute_environment(raw) for raw in answer["computeEnvironments"]), None)


def find_job_queue(cloud: Cloud, arn: str) -> JobQueue | None:
    answer = cloud.call(_SERVICE, "describe_job_queues", jobQueues=[arn])
    return next((_job_queue(raw) for raw in answer["jobQueues"]), None)


def active_job_definitions(cloud: Cloud, name: str | None = None) -> tuple[JobDefinition, ...]:
    """Every ACTIVE revision, of one name or of all."""
    return _job_definitions(cloud, "ACTIVE", {"jobDefinitionName": name} if name else {})


def inactive_job_definitions(cloud: Cloud) -> tuple[JobDefinition, ...]:
    """Deregistered ones, which AWS Batch keeps for a while."""
    return _job_definitions(cloud, "INACTIVE", {})


def _job_definitions(cloud: Cloud, status: str, wanted: Mapping[str, str]) -> tuple[JobDefinition, ...]:
    raw_definitions = cloud.pages(
        _SERVICE, "describe_job_definitions", "jobDefinitions", status=status, **wanted
    )
    return tuple(
        JobDefinition(
            name=raw["jobDefinitionName"],
            arn=raw["jobDefinitionArn"],
            revision=raw["revision"],
            tags=dict(raw.get("tags") or {}),
        )
        for raw in raw_definitions
    )


def register_job_definition(cloud: Cloud, definition: Mapping[str, Any]) -> str:
    """The ARN of the new revision."""
    arn: str = cloud.call(_SERVICE, "register_job_definition", **definition)["jobDefinitionArn"]
    return arn


def deregister_job_definition(cloud: Cloud, arn: str) -> None:
    cloud.call(_SERVICE, "deregister_job_definition", jobDefinition=arn)


def submit(cloud: Cloud, request: Mapping[str, Any]) -> str:
    """The job's id. SubmitJob has no client token: no retries here, and whoever calls looks for the name first."""
    job_id: str = cloud.call_once(_SERVICE, "submit_job", **request)["jobId"]
    return job_id


def jobs_named(cloud: Cloud, queue_arn: str, name: str) -> tuple[JobSummary, ...]:
    """In every state. A name that ends in * stands for every name that begins so. Newest first."""
    raw_jobs = cloud.pages(
        _SERVICE,
        "list_jobs",
        "jobSummaryList",
        jobQueue=queue_arn,
        filters=[{"name": "JOB_NAME", "values": [name]}],
    )
    # Batch compares names without regard to case.
    found = [_summary(raw) for raw in raw_jobs if name.endswith("*") or raw["jobName"] == name]
    return tuple(sorted(found, key=lambda job: job.created_at, reverse=True))


def active_jobs(cloud: Cloud, queue_arn: str) -> tuple[JobSummary, ...]:
    return tuple(
        _summary(raw)
        for state in ACTIVE_STATES
        for raw in cloud.pages(_SERVICE, "list_jobs", "jobSummaryList", jobQueue=queue_arn, jobStatus=state)
    )


def describe_jobs(cloud: Cloud, ids: Iterable[str]) -> tuple[Job, ...]:
    """In the order of the ids; Batch forgets finished jobs after a week or more."""
    remaining = list(ids)
    jobs: list[Job] = []
    while remaining:
        part, remaining = remaining[:_DESCRIBE_AT_ONCE], remaining[_DESCRIBE_AT_ONCE:]
        answer = cloud.call(_SERVICE, "describe_jobs", jobs=part)
        found = {raw["jobId"]: _job(raw) for raw in answer["jobs"]}
        jobs += [found[job_id] for job_id in part if job_id in found]
    return tuple(jobs)


def find_job(cloud: Cloud, job_id: str) -> Job | None:
    return next(iter(describe_jobs(cloud, [job_id])), None)


def nodes_of(cloud: Cloud, job_id: str, nodes: int) -> tuple[Job, ...]:
    """The nodes of a multi-node job by index. Not all exist before the job starts."""
    return describe_jobs(cloud, [f"{job_id}#{index}" for index in range(nodes)])


def terminate_job(cloud: Cloud, job_id: str, reason: str) -> None:
    """Cancels a job that waits and stops one that runs; no error if it has ended."""
    cloud.call(_SERVICE, "terminate_job", jobId=job_id, reason=reason)


def _compute_environment(raw: dict[str, Any]) -> ComputeEnvironment:
    return ComputeEnvironment(
        name=raw["computeEnvironmentName"],
        arn=raw["computeEnvironmentArn"],
        state=raw.get("state", ""),
        status=raw.get("status", ""),
        reason=raw.get("statusReason", ""),
        vcpus_max=raw.get("computeResources", {}).get("maxvCpus"),
        tags=dict(raw.get("tags") or {}),
    )


def _job_queue(raw: dict[str, Any]) -> JobQueue:
    return JobQueue(
        name=raw["jobQueueName"],
        arn=raw["jobQueueArn"],
        state=raw.get("state", ""),
        status=raw.get("status", ""),
        reason=raw.get("statusReason", ""),
        state_limits=tuple(raw.get("jobStateTimeLimitActions") or ()),
        tags=dict(raw.get("tags") or {}),
    )


def _summary(raw: dict[str, Any]) -> JobSummary:
    return JobSummary(raw["jobName"], raw["jobId"], raw["status"], raw.get("createdAt", 0))


def _job(raw: dict[str, Any]) -> Job:
    node_properties = raw.get("nodeProperties") or {}
    container = raw.get("container") or {}
    attempts = raw.get("attempts") or ()
    streams = [(attempt.get("container") or {}).get("logStreamName") for attempt in attempts]
    streams.append(container.get("logStreamName"))
    return Job(
        name=raw["jobName"],
        id=raw["jobId"],
        state=raw["status"],
        reason=raw.get("statusReason", ""),
        created_at=raw.get("createdAt", 0),
        nodes=node_properties.get("numNodes", 1),
        exit_code=container.get("exitCode"),
        container_reason=container.get("reason", ""),
        log_streams=tuple(dict.fromkeys(stream for stream in streams if stream)),
        vcpus=_vcpus(node_properties),
    )


def _vcpus(node_properties: Mapping[str, Any]) -> int | None:
    """Of the first range, for all nodes: Batch wants one instance type for a multi-node job anyway."""
    for node_range in node_properties.get("nodeRangeProperties") or ():
        container = node_range.get("container") or {}
        for requirement in container.get("resourceRequirements") or ():
            if requirement["type"] == "VCPU":
                return int(requirement["value"]) * int(node_properties.get("numNodes", 1))
    return None
