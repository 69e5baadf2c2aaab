"""One launch of a job at a time on this machine. A process that dies lets go of its lock."""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from stacks.domain.errors import WorldError

WAIT_SECONDS: Final = 300.0


def this_owner() -> str:
    """The same for everybody who shares the locks, and for nobody else: USER@MACHINE:DIRECTORY."""
    return f"{getpass.getuser()}@{socket.gethostname()}:{_directory()}"


@contextmanager
def machine_lock(place: str, what: str) -> Iterator[None]:
    """`place` identifies what is locked, `what` says it in words. Raises WorldError after WAIT_SECONDS."""
    directory = _directory()
    directory.mkdir(mode=0o700, exist_ok=True)
    lock = FileLock(directory / f"{hashlib.sha256(place.encode()).hexdigest()[:24]}.lock")
    try:
        lock.acquire(timeout=WAIT_SECONDS)
    except Timeout as error:
        raise WorldError(
            f"another command on this machine has held {what} for {WAIT_SECONDS:.0f} s",
            f"end it, or wait for it ({lock.lock_file})",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _directory() -> Path:
    return Path(tempfile.gettempdir()) / f"neuronkit-locks-{os.getuid()}"
