"""Ends this process when a peer is gone while the main thread waits inside an accelerator's collective.

Such a wait cannot be interrupted, and where a peer's share never comes it lasts until the runtime's own time-out.
"""

import os
import select
import socket
import sys
import threading
import time

from smokejob.errors import PeerError
from smokejob.group import Group, lost

_STOP_CHECK_SECONDS = 0.25
_PENDING_MESSAGE_SECONDS = 0.05


class PeerWatch:
    """From start to stop, the end of a peer's connection ends the process with PeerError's exit code."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peer-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Before any process leaves the run in good order."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        peers = {peer.connection: peer for peer in self._group.peers}
        while not self._over.is_set():
            try:
                readable, _, _ = select.select(list(peers), [], [], _STOP_CHECK_SECONDS)
            except (OSError, ValueError):
                return  # the main thread is hanging up already
            gone = [peers[connection] for connection in readable if _is_closed(connection)]
            if gone and not self._over.is_set():
                self._end(str(lost(gone[0], "ended or was cut off")))
            if readable:
                time.sleep(_PENDING_MESSAGE_SECONDS)

    def _end(self, reason: str) -> None:
        print(f"train.py: rank {self._group.rank}: {reason}", file=sys.stderr, flush=True)
        if self._group.is_main:
            self._group.close(reason)
        os._exit(PeerError.exit_code)


def _is_closed(connection: socket.socket) -> bool:
    """Looks without taking anything away from the main thread."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
