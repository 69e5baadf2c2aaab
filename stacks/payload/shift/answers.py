"""What AWS's answers say of services and jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shift.records import REASON
from shift.sides import ACTIVE, ENDED, STOPPED, Service

HOLDING = ("STARTING", "RUNNING")
"""The states in which a job has nodes."""
ACTIVE_STATES = ("SUBMITTED", "PENDING", "RUNNABLE", *HOLDING)


def service(counts: Mapping[str, Any], span: tuple[int, int] | None) -> Service:
    """Without a range of its own yet, it is as wide as the count."""
    desired = counts["desiredCount"]
    minimum, maximum = span or (desired, desired)
    return Service(counts["serviceName"], minimum, maximum, desired, counts["runningCount"])


def job_state(detail: Mapping[str, Any] | None) -> str:
    """Batch forgets ended jobs after a week or more: what it does not know was stopped."""
    if detail is None:
        return STOPPED
    if detail["status"] in ACTIVE_STATES:
        return ACTIVE
    return STOPPED if detail["status"] == "FAILED" and REASON in detail.get("statusReason", "") else ENDED
