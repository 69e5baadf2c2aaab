"""What the parts of the running server share. moto makes its handlers without arguments, so they find it here."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from scripts.local_cloud.clients import Clients
from scripts.local_cloud.faults import Faults


@dataclass
class Settings:
    """Changed by POST /neuronkit/settings.

    `settle_seconds`: how long a CloudFormation call may wait for its operation to end before it answers; a client that
    polls every few seconds then finds the stack complete at once. `time_scale`: how many seconds of Batch's limits
    (timeouts, queue limits, the grace of a stopped container) pass in one real second.
    """

    settle_seconds: float = 5.0
    time_scale: float = 1.0


@dataclass
class Runtime:
    endpoint_url: str
    state_dir: Path
    clients: Clients
    faults: Faults = field(default_factory=Faults)
    settings: Settings = field(default_factory=Settings)
    # moto's backends are plain dicts that were never meant for concurrent requests.
    moto_lock: threading.RLock = field(default_factory=threading.RLock)
    stopping: threading.Event = field(default_factory=threading.Event)


_runtime: Runtime | None = None


def install(runtime: Runtime) -> None:
    global _runtime
    _runtime = runtime


def current() -> Runtime:
    if _runtime is None:
        raise RuntimeError("the local cloud's server has not been set up")
    return _runtime
