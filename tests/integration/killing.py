"""Killing a client at a chosen moment: a fault in the local cloud holds the call, the client gets SIGKILL."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from tests.integration.pilots import Pilot

MOMENT_SECONDS_MAX = 120.0


def killed_at(pilot: Pilot, fault: dict[str, Any], verb: str, *arguments: str) -> str:
    """Starts the command, kills it and its children while the fault holds it, and lets go. What it had said."""
    planted = pilot.admin("POST", "faults", {"hang": True, **fault})
    process = pilot.start(verb, *arguments)
    try:
        _wait_until_it_struck(pilot, planted["id"], process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate(timeout=30)
        pilot.admin("DELETE", "faults")
    return str(said)


def _wait_until_it_struck(pilot: Pilot, fault_id: int, process: Any) -> None:
    deadline = time.monotonic() + MOMENT_SECONDS_MAX
    while time.monotonic() < deadline:
        (fault,) = [fault for fault in pilot.admin("GET", "faults")["faults"] if fault["id"] == fault_id]
        if fault.get("times", 1) < 1:
            return
        assert process.poll() is None, (
            f"the command ended before the fault struck:\n{process.communicate()[0]}"
        )
        time.sleep(0.1)
    raise AssertionError("the fault never struck")
