"""Puts a stack into a state that a test wants to find it in."""

from __future__ import annotations

import threading
from typing import Any

from scripts.local_cloud.cloudformation.backend import cloudformation_backends

_STATUSES = frozenset(
    f"{verb}_{state}"
    for verb in ("CREATE", "ROLLBACK", "DELETE", "UPDATE", "UPDATE_ROLLBACK")
    for state in ("IN_PROGRESS", "FAILED", "COMPLETE")
) | {
    "REVIEW_IN_PROGRESS",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
}


def set_stack(
    account: str,
    region: str,
    stack: str,
    status: str,
    reason: str | None = None,
    next_status: str | None = None,
    after_seconds: float = 1.0,
) -> dict[str, Any]:
    for wanted in (status, next_status):
        if wanted not in {*_STATUSES, None} or wanted == "DELETE_COMPLETE":
            raise ValueError(f"no stack can be set to {wanted}")
    backend = cloudformation_backends[account][region]
    found = backend.live(stack) or backend.new_stack(stack)
    found.set_status(status, reason)
    if next_status is not None:
        timer = threading.Timer(after_seconds, found.set_status, (next_status,))
        timer.daemon = True
        timer.start()
    return {"stack_id": found.id, "status": found.status}
