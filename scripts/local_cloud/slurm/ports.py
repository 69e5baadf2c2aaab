"""Ports and loopback addresses that one private Slurm has for itself, also beside those of other processes."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from stacks.domain.errors import WorldError

_FIRST, _BLOCK, _BLOCKS = 12_000, 160, 120
"""Below 32768, where Linux begins to hand out ports."""


@dataclass(frozen=True, slots=True)
class PortBlock:
    first: int
    """Of the controller; the nodes' follow."""
    loopback: str
    _claim: socket.socket

    @property
    def descriptor(self) -> int:
        """Whoever holds it keeps the block claimed."""
        return self._claim.fileno()

    def release(self) -> None:
        self._claim.close()


def claim_ports(count: int) -> PortBlock:
    """A block in which nobody listens. Its first port is held bound, so that no other instance takes the block."""
    # Different processes begin at different blocks, which spares them each other's claims.
    for attempt in range(_BLOCKS):
        index = (os.getpid() + attempt) % _BLOCKS
        first = _FIRST + index * _BLOCK
        claim = socket.socket()
        try:
            claim.bind(("0.0.0.0", first))  # noqa: S104 the daemons bind so too
            if all(_free(port) for port in range(first + 1, first + 1 + count)):
                return PortBlock(first + 1, f"127.78.{index + 1}", claim)
        except OSError:
            pass
        claim.close()
    raise WorldError(
        f"no {count} free ports in a row from {_FIRST} to {_FIRST + _BLOCK * _BLOCKS}",
        "end other private Slurms or servers of this machine",
    )


def _free(port: int) -> bool:
    with socket.socket() as probe:
        # Connections of an earlier daemon that are still closing do not keep a new one from listening.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104
        except OSError:
            return False
    return True
