"""Auto Scaling groups of EC2: how many nodes there are, and why there are not more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_FAILED = ("Failed", "Cancelled")
_ACTIVITIES = 5


@dataclass(frozen=True, slots=True)
class AutoScalingGroup:
    name: str
    desired: int
    maximum: int
    in_service: int
    """Instances."""


def find_group(cloud: Cloud, name: str) -> AutoScalingGroup | None:
    answer = cloud.call("autoscaling", "describe_auto_scaling_groups", AutoScalingGroupNames=[name])
    return next((_group(raw) for raw in answer["AutoScalingGroups"]), None)


def last_failure(cloud: Cloud, name: str) -> str | None:
    """What EC2 said when the newest attempt to start a node failed; None when that worked, or there was none."""
    answer = cloud.call(
        "autoscaling", "describe_scaling_activities", AutoScalingGroupName=name, MaxRecords=_ACTIVITIES
    )
    for raw in answer["Activities"]:
        status = raw.get("StatusCode", "")
        if status in _FAILED:
            return str(raw.get("StatusMessage") or raw.get("Description") or status)
        if status == "Successful":
            return None
    return None


def groups_with_tag(cloud: Cloud, key: str, value: str) -> Iterator[tuple[AutoScalingGroup, dict[str, str]]]:
    """With their tags. EC2's tagging does not list them."""
    filters = [{"Name": f"tag:{key}", "Values": [value]}]
    for raw in cloud.pages(
        "autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", Filters=filters
    ):
        yield _group(raw), {tag["Key"]: tag["Value"] for tag in raw.get("Tags", ())}


def delete_group(cloud: Cloud, name: str) -> None:
    """With its instances, protected from scale-in or not: without force, AWS waits for those for ever."""
    try:
        cloud.call("autoscaling", "delete_auto_scaling_group", AutoScalingGroupName=name, ForceDelete=True)
    except AwsError as error:
        # AWS's words for a name that it does not know: "AutoScalingGroup name not found".
        if not (error.code == "ValidationError" and "not found" in error.reason):
            raise


def _group(raw: dict[str, Any]) -> AutoScalingGroup:
    states = [one.get("LifecycleState") for one in raw.get("Instances", ())]
    return AutoScalingGroup(
        raw["AutoScalingGroupName"], raw["DesiredCapacity"], raw["MaxSize"], states.count("InService")
    )
