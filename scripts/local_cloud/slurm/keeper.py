"""First process of a private Slurm's namespaces: starts its daemons and nodes. Started as a script: standard library only.

    unshare … python -I keeper.py

Standard input is orders, one JSON object a line, each answered by one line (`{}` or `{"error": …}`); the first is what
to keep: {"views", "daemons", "nodes"}. It is the leash too: when it is closed, this process ends, and the kernel ends
everything else in its process-id namespace with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_MS_BIND, _MS_REC, _MS_UNBINDABLE = 4096, 16384, 1 << 17
_REAP_SECONDS = 0.5
_SOCKET_SECONDS = 10.0
_libc = ctypes.CDLL(None, use_errno=True)

# A node has its own host name, file names and processes; killing its first process ends all of it, as a lost instance does.
_NODE = """
set -e
hostname "$1"
mount --bind "$2/hosts" "$3/etc/hosts"
mount --bind "$2/neuron_device" "$3/sys/class/neuron_device"
mount -t proc proc "$3/proc"
shift 2
root=$1
shift
exec chroot "$root" "$@"
"""


class Keeper:
    def __init__(self, specification: dict[str, Any]) -> None:
        self._nodes: dict[str, dict[str, Any]] = {node["name"]: node for node in specification["nodes"]}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        node = self._nodes[name]
        unshare = (
            "unshare",
            "--mount",
            "--uts",
            "--pid",
            "--fork",
            "--kill-child=KILL",
            "--propagation",
            "private",
        )
        shell = ("sh", "-c", _NODE, "sh", name, node["directory"], node["root"])
        with Path(node["directory"], "output").open("ab") as output:
            self._running[name] = subprocess.Popen(
                [*unshare, *shell, *node["command"]], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def start_all(self) -> None:
        for name in self._nodes:
            self.start(name)

    def kill(self, name: str) -> None:
        process = self._running.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()

    def reap(self) -> None:
        """Whatever lost its parent in the namespace has become a child of this process."""
        for process in self._running.values():
            process.poll()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass

    def obey(self, order: dict[str, str]) -> dict[str, str]:
        try:
            if "start" in order:
                self.kill(order["start"])
                self.start(order["start"])
            else:
                self.kill(order["kill"])
        except (OSError, KeyError) as error:
            return {"error": str(error)}
        return {}


def main() -> None:
    # Group-directed signals (Ctrl-C in the user's terminal) are for the client.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper = Keeper(specification := json.loads(_read_line()))
    try:
        socket.sethostname(specification["host_name"])
        for view in specification["views"]:
            make_view(Path(view["root"]), view["tree"])
        for daemon in specification["daemons"]:
            _start_daemon(daemon)
        keeper.start_all()
    except OSError as error:
        _answer({"error": str(error)})
        return
    _answer({})
    while True:
        if not select.select([0], [], [], _REAP_SECONDS)[0]:
            keeper.reap()
            continue
        line = _read_line()
        if not line:
            return
        _answer(keeper.obey(json.loads(line)))


def _start_daemon(daemon: dict[str, Any]) -> None:
    with Path(daemon["output"]).open("ab") as output:
        process = subprocess.Popen(daemon["command"], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    awaited = daemon.get("socket")
    deadline = time.monotonic() + _SOCKET_SECONDS
    while awaited and not Path(awaited).exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError(f"{daemon['command'][0]} did not start: see {daemon['output']}")
        time.sleep(0.01)


def make_view(root: Path, tree: dict[str, Any]) -> None:
    """The machine's files at `root`, with the ones of `tree` in their place: directories by name, a string to bind."""
    root.mkdir(parents=True, exist_ok=True)
    _mount("tmpfs", root, "tmpfs", 0, b"mode=755")
    # Otherwise a later view would hold a copy of this one, and so on.
    _mount("none", root, None, _MS_UNBINDABLE)
    _fill(root, Path("/"), tree)


def _fill(target: Path, source: Path, tree: dict[str, Any]) -> None:
    for entry in sorted(source.iterdir()) if source.is_dir() else ():
        if entry.name not in tree:
            _show(entry, target / entry.name)
    for name, content in tree.items():
        place = target / name
        if isinstance(content, str):
            _bind(Path(content), place)
            continue
        place.mkdir()
        if (source / name).is_dir():
            _fill(place, source / name, content)
        else:
            _fill(place, Path("/nonexistent"), content)


def _show(entry: Path, place: Path) -> None:
    if entry.is_symlink():
        place.symlink_to(entry.readlink())
        return
    with contextlib.suppress(PermissionError, FileNotFoundError):
        _bind(entry, place)


def _bind(source: Path, place: Path) -> None:
    if source.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    _mount(str(source), place, None, _MS_BIND | _MS_REC)


def _mount(source: str, target: Path, kind: str | None, flags: int, data: bytes | None = None) -> None:
    if _libc.mount(
        source.encode(), str(target).encode(), kind and kind.encode(), ctypes.c_ulong(flags), data
    ):
        number = ctypes.get_errno()
        raise OSError(number, f"mount {source}: {os.strerror(number)}", str(target))


def _read_line() -> bytes:
    """Unbuffered: what follows has to stay where `select` sees it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            return b""
        line += piece
    return bytes(line)


def _answer(answer: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
