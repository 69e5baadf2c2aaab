"""Public and own SSM parameters."""

from __future__ import annotations

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError


def find_parameter(cloud: Cloud, name: str) -> str | None:
    """None when there is no such parameter."""
    try:
        value: str = cloud.call("ssm", "get_parameter", Name=name)["Parameter"]["Value"]
    except AwsError as error:
        if error.code == "ParameterNotFound":
            return None
        raise
    return value
