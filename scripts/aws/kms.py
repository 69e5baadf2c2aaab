"""Keys: only whether one still exists. A deleted key stays for days as "pending deletion"."""

from __future__ import annotations

from scripts.aws.cloud import Cloud


def key_state(cloud: Cloud, key_id_or_arn: str) -> str:
    """Enabled, Disabled, PendingDeletion, …"""
    state: str = cloud.call("kms", "describe_key", KeyId=key_id_or_arn)["KeyMetadata"]["KeyState"]
    return state
