"""Small stand-ins for the AWS side of commands."""

from __future__ import annotations

from typing import Any

import boto3

from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from stacks.domain.names import ENVIRONMENT_TAG


def a_cloud(*, local: bool = False, region: str = "us-east-2", account: str = "111122223333") -> Cloud:
    """Reaches nothing: a test replaces the AWS files that it needs."""
    return Cloud(
        region,
        account,
        is_local=local,
        session=boto3.Session(),
        endpoint_url="http://localhost:1" if local else None,
    )


def a_stack(name: str, status: str = "CREATE_COMPLETE", **more: Any) -> Stack:
    """Of environment pilot, unless `tags` says something else."""
    values: dict[str, Any] = {
        "id": f"id-{name}",
        "reason": "",
        "tags": {ENVIRONMENT_TAG: "pilot"},
        "outputs": {},
        "is_protected": False,
    }
    return Stack(name=name, status=status, **{**values, **more})
