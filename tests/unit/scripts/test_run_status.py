"""The status of an environment, from what AWS and the bucket say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from moto import mock_aws

from scripts import run_status
from scripts.aws import batch, s3
from scripts.aws.batch import ComputeEnvironment, Job, JobQueue, JobSummary
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.run_status import RUNS_OF_A_JOB_MAX, Status
from scripts.run_store import RunRecord, RunStore
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import Plan
from tests.environments import plan_of
from tests.unit.scripts.fakes import a_stack

PLAN = plan_of()
NETWORK, STORAGE, CLUSTER = PLAN.stacks.all
BUCKET = "pilot-storage-1"
ENVIRONMENT = ComputeEnvironment("ce", "arn:ce", "ENABLED", "VALID", "", 512, {})
QUEUE = JobQueue("q", "arn:q", "ENABLED", "VALID", "", (), {})
DETAIL = Job(
    name="", id="", state="", reason="", created_at=1, nodes=4, exit_code=None,
    container_reason="", log_streams=(), vcpus=512,
)  # fmt: skip


def take_status(cloud: Cloud, plan: Plan) -> Status:
    return run_status.take_status(cloud, plan, now=datetime(2026, 12, 7, 8, 20, tzinfo=UTC))


class Aws:
    """One deployed environment with a few runs; a test changes what it needs."""

    def __init__(self) -> None:
        self.stacks: dict[str, Stack] = {
            NETWORK: a_stack(NETWORK),
            STORAGE: a_stack(STORAGE, outputs={"BucketName": BUCKET}),
            CLUSTER: a_stack(CLUSTER, outputs={"ComputeEnvironmentArn": "arn:ce", "JobQueueArn": "arn:q"}),
        }
        self.jobs: list[JobSummary] = []
        self.reasons: dict[str, str] = {}

    def find_stack(self, cloud: Cloud, name: str) -> Stack | None:
        return self.stacks.get(name)

    def jobs_named(self, cloud: Cloud, queue: str, name: str) -> tuple[JobSummary, ...]:
        if name.endswith("*"):
            return tuple(job for job in self.jobs if job.name.startswith(name[:-1]))
        return tuple(job for job in self.jobs if job.name == name)

    def describe_jobs(self, cloud: Cloud, ids: Iterator[str]) -> tuple[Job, ...]:
        known = {job.id: job for job in self.jobs}
        return tuple(
            replace(
                DETAIL, id=id_, name=known[id_].name, state=known[id_].state, reason=self.reasons.get(id_, "")
            )
            for id_ in ids
        )


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    made = Aws()
    monkeypatch.setattr(run_status.cloudformation, "find_stack", made.find_stack)
    monkeypatch.setattr(batch, "find_compute_environment", lambda cloud, arn: ENVIRONMENT)
    monkeypatch.setattr(batch, "find_job_queue", lambda cloud, arn: QUEUE)
    monkeypatch.setattr(batch, "jobs_named", made.jobs_named)
    monkeypatch.setattr(batch, "describe_jobs", made.describe_jobs)
    return made


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with mock_aws():
        session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-2")
        made = Cloud("us-east-2", "1" * 12, is_local=False, session=session)
        made.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-east-2"}
        )
        yield made


def runs(status: Status) -> list[tuple[str, str]]:
    return [(run.run, run.state) for run in status.runs]


def claim(cloud: Cloud, run: str, scheduler_id: str | None = None) -> None:
    RunStore(cloud, BUCKET, "smoke").claim(RunRecord(run, "smoke", "me", scheduler_id))


def metrics(cloud: Cloud, run: str, *lines: str) -> None:
    s3.put(cloud, BUCKET, f"runs/smoke/{run}/metrics.jsonl", "\n".join(lines).encode())


def test_runs_come_newest_first_with_their_newest_whole_metrics(aws: Aws, cloud: Cloud) -> None:
    aws.jobs = [
        JobSummary("smoke-1", "a", "SUCCEEDED", 1),
        JobSummary("smoke-2", "b", "RUNNING", 2),
        JobSummary("smoke-big-1", "c", "RUNNING", 3),
    ]
    metrics(
        cloud,
        "smoke-2",
        json.dumps({"step": 1, "loss": 2.0}),
        json.dumps({"step": 2, "loss": 1.5}),
        '{"step": 3, "lo',
    )
    status = take_status(cloud, PLAN)
    assert runs(status) == [("smoke-2", "RUNNING"), ("smoke-1", "SUCCEEDED")]
    assert (status.runs[0].step, status.runs[0].loss) == (2, 1.5)
    assert (status.runs[1].step, status.runs[1].loss) == (None, None)
    assert "run      smoke-2: RUNNING, step 2, loss 1.5000" in status.text()


def test_a_waiting_run_is_explained_and_a_failed_one_has_its_reason(aws: Aws, cloud: Cloud) -> None:
    aws.jobs = [JobSummary("smoke-1", "a", "FAILED", 1), JobSummary("smoke-2", "b", "RUNNABLE", 2)]
    aws.reasons = {"a": "Job attempt duration exceeded timeout"}
    waiting, failed = take_status(cloud, PLAN).runs
    assert "waits for EC2" in waiting.why[0]
    assert failed.why == ("Job attempt duration exceeded timeout",)


def test_a_run_with_a_name_of_its_own_is_found_by_the_bucket(aws: Aws, cloud: Cloud) -> None:
    claim(cloud, "lr-sweep", "a")
    aws.jobs = [JobSummary("lr-sweep", "a", "RUNNING", 1)]
    assert runs(take_status(cloud, PLAN)) == [("lr-sweep", "RUNNING")]


def test_what_batch_has_forgotten_and_what_was_never_submitted_is_told_apart(aws: Aws, cloud: Cloud) -> None:
    claim(cloud, "smoke-1", "long-ago")
    claim(cloud, "smoke-2")
    assert runs(take_status(cloud, PLAN)) == [
        ("smoke-2", "CLAIMED (launch again to submit it)"),
        ("smoke-1", "ENDED (AWS Batch has forgotten how)"),
    ]


def test_only_the_newest_runs_are_listed(aws: Aws, cloud: Cloud) -> None:
    aws.jobs = [JobSummary(f"smoke-{number}", str(number), "SUCCEEDED", number) for number in range(1, 30)]
    found = take_status(cloud, PLAN).runs
    assert len(found) == RUNS_OF_A_JOB_MAX
    assert found[0].run == "smoke-29"


def test_nothing_deployed_is_no_error(aws: Aws, cloud: Cloud) -> None:
    aws.stacks = {}
    status = take_status(cloud, PLAN)
    assert {stack.status for stack in status.stacks} == {"not deployed"}
    assert status.runs == ()
    assert "no runs" in status.text()


def test_somebody_elses_stack_of_our_name_is_not_ours(aws: Aws, cloud: Cloud) -> None:
    aws.stacks[CLUSTER] = a_stack(CLUSTER, tags={ENVIRONMENT_TAG: "pilot-2"})
    status = take_status(cloud, PLAN)
    assert [stack.status for stack in status.stacks] == ["CREATE_COMPLETE", "CREATE_COMPLETE", "not deployed"]
    assert status.clusters[0].queue == "not deployed"


def test_the_document_has_every_part(aws: Aws, cloud: Cloud) -> None:
    aws.jobs = [JobSummary("smoke-1", "a", "RUNNING", 1)]
    body: dict[str, Any] = take_status(cloud, PLAN).as_dict()
    assert set(body) == {"environment", "region", "account", "stacks", "clusters", "runs", "fleets", "shifts"}
    assert set(body["clusters"][0]) == {"name", "compute_environment", "queue", "capacity", "ends"}
    assert set(body["runs"][0]) == {"job", "run", "state", "scheduler_id", "step", "loss", "why"}
