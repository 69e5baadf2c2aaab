"""Starting, finding and stopping; accounts; faults; who may talk to it."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from scripts.local_cloud import process
from stacks.domain.errors import WorldError
from tests.integration.local_cloud.conftest import session_for

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


def test_start_is_idempotent_find_finds_and_stop_stops(tmp_path: Path) -> None:
    assert process.find(tmp_path) is None
    first = process.start(tmp_path)
    try:
        assert process.start(tmp_path) == first == process.find(tmp_path)
    finally:
        stopped = process.stop(tmp_path)
    assert stopped
    assert process.find(tmp_path) is None
    assert not process.stop(tmp_path)


def test_a_state_file_of_a_dead_server_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text('{"pid": 999999999, "port": 1}')
    assert process.find(tmp_path) is None
    (tmp_path / "server.json").write_text("{")
    assert process.find(tmp_path) is None


def test_a_server_that_cannot_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(WorldError) as caught:
            process.start(tmp_path, port=taken.getsockname()[1])
    assert "before it was ready" in caught.value.message
    assert "in use" in caught.value.hint


def test_the_environment_leads_to_this_cloud_only(cloud: process.LocalCloud) -> None:
    environment = cloud.environment("123456789013")
    assert environment["AWS_ENDPOINT_URL"] == cloud.endpoint_url
    assert cloud.endpoint_url.startswith("http://localhost:")
    assert not Path(environment["AWS_CONFIG_FILE"]).exists()
    assert Path(environment["CDK_HOME"]).is_relative_to(cloud.state_dir)
    with pytest.raises(ValueError, match="twelve digits"):
        cloud.environment("12345")


def test_one_server_serves_any_account(cloud: process.LocalCloud) -> None:
    accounts = ("111111111111", "999999999999")
    for account in accounts:
        sts = session_for(cloud, account).client("sts")
        assert sts.get_caller_identity()["Account"] == account
        role = f"arn:aws:iam::{account}:role/any"
        given = sts.assume_role(RoleArn=role, RoleSessionName="session")["Credentials"]
        assumed = boto3.client(
            "sts",
            region_name="us-east-1",
            endpoint_url=cloud.endpoint_url,
            aws_access_key_id=given["AccessKeyId"],
            aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"],
        )
        assert assumed.get_caller_identity()["Account"] == account
    session_for(cloud, accounts[0]).client("sns").create_topic(Name="only-here")
    assert session_for(cloud, accounts[1]).client("sns").list_topics()["Topics"] == []


@pytest.mark.parametrize(
    ("service", "action", "call"),
    [
        ("ec2", "DescribeVpcs", lambda s: s.client("ec2").describe_vpcs()),
        ("batch", "DescribeJobQueues", lambda s: s.client("batch").describe_job_queues()),
        ("s3", "ListBuckets", lambda s: s.client("s3").list_buckets()),
        ("sts", "GetCallerIdentity", lambda s: s.client("sts").get_caller_identity()),
        ("logs", "DescribeLogGroups", lambda s: s.client("logs").describe_log_groups()),
        ("cloudformation", "ListStacks", lambda s: s.client("cloudformation").list_stacks()),
        ("cloudwatch", "ListDashboards", lambda s: s.client("cloudwatch").list_dashboards()),
        (
            "resourcegroupstaggingapi",
            "GetResources",
            lambda s: s.client("resourcegroupstaggingapi").get_resources(),
        ),
    ],
)
def test_a_planted_fault_strikes_as_often_as_it_says(
    session: boto3.Session, admin: Callable[..., Any], service: str, action: str, call: Callable[[Any], Any]
) -> None:
    fault = {
        "service": service,
        "action": action,
        "error_code": "AccessDenied",
        "message": "not you",
        "times": 2,
    }
    admin("POST", "faults", {**fault, "status_code": 403})
    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            call(session)
        assert caught.value.response["Error"]["Code"] == "AccessDenied"
        assert caught.value.response["Error"]["Message"] == "not you"
    call(session)


def test_a_delay_holds_a_call_up(session: boto3.Session, admin: Callable[..., Any]) -> None:
    sns = session.client("sns")
    sns.list_topics()
    admin("POST", "faults", {"service": "sns", "action": "ListTopics", "delay_seconds": 0.5})
    start = time.monotonic()
    sns.list_topics()
    assert time.monotonic() - start >= 0.5


def test_an_operation_that_nobody_answers_says_so(session: boto3.Session) -> None:
    with pytest.raises(ClientError) as caught:
        session.client("batch").create_consumable_resource(consumableResourceName="x")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501


def test_only_localhost_is_answered(cloud: process.LocalCloud) -> None:
    port = int(cloud.endpoint_url.rsplit(":", 1)[1])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/neuronkit/health", headers={"Host": f"evil.example:{port}"})
    assert connection.getresponse().status == 403
    connection.close()


@pytest.mark.parametrize("fault", [{}, {"service": "ec2", "colour": 1}, {"action": "create"}])
def test_a_fault_that_makes_no_sense_is_refused(admin: Callable[..., Any], fault: dict[str, Any]) -> None:
    with pytest.raises(OSError, match="400"):
        admin("POST", "faults", fault)


def test_half_an_upload_is_not_stored(cloud: process.LocalCloud, session: boto3.Session) -> None:
    s3 = session.client("s3")
    s3.create_bucket(Bucket="half-of-it", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    url = s3.generate_presigned_url("put_object", Params={"Bucket": "half-of-it", "Key": "a"})
    with socket.create_connection(("127.0.0.1", int(cloud.endpoint_url.rsplit(":", 1)[1]))) as connection:
        path = url.removeprefix(cloud.endpoint_url)
        head = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + b"x" * 10)
        connection.shutdown(socket.SHUT_WR)
        assert b" 400 " in connection.recv(100)
    assert s3.list_objects_v2(Bucket="half-of-it")["KeyCount"] == 0
