"""Instances of Auto Scaling groups: refusals of capacity that tests plant, activities that say so, no leftovers.

A fault {"service": "autoscaling", "action": "LaunchInstances", "error_code": "InsufficientInstanceCapacity",
"message"?, "times"?: null} lets launches fail: the group stays short, and its activities tell why.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

from moto.autoscaling.models import FakeAutoScalingGroup

from scripts.local_cloud import runtime
from scripts.local_cloud.ec2.instance_interfaces import release

_ACTIVITIES_KEPT = 100


def activities_of(group: FakeAutoScalingGroup) -> list[dict[str, Any]]:
    """Newest first."""
    found: list[dict[str, Any]] = group.__dict__.setdefault("scaling_activities", [])
    return found


def last_refusal(group: FakeAutoScalingGroup) -> str:
    """Why the newest launch failed; "" if it did not."""
    newest = activities_of(group)[:1]
    return newest[0]["StatusMessage"] if newest and newest[0]["StatusCode"] == "Failed" else ""


def emulate() -> None:
    launch = FakeAutoScalingGroup.replace_autoscaling_group_instances
    set_capacity = FakeAutoScalingGroup.set_desired_capacity

    def replace_autoscaling_group_instances(
        self: FakeAutoScalingGroup, count_needed: int, propagated_tags: dict[str, str]
    ) -> None:
        fault = runtime.current().faults.take_call("autoscaling", "LaunchInstances")
        if fault is not None:
            code = fault.error_code or "InsufficientInstanceCapacity"
            _note(self, f"Launching {count_needed} EC2 instances", "Failed", f"{code}: {fault.message}")
            return
        launch(self, count_needed, propagated_tags)
        for state in self.instance_states[-count_needed:]:
            _note(self, f"Launching a new EC2 instance: {state.instance_id}", "Successful", "")

    def set_desired_capacity(self: FakeAutoScalingGroup, new_capacity: int | None) -> None:
        before = {state.instance_id for state in self.instance_states}
        set_capacity(self, new_capacity)
        ended = before - {state.instance_id for state in self.instance_states}
        release(self.ec2_backend, ended)
        for instance_id in sorted(ended):
            _note(self, f"Terminating EC2 instance: {instance_id}", "Successful", "")

    FakeAutoScalingGroup.replace_autoscaling_group_instances = replace_autoscaling_group_instances  # type: ignore[method-assign]
    FakeAutoScalingGroup.set_desired_capacity = set_desired_capacity  # type: ignore[method-assign]


def _note(group: FakeAutoScalingGroup, description: str, status: str, message: str) -> None:
    noted = activities_of(group)
    if status == "Failed" and noted and noted[0]["StatusMessage"] == message:
        # AWS tries again and again with growing pauses; here the last refusal stands for all.
        return
    moment = datetime.now(UTC)
    activity = {
        "ActivityId": secrets.token_hex(16),
        "AutoScalingGroupName": group.name,
        "Description": description,
        "Cause": "emulated by the local cloud: no instance runs",
        "StartTime": moment,
        "EndTime": moment,
        "StatusCode": status,
        "StatusMessage": message,
        "Progress": 100,
    }
    noted.insert(0, activity)
    del noted[_ACTIVITIES_KEPT:]
