"""Why a job does not start, in words. Pure: what Batch and EC2 say goes in, sentences come out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scripts.aws.batch import ComputeEnvironment, Job, JobQueue
from scripts.aws.ec2 import CapacityReservation
from scripts.deployed_cluster import DeployedCluster, room_words
from stacks.domain.capacity_plan import CapacityPlan
from stacks.domain.plan import ClusterPlan

_WAITING = ("SUBMITTED", "PENDING", "RUNNABLE")
_QUEUE_OF_LIMITS = "RUNNABLE"
_HEALTHY = "ComputeEnvironment Healthy"
_TOO_BIG = "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"
_MORE_NODES = (
    "the file's `nodes` of the cluster have to be as many as the job's, and deployed: `neuronkit deploy FILE`"
)
# Batch's own words for a stuck job (API reference, JobDetail.statusReason) and what to do about each.
_REASONS = {
    "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY": "EC2 has no such instances free in this zone at the moment: wait, choose "
    "another zone, or buy a reservation or capacity block",
    _TOO_BIG: "the job needs more vCPUs than the compute environment may grow to",
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT": "no instance of the cluster can give what one node of the job asks for: "
    "launch it anew with a job definition of this kit's, which leaves room for the host",
    "MISCONFIGURATION:SERVICE_ROLE_PERMISSIONS": "AWS Batch's service role lacks a permission: deploy again, or look for a "
    "policy of your organisation that forbids it",
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a job of one cluster depends on. None: it is not there."""

    cluster: ClusterPlan
    """As the file has it."""
    capacity: CapacityPlan
    """As it is deployed."""
    environment: ComputeEnvironment | None
    queue: JobQueue | None
    reservation: CapacityReservation | None
    quota_code: str | None
    deployed: DeployedCluster | None = None


def reasons(job: Job, around: Surroundings) -> tuple[str, ...]:
    """Empty for a job that has started. The last resort is said, too: what to look at when nothing is wrong."""
    if job.state not in _WAITING:
        return ()
    found = [
        *_from_queue(around),
        *_from_environment(job, around),
        *_from_capacity(job, around),
        *_from_batch(job),
        *(words for words in _limits(job, around)),
    ]
    return tuple(found) or (_nothing_wrong(around),)


def _from_queue(around: Surroundings) -> Iterator[str]:
    queue = around.queue
    if queue is None:
        yield f"the job queue of cluster {around.cluster.name} is not there: deploy again"
    elif queue.state == "DISABLED":
        yield f"the job queue is disabled: `aws batch update-job-queue --job-queue {queue.name} --state ENABLED`"
    elif queue.status == "INVALID":
        yield f"the job queue is INVALID: {queue.reason}"


def _from_environment(job: Job, around: Surroundings) -> Iterator[str]:
    environment = around.environment
    if environment is None:
        yield f"the compute environment of cluster {around.cluster.name} is not there: deploy again"
        return
    if environment.status != "VALID":
        yield f"the compute environment is {environment.status}: {environment.reason or 'AWS Batch gives no reason'}"
    elif environment.reason and environment.reason != _HEALTHY:
        yield f"AWS Batch says of the compute environment: {environment.reason}"
    if environment.state == "DISABLED":
        yield (
            "the compute environment is disabled: `aws batch update-compute-environment --compute-environment "
            f"{environment.name} --state ENABLED`"
        )
    is_too_big = (
        environment.vcpus_max is not None and job.vcpus is not None and job.vcpus > environment.vcpus_max
    )
    if is_too_big:
        yield (
            f"the job needs {job.vcpus} vCPUs, the compute environment may grow to {environment.vcpus_max}: it can never "
            "start"
        )
    if is_too_big or job.reason.startswith(_TOO_BIG):
        yield room_words(around.cluster, around.deployed, job.nodes) or _MORE_NODES


def _from_capacity(job: Job, around: Surroundings) -> Iterator[str]:
    capacity, reservation = around.capacity, around.reservation
    if capacity.kind in ("on-demand", "spot"):
        return
    unfit = list(unfit_capacity(capacity, reservation))
    yield from unfit
    if not unfit and reservation is not None and reservation.available < job.nodes:
        yield (
            f"capacity {reservation.id} has {reservation.available} of {reservation.instances} instances free, the job "
            f"wants {job.nodes}: another job may hold them"
        )


def unfit_capacity(capacity: CapacityPlan, reservation: CapacityReservation | None) -> Iterator[str]:
    """Why no node can come from a reservation or block at the moment; None: AWS knows none."""
    if not capacity.is_bought and reservation is None:
        yield f"capacity {capacity.name} is not bought yet"
    elif reservation is None:
        yield f"capacity {capacity.name} ({', '.join(capacity.ids) or capacity.id}) does not exist"
    elif reservation.state in ("scheduled", "payment-pending", "pending"):
        begins = reservation.starts.isoformat() if reservation.starts else "at a time that AWS does not say"
        yield f"capacity {reservation.id} has not begun ({reservation.state}): it begins {begins}"
    elif not reservation.is_paid_for:
        yield f"capacity {reservation.id} is over ({reservation.state}): buy another, write its id into the file, deploy"


def _from_batch(job: Job) -> Iterator[str]:
    if not job.reason:
        return
    advice = next((words for start, words in _REASONS.items() if job.reason.startswith(start)), None)
    yield f"AWS Batch says: {job.reason}" + (f" ({advice})" if advice else "")


def _limits(job: Job, around: Surroundings) -> Iterator[str]:
    """What the queue does about it by itself."""
    for limit in around.queue.state_limits if around.queue else ():
        if job.reason.startswith(str(limit.get("reason"))) and limit.get("state") == _QUEUE_OF_LIMITS:
            minutes = int(limit.get("maxTimeSeconds", 0)) / 60
            yield f"the queue ends a job that waits for this reason after {minutes:.0f} minutes"


def _nothing_wrong(around: Surroundings) -> str:
    quota = f"; if it takes long, look at the vCPU quota {around.quota_code}" if around.quota_code else ""
    return f"nothing is wrong that AWS Batch would say: it waits for EC2 to start the instances{quota}"
