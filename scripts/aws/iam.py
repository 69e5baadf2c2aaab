"""IAM: whether a role is there."""

from __future__ import annotations

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError


def role_exists(cloud: Cloud, name: str) -> bool:
    try:
        cloud.call("iam", "get_role", RoleName=name)
    except AwsError as error:
        if error.code in ("NoSuchEntity", "NoSuchEntityException"):
            return False
        raise
    return True
