"""Lambda functions: whether one is there, how to be rid of it, and how many may run at the same time."""

from __future__ import annotations

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.errors import WorldError
from stacks.domain.live import LambdaConcurrency

_GONE = "ResourceNotFoundException"


def exists(cloud: Cloud, arn: str) -> bool:
    try:
        cloud.call("lambda", "get_function_configuration", FunctionName=arn)
    except AwsError as error:
        if error.code == _GONE:
            return False
        raise
    return True


def delete(cloud: Cloud, arn: str) -> None:
    """No error if it is gone."""
    try:
        cloud.call("lambda", "delete_function", FunctionName=arn)
    except AwsError as error:
        if error.code != _GONE:
            raise


def concurrency(cloud: Cloud) -> LambdaConcurrency:
    """Of the account in the region. Raises KitError, also where an answer has no number."""
    limits = cloud.call("lambda", "get_account_settings").get("AccountLimit") or {}
    limit, unreserved = limits.get("ConcurrentExecutions"), limits.get("UnreservedConcurrentExecutions")
    if limit is None or unreserved is None:
        raise WorldError("lambda:GetAccountSettings says no limit of concurrent executions")
    return LambdaConcurrency(limit, unreserved)
