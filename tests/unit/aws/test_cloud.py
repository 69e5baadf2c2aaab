"""Calls through one place: retries, errors, and what a child process is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import boto3
import pytest
from botocore.exceptions import ParamValidationError
from botocore.stub import Stubber

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, AwsError
from tests.unit.aws.conftest import cloud_in

Stubbed = tuple[Cloud, Callable[..., Stubber]]


def test_a_refusal_comes_out_as_words_with_the_permission(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("batch").add_client_error("terminate_job", "AccessDeniedException", "no")
    with pytest.raises(AccessDeniedError, match="batch:TerminateJob"):
        cloud.call("batch", "terminate_job", jobId="1", reason="r")


def test_a_refusal_in_the_middle_of_pages_does_too(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("batch").add_response("describe_job_queues", {"jobQueues": [_queue("one")], "nextToken": "more"}, {})
    stub("batch").add_client_error("describe_job_queues", "ClientException", "gone")
    pages = cloud.pages("batch", "describe_job_queues", "jobQueues")
    assert next(pages)["jobQueueName"] == "one"
    with pytest.raises(AwsError, match="batch:DescribeJobQueues"):
        next(pages)


def test_an_operation_without_pages_is_one_page(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("ec2").add_response("describe_addresses", {"Addresses": [{"PublicIp": "1.2.3.4"}]}, {})
    assert list(cloud.pages("ec2", "describe_addresses", "Addresses")) == [{"PublicIp": "1.2.3.4"}]


def test_a_call_that_we_build_wrongly_stays_a_bug() -> None:
    with pytest.raises(ParamValidationError):
        cloud_in().call("batch", "submit_job", nonsense=1)


def test_what_must_not_happen_twice_is_not_retried() -> None:
    cloud = cloud_in()
    assert cloud.client("batch", attempts=1).meta.config.retries["total_max_attempts"] == 1
    assert cloud.client("batch").meta.config.retries == {"mode": "adaptive", "total_max_attempts": 8}
    assert cloud.client("batch") is cloud.client("batch")


def test_a_child_process_gets_the_profile_and_no_stray_keys() -> None:
    cloud = Cloud("us-east-2", "1" * 12, is_local=False, session=boto3.Session(), profile="work")
    told = cloud.child_environment({"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SESSION_TOKEN": "t"})
    assert told["AWS_PROFILE"] == "work"
    assert told["AWS_REGION"] == told["AWS_DEFAULT_REGION"] == "us-east-2"
    assert told["AWS_ACCESS_KEY_ID"] == told["AWS_SESSION_TOKEN"] == ""


def test_a_child_process_without_profile_keeps_the_keys_of_the_environment() -> None:
    told = cloud_in().child_environment({"AWS_ACCESS_KEY_ID": "AKIA"})
    assert told == {"AWS_REGION": "us-east-2", "AWS_DEFAULT_REGION": "us-east-2"}


def test_a_child_process_of_the_local_cloud_cannot_reach_aws() -> None:
    cloud = Cloud(
        "us-east-2",
        "1" * 12,
        is_local=True,
        session=boto3.Session(),
        endpoint_url="http://localhost:1",
        local_environment=(("AWS_ACCESS_KEY_ID", "local"), ("AWS_ENDPOINT_URL", "http://localhost:1")),
    )
    told = cloud.child_environment({"AWS_PROFILE": "work", "AWS_ENDPOINT_URL_S3": "https://s3.amazonaws.com"})
    assert told["AWS_ENDPOINT_URL"] == "http://localhost:1"
    assert told["AWS_ACCESS_KEY_ID"] == "local"
    assert told["AWS_PROFILE"] == told["AWS_SESSION_TOKEN"] == told["AWS_ENDPOINT_URL_S3"] == ""


def _queue(name: str) -> dict[str, object]:
    return {
        "jobQueueName": name,
        "jobQueueArn": f"arn:aws:batch:us-east-2:1:job-queue/{name}",
        "state": "ENABLED",
        "priority": 1,
        "computeEnvironmentOrder": [],
    }


def test_a_cloud_tries_as_often_as_it_was_told() -> None:
    for cloud, attempts in ((cloud_in(), 8), (replace(cloud_in(), attempts=4), 4)):
        assert cloud.client("sts").meta.config.retries == {"mode": "adaptive", "total_max_attempts": attempts}
