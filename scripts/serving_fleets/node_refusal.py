"""Why a fleet gets no node: what EC2 answered its Auto Scaling group."""

from __future__ import annotations

from scripts.aws import autoscaling
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError


def node_refusal(cloud: Cloud, group: str | None) -> str:
    """In words; "" where the newest start worked, or there is no group."""
    if group is None:
        return ""
    try:
        refused = autoscaling.last_failure(cloud, group)
    except AwsError as error:
        refused = f"could not be asked ({error.message})"
    return f"EC2 started no node: {refused}" if refused else ""
