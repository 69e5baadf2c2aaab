"""Keys: only whether one still exists. A deleted key stays for days as "pending deletion"."""

from __future__ import annotations

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError


def key_state(cloud: Cloud, key_id_or_arn: str) -> str | None:
    """Enabled, Disabled, PendingDeletion, …; None when there is no such key any more."""
    try:
        state: str = cloud.call("kms", "describe_key", KeyId=key_id_or_arn)["KeyMetadata"]["KeyState"]
    except AwsError as error:
        if error.code == "NotFoundException":
            return None
        raise
    return state
