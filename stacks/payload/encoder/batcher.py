"""Inputs of many requests in one run: of one length bucket, as many as are there, not later than a few milliseconds."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from encoder.backend import Backend, Row, Vector

FAILURES_MAX = 3
"""In a row, until the server no longer says that it is ready."""


class OverloadedError(Exception):
    """Nothing of the request was taken."""


class TooLongError(Exception):
    """Its text says what is the longest."""


@dataclass
class _Input:
    row: Row
    length: int
    arrived: float
    answer: Future[Vector] = field(default_factory=Future)


@dataclass(frozen=True)
class Counts:
    running: int
    waiting: int
    inputs_total: int
    batches_total: int
    padded_inputs_total: int
    failures_in_a_row: int


class Batcher:
    def __init__(
        self,
        backend: Backend,
        batches: Sequence[int],
        lengths: Sequence[int],
        queue: int,
        wait_seconds: float,
        cores: int,
    ) -> None:
        self._backend = backend
        self._batches = tuple(batches)
        self._lengths = tuple(lengths)
        self._queue_max = queue
        self._wait_seconds = wait_seconds
        self._queue: deque[_Input] = deque()
        self._changed = threading.Condition()
        self._running = self._inputs_total = self._batches_total = self._padded = self._failures = 0
        self._threads = [
            threading.Thread(target=self._work, args=(core,), name=f"core-{core}", daemon=True)
            for core in range(cores)
        ]

    def warm(self) -> None:
        """Every shape on every core, before the first request."""
        for core in range(len(self._threads)):
            for length in self._lengths:
                for batch in self._batches:
                    self._backend.warm(batch, length, core)
        for thread in self._threads:
            thread.start()

    def submit(self, rows: Sequence[Row]) -> list[Future[Vector]]:
        """All of them or none."""
        now = time.monotonic()
        inputs = [_Input(row, self._bucket(len(row)), now) for row in rows]
        with self._changed:
            if len(self._queue) + len(inputs) > self._queue_max:
                raise OverloadedError(f"{len(self._queue)} inputs wait, {self._queue_max} at most")
            self._queue.extend(inputs)
            self._changed.notify_all()
        return [found.answer for found in inputs]

    def counts(self) -> Counts:
        with self._changed:
            return Counts(
                self._running,
                len(self._queue),
                self._inputs_total,
                self._batches_total,
                self._padded,
                self._failures,
            )

    def _bucket(self, length: int) -> int:
        for bucket in self._lengths:
            if length <= bucket:
                return bucket
        raise TooLongError(f"an input has {length} tokens; {self._lengths[-1]} at most")

    def _work(self, core: int) -> None:
        while True:
            inputs = self._take()
            batch = next(size for size in self._batches if size >= len(inputs))
            try:
                answers = self._backend.run([found.row for found in inputs], batch, inputs[0].length, core)
            except Exception as error:  # noqa: BLE001 - whatever the runtime raises, it is the requests' answer
                self._finish(inputs, batch, failed=True)
                for found in inputs:
                    found.answer.set_exception(error)
                continue
            self._finish(inputs, batch, failed=False)
            for found, answer in zip(inputs, answers):  # noqa: B905 - Python 3.9 in older images
                found.answer.set_result(answer)

    def _take(self) -> list[_Input]:
        """The oldest input decides the length: no length starves."""
        with self._changed:
            while not self._queue:
                self._changed.wait()
            first = self._queue[0]
            until = first.arrived + self._wait_seconds
            while (
                sum(found.length == first.length for found in self._queue) < self._batches[-1]
                and (left := until - time.monotonic()) > 0
            ):
                self._changed.wait(left)
            taken = [found for found in self._queue if found.length == first.length][: self._batches[-1]]
            chosen = set(map(id, taken))
            self._queue = deque(found for found in self._queue if id(found) not in chosen)
            self._running += len(taken)
            return taken

    def _finish(self, inputs: Sequence[_Input], batch: int, *, failed: bool) -> None:
        with self._changed:
            self._running -= len(inputs)
            self._batches_total += 1
            self._padded += batch - len(inputs)
            self._inputs_total += 0 if failed else len(inputs)
            self._failures = self._failures + 1 if failed else 0
