"""Runs one node's command and makes sure that nothing of it outlives it. Started as a script: standard library only.

    python -I node_supervisor.py DESCRIPTOR

The first line of standard input says what to run: {"command", "environment", "directory"}. After that, standard input
is the leash: "stop SECONDS" sends SIGTERM to the command, as Docker does, and SIGKILL after the grace; when it is
closed (the server is gone) everything is killed at once. The command's process id is written to the file descriptor.
The exit status is the command's, 128 + signal if a signal ended it, 127 if it cannot be started.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_SECONDS = 0.05


def main() -> int:
    specification = json.loads(_read_line())
    # Group-directed signals (Ctrl-C in the user's terminal) are for the client, not for a job.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _LINUX:
        # Whatever the command leaves behind becomes a child of this process, where it can be found.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        child = subprocess.Popen(
            specification["command"],
            env=specification["environment"],
            cwd=specification["directory"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent if _LINUX else None,
        )
    except OSError as error:
        print(f"CannotStartContainerError: {specification['command'][:1]}: {error.strerror}", flush=True)
        return 127
    with os.fdopen(int(sys.argv[1]), "w") as announcement:
        announcement.write(str(child.pid))
    status = _watch(child)
    _kill_all(child.pid)
    return status if status >= 0 else 128 - status


def _read_line() -> bytes:
    """Unbuffered: what follows has to stay where `select` sees it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            sys.exit(0)
        line += piece
    return bytes(line)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _watch(child: subprocess.Popen[bytes]) -> int:
    kill_at: float | None = None
    listening = True
    while True:
        status = child.poll()
        if status is not None:
            return status
        if kill_at is not None and time.monotonic() >= kill_at:
            child.kill()
        if not listening or not select.select([0], [], [], _POLL_SECONDS)[0]:
            if not listening:
                time.sleep(_POLL_SECONDS)
            continue
        order = os.read(0, 4096).decode().split()
        if not order:
            listening = False
            _kill_all(child.pid)
        elif order[0] == "stop" and kill_at is None:
            child.terminate()
            kill_at = time.monotonic() + float(order[1])


def _kill_all(session: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)
    while _LINUX:
        children = _children()
        if not children:
            return
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """Direct children by /proc: a killed child's own children move up to here one after the other."""
    mine = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid():
                mine.append(int(entry.name))
    return mine


if __name__ == "__main__":
    sys.exit(main())
