"""Auto Scaling groups of EC2: how many nodes there are, why there are not more, and how they are let go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_FAILED = ("Failed", "Cancelled")
_ACTIVITIES = 5
_TERMINATING: Final = "autoscaling:EC2_INSTANCE_TERMINATING"
_WAITING: Final = "Terminating:Wait"
_PROTECTED_AT_ONCE: Final = 50
"""What SetInstanceProtection takes in one call (Auto Scaling API reference)."""


@dataclass(frozen=True, slots=True)
class AutoScalingGroup:
    name: str
    desired: int
    maximum: int
    in_service: int
    """Instances."""


@dataclass(frozen=True, slots=True)
class GroupNodes:
    wanted: int
    """The larger of the desired and the least count: what Auto Scaling would start again."""
    states: Mapping[str, str]
    """Of every instance that is the group's, by its id: those that are ending, too."""
    protected: tuple[str, ...]
    """Those that no scale-in takes."""

    @property
    def is_empty(self) -> bool:
        return not self.wanted and not self.states

    @property
    def waiting(self) -> tuple[str, ...]:
        """Ending, but held, and billed, until a lifecycle action is completed or its time is over."""
        return tuple(id_ for id_, state in self.states.items() if state == _WAITING)

    @property
    def words(self) -> str:
        counts = Counter(self.states.values())
        return (
            ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
            or f"{self.wanted} wanted"
        )


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


def group_nodes(cloud: Cloud, name: str) -> GroupNodes | None:
    answer = cloud.call("autoscaling", "describe_auto_scaling_groups", AutoScalingGroupNames=[name])
    for raw in answer["AutoScalingGroups"]:
        instances = raw.get("Instances", ())
        return GroupNodes(
            max(raw["MinSize"], raw["DesiredCapacity"]),
            {one["InstanceId"]: one.get("LifecycleState", "") for one in instances},
            tuple(one["InstanceId"] for one in instances if one.get("ProtectedFromScaleIn")),
        )
    return None


def empty_group(cloud: Cloud, name: str) -> None:
    """To no instance. Its maximum stays: a deploy that changes nothing else would not set it again."""
    try:
        cloud.call(
            "autoscaling",
            "update_auto_scaling_group",
            AutoScalingGroupName=name,
            MinSize=0,
            DesiredCapacity=0,
        )
    except AwsError as error:
        if not _is_unknown(error):
            raise


def unprotect(cloud: Cloud, name: str, instance_ids: Sequence[str]) -> None:
    """Lets scale-in take them."""
    for first in range(0, len(instance_ids), _PROTECTED_AT_ONCE):
        cloud.call(
            "autoscaling",
            "set_instance_protection",
            AutoScalingGroupName=name,
            InstanceIds=list(instance_ids[first : first + _PROTECTED_AT_ONCE]),
            ProtectedFromScaleIn=False,
        )


def complete_terminations(cloud: Cloud, name: str, instance_ids: Sequence[str]) -> None:
    """Lets instances go that a lifecycle hook of their group holds while they end."""
    answer = cloud.call("autoscaling", "describe_lifecycle_hooks", AutoScalingGroupName=name)
    hooks = [
        one["LifecycleHookName"]
        for one in answer["LifecycleHooks"]
        if one.get("LifecycleTransition") == _TERMINATING
    ]
    for instance_id in instance_ids:
        for hook in hooks:
            _complete(cloud, name, hook, instance_id)


def _complete(cloud: Cloud, name: str, hook: str, instance_id: str) -> None:
    try:
        cloud.call(
            "autoscaling",
            "complete_lifecycle_action",
            AutoScalingGroupName=name,
            LifecycleHookName=hook,
            InstanceId=instance_id,
            LifecycleActionResult="CONTINUE",
        )
    except AwsError as error:
        # It waits for another hook, or somebody was faster: "No active Lifecycle Action found with instance ID i-…".
        if not (error.code == "ValidationError" and "no active lifecycle action" in error.reason.lower()):
            raise


def delete_group(cloud: Cloud, name: str) -> None:
    """With its instances, protected from scale-in or not: without force, AWS waits for those for ever."""
    try:
        cloud.call("autoscaling", "delete_auto_scaling_group", AutoScalingGroupName=name, ForceDelete=True)
    except AwsError as error:
        if not _is_unknown(error):
            raise


def _is_unknown(error: AwsError) -> bool:
    """AWS's words for a name that it does not know: "AutoScalingGroup name not found"."""
    return error.code == "ValidationError" and "not found" in error.reason


def _group(raw: dict[str, Any]) -> AutoScalingGroup:
    states = [one.get("LifecycleState") for one in raw.get("Instances", ())]
    return AutoScalingGroup(
        raw["AutoScalingGroupName"], raw["DesiredCapacity"], raw["MaxSize"], states.count("InService")
    )
