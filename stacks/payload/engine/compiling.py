"""One start of the engine for the sake of what it compiles."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from engine.artifacts import is_warm, save
from engine.one_at_a_time import one_at_a_time
from engine.refusal import RefusalError, say

POLL_SECONDS = 2.0
END_SECONDS = 60.0


def compile_once(
    command: Sequence[str], ready: str, seconds: float, shared: Path, local: Path, manifest: str
) -> None:
    """Bounded by `seconds`; a second task waits for the first and finds its work done."""
    lock = shared.parent / f".{shared.name}.lock"
    # The first process of a container ignores SIGTERM unless it says what to do.
    previous = signal.signal(signal.SIGTERM, lambda *_: _interrupt())
    try:
        with one_at_a_time(lock, "the compile task", seconds):
            if is_warm(shared, manifest):
                say(f"warm already: {shared.name}")
                return
            _run(command, ready, seconds)
            save(shared, local, manifest)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _run(command: Sequence[str], ready: str, seconds: float) -> None:
    engine = subprocess.Popen(list(command), start_new_session=True)
    try:
        _await_ready(engine, ready, seconds)
    finally:
        _end(engine)


def _interrupt() -> None:
    raise RefusalError("stopped before the engine was ready: nothing is saved")


def _await_ready(engine: subprocess.Popen[bytes], ready: str, seconds: float) -> None:
    """An engine that compiles without chips may also end by itself, with 0."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        status = engine.poll()
        if status == 0:
            return
        if status is not None:
            raise RefusalError(f"the engine ended with {status} before it was ready, see its words above")
        if _answers(ready):
            return
        time.sleep(min(POLL_SECONDS, seconds / 10))
    raise RefusalError(f"the engine was not ready within {seconds:g} s: nothing is saved")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - the container's own loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _end(engine: subprocess.Popen[bytes]) -> None:
    """With its workers."""
    _signal(engine, signal.SIGTERM)
    try:
        engine.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(engine, signal.SIGKILL)
        engine.wait()


def _signal(engine: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(engine.pid, number)
    except ProcessLookupError:
        return
