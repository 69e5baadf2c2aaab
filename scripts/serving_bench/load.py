"""Sends the requests: at their times (open loop), or each when the one before it has ended (closed loop).

Bounded: no request starts after `seconds` or beyond `requests`, and each ends within its time-out.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from scripts.serving_bench.answers import DONE, document_of, part_of, usage_of
from scripts.serving_bench.arrivals import intended_starts
from scripts.serving_bench.failures import (
    CUT,
    ERROR_EVENT,
    GARBAGE,
    SILENT,
    STALLED,
    RequestFailedError,
    of_status,
)
from scripts.serving_bench.http_client import Answer, HttpClient, request_bytes
from scripts.serving_bench.recorder import Measured, Recorder
from scripts.serving_bench.settings import Endpoint, Headers, Load
from scripts.serving_bench.sse import EventStream

DOCUMENT_BYTES_MAX: Final = 64 * 2**20
_REST_SECONDS: Final = 1.0
_EXAMPLE_BYTES: Final = 300

EndedBy = Literal["requests", "seconds", "interrupt"]


@dataclass(slots=True)
class Result:
    recorder: Recorder
    seconds: float
    """From the first intended start to the last end."""
    sending_seconds: float
    """From the first intended start to the last start."""
    ended_by: EndedBy
    not_sent: int = 0
    """Open loop: meant to start in time, but `in_flight_max` others were still under way when it was over."""


@dataclass
class LoadTest:
    endpoint: Endpoint
    headers: Headers
    load: Load
    make_body: Callable[[], bytes]
    say: Callable[[str], None]
    _recorder: Recorder = field(default_factory=Recorder, init=False)
    _last_end: float = field(default=0.0, init=False)
    _last_start: float = field(default=0.0, init=False)
    _began: float = field(default=0.0, init=False)
    _ended_by: EndedBy = field(default="requests", init=False)
    _not_sent: int = field(default=0, init=False)

    async def run(self) -> Result:
        """Ctrl-C ends it early, with what was measured until then."""
        self._client = HttpClient(self.endpoint)
        try:
            await self._interruptible(self._whole())
        finally:
            self._client.close()
        return Result(
            self._recorder,
            max(self._last_end - self._began, 0.0),
            max(self._last_start - self._began, 0.0),
            self._ended_by,
            self._not_sent,
        )

    async def _whole(self) -> None:
        await self._warm_up()
        self._began = self._last_start = self._last_end = _now()
        self._recorder = Recorder()
        telling = asyncio.create_task(self._tell())
        try:
            await (self._open_loop() if self.load.is_open else self._closed_loop())
        finally:
            telling.cancel()

    async def _interruptible(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        with _on_interrupt(task.cancel):
            try:
                await task
            except asyncio.CancelledError:
                self._ended_by = "interrupt"
                self._last_end = max(self._last_end, _now() if self._began else 0.0)

    async def _warm_up(self) -> None:
        """One after the other, not counted. Raises RequestFailedError when none succeeds: then there is nothing to test."""
        failure: RequestFailedError | None = None
        for _ in range(self.load.warm_up):
            now = _now()
            try:
                await self._measure(now)
            except RequestFailedError as error:
                failure = failure or error
            else:
                self._recorder.succeeded += 1
        if failure is not None and not self._recorder.succeeded:
            raise failure

    async def _closed_loop(self) -> None:
        until = self._began + self.load.seconds

        async def one_after_the_other() -> None:
            while self._recorder.sent < self.load.requests:
                now = _now()
                if now >= until:
                    self._ended_by = "seconds"
                    return
                await self._count(now)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.load.concurrency, self.load.requests)):
                group.create_task(one_after_the_other())

    async def _open_loop(self) -> None:
        until = self._began + self.load.seconds
        places = asyncio.Semaphore(self.load.in_flight_max)
        meant = 0

        async def one(intended: float) -> None:
            try:
                await self._count(intended)
            finally:
                places.release()

        async with asyncio.TaskGroup() as group:
            for offset in intended_starts(self.load):
                meant += 1
                await asyncio.sleep(max(0.0, self._began + offset - _now()))
                if not await _within(places.acquire(), until - _now()):
                    self._not_sent += 1
                    continue
                group.create_task(one(self._began + offset))
            if meant < self.load.requests:
                self._ended_by = "seconds"

    async def _count(self, intended: float) -> None:
        recorder = self._recorder
        recorder.sent += 1
        self._last_start = _now()
        recorder.start_delay.add(max(0.0, self._last_start - intended))
        try:
            recorder.add(await self._measure(intended))
        except RequestFailedError as failure:
            recorder.fail(failure)
        except asyncio.CancelledError:
            recorder.cut_by_us += 1
            raise
        self._last_end = max(self._last_end, _now())

    async def _measure(self, intended: float) -> Measured:
        body = self.make_body()
        request = request_bytes("POST", self.endpoint, self.endpoint.target, self.headers.all(), body)
        measured = Measured(intended, _now(), 0.0)
        try:
            async with asyncio.timeout(self.load.timeout_seconds):
                answer = await self._client.send(request)
                try:
                    await self._read(answer, measured)
                finally:
                    self._client.give_back(answer)
        except TimeoutError:
            if not measured.ended:
                has_begun = measured.first_token is not None
                raise RequestFailedError(STALLED if has_begun else SILENT) from None
        return measured

    async def _read(self, answer: Answer, measured: Measured) -> None:
        self._recorder.statuses[answer.status] += 1
        if not 200 <= answer.status < 300:
            text = await document_text(answer, _EXAMPLE_BYTES)
            raise RequestFailedError(of_status(answer.status), self.headers.without_secrets(text))
        if answer.is_event_stream:
            await _read_stream(answer, measured)
            return
        text = await document_text(answer, DOCUMENT_BYTES_MAX)
        measured.ended = _now()
        document = document_of(text)
        if document.get("error"):
            raise RequestFailedError(ERROR_EVENT, self.headers.without_secrets(str(document["error"])))
        measured.usage = usage_of(document)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(5)
            one = self._recorder
            self.say(
                f"  {_now() - self._began:.0f} s: {one.sent} sent, {one.succeeded} succeeded, {one.failed} failed"
            )


async def _read_stream(answer: Answer, measured: Measured) -> None:
    events = EventStream()
    pieces = answer.pieces()
    is_over = is_finished = False
    async for piece in pieces:
        now = _now()
        for data in events.feed(piece):
            if data == DONE:
                is_over = True
                break
            part = part_of(data)
            if part.has_token:
                _take_token(measured, now)
            measured.usage = part.usage or measured.usage
            is_finished |= part.is_finish
        if is_over:
            break
    measured.ended = _now()
    if not is_over and not is_finished:
        raise RequestFailedError(CUT, "the stream ended without its end")
    if is_over:
        # Only with its end read, the connection can serve the next request.
        with suppress(RequestFailedError, TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                async for _ in pieces:
                    pass


def _take_token(measured: Measured, now: float) -> None:
    if measured.first_token is None:
        measured.first_token = now
    else:
        measured.gaps.add(now - (measured.last_token or now))
    measured.last_token = now
    measured.tokens_seen += 1


async def document_text(answer: Answer, at_most: int) -> str:
    """A long error is cut; a longer document than any embedding is garbage."""
    held = bytearray()
    async for piece in answer.pieces():
        held += piece
        if len(held) > at_most:
            if answer.status < 300:
                raise RequestFailedError(GARBAGE, f"a document of more than {at_most} bytes")
            break
    return bytes(held[:at_most]).decode("utf-8", errors="replace")


async def _within(wait: Awaitable[object], seconds: float) -> bool:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await wait
    except TimeoutError:
        return False
    return True


@contextmanager
def _on_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """Only the main thread may set a handler; elsewhere nobody presses Ctrl-C."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, act)
    except (ValueError, RuntimeError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _now() -> float:
    return asyncio.get_running_loop().time()
