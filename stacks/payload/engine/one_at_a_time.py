"""A lock on a shared file system, which ends with the process that holds it."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.refusal import RefusalError, say

POLL_SECONDS = 2.0


@contextmanager
def one_at_a_time(path: Path, what: str, wait_seconds: float) -> Iterator[None]:
    """POSIX record locks: NFS 4 (EFS) has them, and drops those of a client that died."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_seconds
    waits = False
    with path.open("w") as file:
        while not _taken(file.fileno()):
            if time.monotonic() >= deadline:
                raise RefusalError(f"another task has held {path} for {wait_seconds:g} s: {what} did not end")
            if not waits:
                say(f"another task does it: waiting for {what}")
            waits = True
            time.sleep(min(POLL_SECONDS, max(0.05, wait_seconds / 10)))
        yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
