"""AWS Resource Groups: whether a group is there."""

from __future__ import annotations

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError


def exists(cloud: Cloud, arn: str) -> bool:
    try:
        cloud.call("resource-groups", "get_group", Group=arn)
    except AwsError as error:
        if error.code == "NotFoundException":
            return False
        raise
    return True
