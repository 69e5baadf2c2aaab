"""Scaling activities of Auto Scaling groups, which moto does not keep."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

from moto.autoscaling.models import FakeAutoScalingGroup

_KEPT = 100


def activities_of(group: FakeAutoScalingGroup) -> list[dict[str, Any]]:
    """Newest first."""
    found: list[dict[str, Any]] = group.__dict__.setdefault("scaling_activities", [])
    return found


def last_refusal(group: FakeAutoScalingGroup) -> str:
    """Why the newest launch failed; "" if it did not."""
    newest = activities_of(group)[:1]
    return newest[0]["StatusMessage"] if newest and newest[0]["StatusCode"] == "Failed" else ""


def note(group: FakeAutoScalingGroup, description: str, status: str, message: str = "") -> None:
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
    del noted[_KEPT:]
