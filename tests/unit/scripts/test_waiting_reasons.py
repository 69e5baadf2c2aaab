"""A job that cannot start is explained in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from scripts.aws.batch import ComputeEnvironment, Job, JobQueue
from scripts.aws.ec2 import CapacityReservation
from scripts.deployed_cluster import DeployedCluster
from scripts.waiting_reasons import Surroundings, reasons
from tests.environments import plan_of

JOB = Job(
    name="smoke-1", id="1", state="RUNNABLE", reason="", created_at=1, nodes=4,
    exit_code=None, container_reason="", log_streams=(), vcpus=512,
)  # fmt: skip
ENVIRONMENT = ComputeEnvironment("ce", "arn:ce", "ENABLED", "VALID", "ComputeEnvironment Healthy", 512, {})
LIMIT = {
    "reason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
    "state": "RUNNABLE",
    "maxTimeSeconds": 600,
    "action": "CANCEL",
}
QUEUE = JobQueue("queue", "arn:q", "ENABLED", "VALID", "JobQueue Healthy", (LIMIT,), {})
BLOCK = CapacityReservation(
    "cr-1",
    "active",
    "capacity-block",
    "trn1.32xlarge",
    "use2-az3",
    4,
    4,
    None,
    datetime(2026, 1, 2, tzinfo=UTC),
)
ON_DEMAND = plan_of().clusters[0]
ON_BLOCK = replace(
    ON_DEMAND, capacity=replace(ON_DEMAND.capacity, name="block", kind="capacity-block", id="cr-1")
)
FINE = Surroundings(ON_DEMAND, ON_DEMAND.capacity, ENVIRONMENT, QUEUE, None, "L-2C3B7624")
FINE_BLOCK = Surroundings(ON_BLOCK, ON_BLOCK.capacity, ENVIRONMENT, QUEUE, BLOCK, None)


def words(job: Job, around: Surroundings) -> str:
    return "\n".join(reasons(job, around))


CASES = [
    (replace(FINE, queue=None), "job queue of cluster train is not there"),
    (replace(FINE, queue=replace(QUEUE, state="DISABLED")), "update-job-queue --job-queue queue --state ENABLED"),
    (replace(FINE, queue=replace(QUEUE, status="INVALID", reason="bad order")), "INVALID: bad order"),
    (replace(FINE, environment=None), "compute environment of cluster train is not there"),
    (
        replace(FINE, environment=replace(ENVIRONMENT, status="INVALID", reason="CLIENT_ERROR - no role")),
        "INVALID: CLIENT_ERROR - no role",
    ),
    (replace(FINE, environment=replace(ENVIRONMENT, state="DISABLED")), "--state ENABLED"),
    (replace(FINE, environment=replace(ENVIRONMENT, vcpus_max=128)), "needs 512 vCPUs, the compute environment may grow to 128"),
    (
        replace(FINE, environment=replace(ENVIRONMENT, reason="You've reached your quota for maximum vCPU")),
        "reached your quota",
    ),
    (replace(FINE_BLOCK, reservation=None), "cr-1) does not exist"),
    (
        replace(
            FINE_BLOCK, reservation=replace(BLOCK, state="scheduled", starts=datetime(2026, 1, 1, 11, 30, tzinfo=UTC))
        ),
        "has not begun (scheduled): it begins 2026-01-01T11:30:00+00:00",
    ),
    (replace(FINE_BLOCK, reservation=replace(BLOCK, state="expired")), "is over (expired)"),
    (replace(FINE_BLOCK, reservation=replace(BLOCK, available=3)), "has 3 of 4 instances free, the job wants 4"),
    (
        replace(
            FINE_BLOCK,
            reservation=None,
            capacity=replace(ON_BLOCK.capacity, id=None),
        ),
        "capacity block is not bought yet",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("around", "expected"), CASES)
def test_what_stands_in_the_way_is_said(around: Surroundings, expected: str) -> None:
    assert expected in words(JOB, around)


REASONS = {
    "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - nothing free": "choose another zone",
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE": "the file's `nodes` of the cluster have to be as many",
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT": "no instance of the cluster can give",
    "MISCONFIGURATION:SERVICE_ROLE_PERMISSIONS": "lacks a permission",
    "something new": "AWS Batch says: something new",
}


@pytest.mark.parametrize(("reason", "expected"), REASONS.items())
def test_batchs_own_reason_comes_with_advice(reason: str, expected: str) -> None:
    assert expected in words(replace(JOB, reason=reason), FINE)


@pytest.mark.parametrize(
    ("in_file", "advice"),
    [
        (4, "`neuronkit deploy FILE` first, the file has 4"),
        (3, "raise the cluster's `nodes` or lower the job's, then `neuronkit deploy FILE`"),
    ],
)
def test_a_job_bigger_than_what_is_deployed_hears_what_the_file_says(in_file: int, advice: str) -> None:
    small = DeployedCluster("trn1.32xlarge", 2, "on-demand", ())
    around = replace(
        FINE,
        cluster=replace(ON_DEMAND, nodes=in_file),
        deployed=small,
        environment=replace(ENVIRONMENT, vcpus_max=256),
    )
    said = words(replace(JOB, reason="MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"), around)
    assert f"the deployed cluster train takes 2 nodes, the job asks for 4: {advice}" in said
    assert said.count("the job asks for 4") == 1


def test_the_queues_limit_is_said_where_it_applies() -> None:
    stuck = replace(JOB, reason="CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY")
    assert "the queue ends a job that waits for this reason after 10 minutes" in words(stuck, FINE)
    assert "the queue ends" not in words(JOB, FINE)


def test_when_nothing_is_wrong_the_quota_is_named() -> None:
    assert words(JOB, FINE) == (
        "nothing is wrong that AWS Batch would say: it waits for EC2 to start the instances; if it takes long, look at "
        "the vCPU quota L-2C3B7624"
    )


@pytest.mark.parametrize("state", ["STARTING", "RUNNING", "SUCCEEDED", "FAILED"])
def test_a_job_that_has_started_needs_no_explanation(state: str) -> None:
    assert reasons(replace(JOB, state=state), replace(FINE, environment=None)) == ()
