"""Lambda functions: whether one is there, and how to be rid of it."""

from __future__ import annotations

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

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
