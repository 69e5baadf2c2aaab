from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts.aws import batch
from scripts.aws.cloud import Cloud
from scripts.aws.translation import ThrottledError

Stubbed = tuple[Cloud, Callable[..., Stubber]]
QUEUE = "arn:aws:batch:us-east-2:1:job-queue/q"


def summary(name: str, id_: str, status: str = "RUNNING", created_at: int = 1) -> dict[str, Any]:
    return {"jobName": name, "jobId": id_, "status": status, "createdAt": created_at}


def detail(id_: str, **more: Any) -> dict[str, Any]:
    return {
        "jobName": "smoke-1",
        "jobId": id_,
        "jobQueue": QUEUE,
        "status": "RUNNING",
        "startedAt": 1,
        "jobDefinition": "d",
        **more,
    }


def test_jobs_are_looked_up_by_their_very_name_newest_first(stubbed: Stubbed) -> None:
    """Batch itself compares without regard to case."""
    cloud, stub = stubbed
    stub("batch").add_response(
        "list_jobs",
        {
            "jobSummaryList": [
                summary("smoke-1", "a", created_at=1),
                summary("Smoke-1", "b"),
                summary("smoke-1", "c", created_at=9),
            ]
        },
        {"jobQueue": QUEUE, "filters": [{"name": "JOB_NAME", "values": ["smoke-1"]}]},
    )
    assert [job.id for job in batch.jobs_named(cloud, QUEUE, "smoke-1")] == ["c", "a"]


def test_active_jobs_are_asked_for_in_each_state_that_is_not_final(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    for state in ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING"):
        stub("batch").add_response(
            "list_jobs",
            {"jobSummaryList": [summary("smoke-1", state, state)]},
            {"jobQueue": QUEUE, "jobStatus": state},
        )
    jobs = batch.active_jobs(cloud, QUEUE)
    assert [job.state for job in jobs] == list(batch.ACTIVE_STATES)
    assert all(job.is_active for job in jobs)


def test_a_multi_node_job_is_read_with_its_nodes_and_needs(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    container = {"resourceRequirements": [{"type": "MEMORY", "value": "1"}, {"type": "VCPU", "value": "192"}]}
    properties = {
        "numNodes": 2,
        "mainNode": 0,
        "nodeRangeProperties": [{"targetNodes": "0:1", "container": container}],
    }
    stub("batch").add_response(
        "describe_jobs", {"jobs": [detail("a", nodeProperties=properties)]}, {"jobs": ["a"]}
    )
    job = batch.find_job(cloud, "a")
    assert job is not None
    assert (job.nodes, job.vcpus) == (2, 384)
    stub("batch").add_response(
        "describe_jobs",
        {
            "jobs": [
                detail("a#1", status="FAILED", container={"exitCode": 9, "reason": "OOM", "logStreamName": "s2"},
                       attempts=[{"container": {"logStreamName": "s1"}}, {"container": {"logStreamName": "s2"}}]),
                detail("a#0"),
            ]
        },
        {"jobs": ["a#0", "a#1"]},
    )  # fmt: skip
    first, second = batch.nodes_of(cloud, job.id, job.nodes)
    assert (first.id, second.id) == ("a#0", "a#1")
    assert (second.exit_code, second.container_reason, second.log_streams) == (9, "OOM", ("s1", "s2"))


def test_many_jobs_are_described_a_hundred_at_a_time(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    ids = [f"a#{index}" for index in range(150)]
    for part in (ids[:100], ids[100:]):
        stub("batch").add_response("describe_jobs", {"jobs": [detail(id_) for id_ in part]}, {"jobs": part})
    assert [job.id for job in batch.describe_jobs(cloud, ids)] == ids


def test_a_job_that_batch_has_forgotten_is_none(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("batch").add_response("describe_jobs", {"jobs": []}, {"jobs": ["a"]})
    assert batch.find_job(cloud, "a") is None


def test_submission_is_tried_once(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stubber = stub("batch", 1)
    stubber.add_client_error("submit_job", "TooManyRequestsException")
    with pytest.raises(ThrottledError):
        batch.submit(cloud, {"jobName": "smoke-1", "jobQueue": QUEUE, "jobDefinition": "d"})


def test_definitions_are_told_apart_by_their_state(cloud: Cloud) -> None:
    properties = {"image": "i", "vcpus": 1, "memory": 128}
    for _ in range(2):
        batch.register_job_definition(
            cloud,
            {
                "jobDefinitionName": "pilot-smoke",
                "type": "container",
                "containerProperties": properties,
                "tags": {"a": "b"},
            },
        )
    first, second = batch.active_job_definitions(cloud, "pilot-smoke")
    assert first.tags == {"a": "b"}
    batch.deregister_job_definition(cloud, first.arn)
    assert [definition.arn for definition in batch.active_job_definitions(cloud)] == [second.arn]
    assert [definition.arn for definition in batch.inactive_job_definitions(cloud)] == [first.arn]


def test_environments_and_queues_that_are_deleted_do_not_count(stubbed: Stubbed) -> None:
    cloud, stub = stubbed

    def environment(name: str, status: str) -> dict[str, Any]:
        return {
            "computeEnvironmentName": name,
            "computeEnvironmentArn": f"arn:{name}",
            "status": status,
            "state": "ENABLED",
            "computeResources": {"type": "EC2", "maxvCpus": 512, "subnets": []},
        }

    stub("batch").add_response(
        "describe_compute_environments",
        {"computeEnvironments": [environment("a", "VALID"), environment("b", "DELETED")]},
        {},
    )
    (found,) = batch.compute_environments(cloud)
    assert (found.name, found.vcpus_max, found.tags) == ("a", 512, {})
