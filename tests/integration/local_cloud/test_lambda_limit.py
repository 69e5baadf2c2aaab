"""Reserving executions of Lambda: what the account's limit leaves, and what is refused in AWS's words."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.integration.local_cloud.conftest import REGION

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


@pytest.fixture
def client(session: boto3.Session) -> Any:
    """With functions `a` and `b`."""
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = session.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", "def handle(event, context): return event")
    found = session.client("lambda")
    for name in ("a", "b"):
        found.create_function(
            FunctionName=name,
            Role=role,
            Runtime="python3.13",
            Handler="index.handle",
            Code={"ZipFile": code.getvalue()},
        )
    return found


def reserve(client: Any, function: str, executions: int) -> None:
    client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=executions)


def limits(client: Any) -> tuple[int, int]:
    found = client.get_account_settings()["AccountLimit"]
    return found["ConcurrentExecutions"], found["UnreservedConcurrentExecutions"]


def refused(client: Any, function: str, executions: int) -> str:
    with pytest.raises(ClientError) as caught:
        reserve(client, function, executions)
    assert caught.value.response["Error"]["Code"] == "InvalidParameterValueException"
    return str(caught.value.response["Error"]["Message"])


def test_a_hundred_stay_unreserved_and_a_function_s_own_reservation_may_change(client: Any) -> None:
    assert limits(client) == (1000, 1000)
    reserve(client, "a", 900)
    assert limits(client) == (1000, 100)
    assert "below its minimum value of [100]" in refused(client, "b", 1)
    reserve(client, "a", 899)
    reserve(client, "b", 1)
    assert limits(client) == (1000, 100)
    client.delete_function_concurrency(FunctionName="a")
    assert limits(client) == (1000, 999)
    client.delete_function(FunctionName="b")
    assert limits(client) == (1000, 1000)


@pytest.mark.parametrize(("limit", "least"), [(10, 10), (50, 50), (100, 100), (101, None)])
def test_of_a_small_limit_nothing_can_be_reserved(
    client: Any, admin: Callable[..., Any], account: str, limit: int, least: int | None
) -> None:
    admin("POST", "lambda-limit", {"account": account, "region": REGION, "executions": limit})
    assert limits(client) == (limit, limit)
    if least is None:
        reserve(client, "a", 1)
        assert limits(client) == (101, 100)
    else:
        assert f"below its minimum value of [{least}]" in refused(client, "a", 1)
        reserve(client, "a", 0)
