"""The processes of a run, joined: a star of connections around rank 0."""

import contextlib
import select
import socket
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smokejob.errors import PeerError
from smokejob.wire import ClosedError, receive_message, send_message

Vector = NDArray[np.float32]
_FAREWELL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Peer:
    rank: int
    address: str
    connection: socket.socket

    def __str__(self) -> str:
        return f"rank {self.rank} at {self.address}"


@dataclass(frozen=True, slots=True)
class Total:
    """What all ranks agree on after a step; `signal_number` is that of a signal that some rank got, or 0."""

    vector: Vector
    loss_sum: float
    signal_number: int


class Group:
    """`peers` are all the others at rank 0, by rank, and rank 0 alone elsewhere."""

    def __init__(self, rank: int, processes: int, peers: list[Peer]) -> None:
        self.rank = rank
        self.processes = processes
        self.peers = peers

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def total(self, vector: Vector, loss_sum: float, signal_number: int) -> Total:
        """Sums over all ranks, added up by rank 0 in the order of ranks: the same bits in every run."""
        header: dict[str, Any] = {"loss_sum": loss_sum, "signal": signal_number}
        if self.is_main:
            summed = vector.copy()
            for peer in self.peers:
                theirs, payload = self._receive(peer)
                summed += np.frombuffer(payload, dtype="<f4")
                header["loss_sum"] += theirs["loss_sum"]
                header["signal"] = max(header["signal"], theirs["signal"])
            vector = summed
        else:
            self._send(self.peers[0], header, vector)
        header, vector = self.share(header, vector)
        return Total(vector, header["loss_sum"], header["signal"])

    def share(self, header: dict[str, Any], vector: Vector) -> tuple[dict[str, Any], Vector]:
        """Rank 0's arguments, at every rank."""
        if self.is_main:
            for peer in self.peers:
                self._send(peer, header, vector)
            return header, vector
        theirs, payload = self._receive(self.peers[0])
        return theirs, np.frombuffer(payload, dtype="<f4").astype(np.float32, copy=False)

    def raise_if_lost(self, seconds: float) -> None:
        """Wait up to `seconds` for the end of a peer, and raise it. For a run that has failed: messages are dropped."""
        deadline = time.monotonic() + seconds
        peers = {peer.connection: peer for peer in self.peers}
        while peers:
            readable, _, _ = select.select(list(peers), [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                return
            for connection in readable:
                self._receive(peers[connection])

    def close(self, reason: str) -> None:
        """Hang up; where rank 0 ends a run for a `reason`, the others are told it instead of guessing."""
        for peer in self.peers:
            with contextlib.suppress(ClosedError, OSError), peer.connection:
                peer.connection.settimeout(_FAREWELL_SECONDS)
                if self.is_main and reason:
                    send_message(peer.connection, {"ended": reason})
                peer.connection.shutdown(socket.SHUT_WR)
                # Closing with unread data makes the kernel reset the connection, and the reason would be lost.
                while peer.connection.recv(1 << 16):
                    pass

    def _send(self, peer: Peer, header: dict[str, Any], vector: Vector) -> None:
        payload = np.ascontiguousarray(vector, dtype="<f4").tobytes()
        try:
            send_message(peer.connection, header, payload)
        except ClosedError as error:
            raise lost(peer, str(error)) from error

    def _receive(self, peer: Peer) -> tuple[dict[str, Any], bytearray]:
        try:
            header, payload = receive_message(peer.connection)
        except ClosedError as error:
            raise lost(peer, str(error)) from error
        if "ended" in header:
            raise PeerError(f"{peer} ended the run: {header['ended']}")
        return header, payload


def lost(peer: Peer, how: str) -> PeerError:
    return PeerError(f"{peer} {how}; its own log says why, unless its node is gone")
