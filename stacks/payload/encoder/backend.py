"""What computes: a protocol, and a stand-in for machines without chips. The one for chips is in `neuron_backend`."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Sequence
from typing import Protocol

Row = Sequence[int]
Vector = Sequence[float]


class Backend(Protocol):
    task: str
    """embedding or classification."""
    note: str
    """What a client should know of the answers; empty: nothing."""

    def tokens(self, text: str) -> list[int]: ...

    def warm(self, batch: int, length: int, core: int) -> None:
        """Loads the graph of this shape onto the core, or makes it."""

    def run(self, rows: Sequence[Row], batch: int, length: int, core: int) -> list[Vector]:
        """Rows fit the shape; what is missing to it is padded, and taken out of the answer again."""


class StandIn:
    """Numbers made of hashes: for tests of the server only, and it says so in each answer."""

    task = "embedding"
    note = "stand-in: hashes, not a model"
    _SIZE = 8

    def __init__(self, seconds: float, cores: int) -> None:
        self._seconds = seconds
        self._locks = [threading.Lock() for _ in range(cores)]

    def tokens(self, text: str) -> list[int]:
        return [int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big") for word in text.split()]

    def warm(self, batch: int, length: int, core: int) -> None:
        time.sleep(self._seconds)

    def run(self, rows: Sequence[Row], batch: int, length: int, core: int) -> list[Vector]:
        if len(rows) > batch or any(len(row) > length for row in rows):
            raise ValueError(f"{len(rows)} rows do not fit a graph of {batch} x {length}")
        if any(13 in row for row in rows):
            raise RuntimeError("the stand-in fails on token 13")
        with self._locks[core]:
            time.sleep(self._seconds)
        return [self._vector(row) for row in rows]

    def _vector(self, row: Row) -> Vector:
        digest = hashlib.sha256(repr(list(row)).encode()).digest()[: self._SIZE]
        values = [byte - 127.5 for byte in digest]
        norm = math.sqrt(sum(value * value for value in values))
        return [value / norm for value in values]
