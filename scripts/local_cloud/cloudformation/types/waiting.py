"""Waiting inside a resource's handler, as CloudFormation waits for what is made in the background."""

from __future__ import annotations

import time
from collections.abc import Callable

from scripts.local_cloud import runtime
from scripts.local_cloud.cloudformation.resource_type import Request, ResourceError

POLL_SECONDS = 0.2


def wait_until(request: Request, done: Callable[[], bool], limit_seconds: float, what: str) -> None:
    """`limit_seconds`: in the scaled time of the local cloud. Ends early when the operation is cancelled."""
    start = time.monotonic()
    while not done():
        if request.cancelled() or runtime.current().stopping.is_set():
            raise ResourceError("Resource operation cancelled")
        if (time.monotonic() - start) * runtime.current().settings.time_scale > limit_seconds:
            raise ResourceError(f"Exceeded attempts to wait: {what}")
        time.sleep(POLL_SECONDS)
