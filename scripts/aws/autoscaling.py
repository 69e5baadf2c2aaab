"""Auto Scaling groups of EC2: how many nodes there are, and why there are not more."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws.cloud import Cloud

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
    for raw in answer["AutoScalingGroups"]:
        states = [one.get("LifecycleState") for one in raw.get("Instances", ())]
        return AutoScalingGroup(
            raw["AutoScalingGroupName"], raw["DesiredCapacity"], raw["MaxSize"], states.count("InService")
        )
    return None


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
