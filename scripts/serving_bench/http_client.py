"""HTTP/1.1 over asyncio's streams: one POST or GET at a time on a connection, which is used again where the server lets us.

Nothing of an answer is kept here, every size has a bound, and pieces are handed on as they come in.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from scripts.serving_bench.failures import CLOSED, CUT, GARBAGE, REFUSED, TLS, RequestFailedError
from scripts.serving_bench.settings import Endpoint

_PIECE_BYTES: Final = 64 * 1024
_LINE_BYTES_MAX: Final = 64 * 1024
_HEADERS_MAX: Final = 200
IDLE_SECONDS_MAX: Final = 2.0
"""Servers close idle connections, some after 5 seconds: one that is about to be closed must not get a request."""
_WITHOUT_BODY: Final = (204, 304)


@dataclass(slots=True)
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    idle_since: float = 0.0

    def close(self) -> None:
        self.writer.close()


@dataclass(slots=True)
class Answer:
    """Its head; `pieces` gives the body."""

    status: int
    headers: Mapping[str, str]
    connection: Connection
    is_read: bool = field(default=False, init=False)

    @property
    def is_event_stream(self) -> bool:
        return self.headers.get("content-type", "").lower().startswith("text/event-stream")

    @property
    def may_stay_open(self) -> bool:
        return self.is_read and self.headers.get("connection", "").lower() != "close"

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises RequestFailedError when the connection ends before the body does."""
        if self.status in _WITHOUT_BODY:
            pass
        elif "chunked" in self.headers.get("transfer-encoding", "").lower():
            async for piece in self._chunks():
                yield piece
        elif "content-length" in self.headers:
            async for piece in self._exactly(_number(self.headers["content-length"], 10)):
                yield piece
        else:
            while piece := await _read(self.connection.reader, _PIECE_BYTES):
                yield piece
            # Its end is the connection's: nobody can tell whether it was cut.
            return
        self.is_read = True

    async def _chunks(self) -> AsyncIterator[bytes]:
        reader = self.connection.reader
        while size := _number((await _line(reader, CUT)).partition(b";")[0].decode("latin-1"), 16):
            async for piece in self._exactly(size):
                yield piece
            if await _line(reader, CUT):
                raise RequestFailedError(GARBAGE, "a chunk is longer than it says")
        while await _line(reader, CUT):  # trailers
            pass

    async def _exactly(self, size: int) -> AsyncIterator[bytes]:
        while size > 0:
            piece = await _read(self.connection.reader, min(size, _PIECE_BYTES))
            if not piece:
                raise RequestFailedError(CUT)
            size -= len(piece)
            yield piece


class HttpClient:
    """Keeps idle connections for the next request; never more than were open at once."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._idle: list[Connection] = []
        self._tls = ssl.create_default_context() if endpoint.scheme == "https" else None

    async def send(self, request: bytes) -> Answer:
        """Exactly once: a lost request is counted, not repeated. Raises RequestFailedError."""
        connection = await self._connection()
        try:
            return await _exchange(connection, request)
        except BaseException:
            connection.close()
            raise

    def give_back(self, answer: Answer) -> None:
        if answer.may_stay_open:
            answer.connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(answer.connection)
        else:
            answer.connection.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            is_fresh = asyncio.get_running_loop().time() - connection.idle_since < IDLE_SECONDS_MAX
            if is_fresh and not connection.reader.at_eof():
                return connection
            connection.close()
        try:
            reader, writer = await asyncio.open_connection(
                self._endpoint.host, self._endpoint.port, ssl=self._tls, limit=_LINE_BYTES_MAX
            )
        except ssl.SSLError as error:
            raise RequestFailedError(TLS, f"{error.reason or error}") from None
        except OSError as error:
            raise RequestFailedError(REFUSED, error.strerror or str(error)) from None
        return Connection(reader, writer)


def request_bytes(
    method: str, endpoint: Endpoint, target: str, headers: tuple[tuple[str, str], ...], body: bytes
) -> bytes:
    fields = {
        "Host": endpoint.authority,
        "Accept": "text/event-stream, application/json",
        "User-Agent": "neuronkit",
        **(
            {"Content-Type": "application/json", "Content-Length": str(len(body))} if method == "POST" else {}
        ),
        **dict(headers),
    }
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + body


async def _exchange(connection: Connection, request: bytes) -> Answer:
    try:
        connection.writer.write(request)
        await connection.writer.drain()
    except OSError as error:
        raise RequestFailedError(CLOSED, error.strerror or str(error)) from None
    status = 100
    headers: dict[str, str] = {}
    while 100 <= status < 200:
        status = _status(await _line(connection.reader, CLOSED))
        headers = await _headers(connection.reader)
    return Answer(status, headers, connection)


async def _headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    while line := await _line(reader, CUT):
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or len(headers) >= _HEADERS_MAX:
            raise RequestFailedError(GARBAGE, f"no HTTP header: {line[:80]!r}")
        headers[name.strip().lower()] = value.strip()
    return headers


def _status(line: bytes) -> int:
    words = line.split(b" ", 2)
    if (
        not words[0].startswith(b"HTTP/1.")
        or len(words) < 2
        or not (len(words[1]) == 3 and words[1].isdigit())
    ):
        raise RequestFailedError(GARBAGE, f"no HTTP: {line[:80]!r}")
    return int(words[1])


async def _line(reader: asyncio.StreamReader, kind_at_end: str) -> bytes:
    """Without its end. `kind_at_end`: what it is when the connection ends first."""
    try:
        line = await reader.readline()
    except ValueError:
        raise RequestFailedError(GARBAGE, f"a line of more than {_LINE_BYTES_MAX} bytes") from None
    except OSError as error:
        raise RequestFailedError(kind_at_end, error.strerror or str(error)) from None
    if not line.endswith(b"\n"):
        raise RequestFailedError(kind_at_end)
    return line.rstrip(b"\r\n")


async def _read(reader: asyncio.StreamReader, size: int) -> bytes:
    try:
        return await reader.read(size)
    except OSError as error:
        raise RequestFailedError(CUT, error.strerror or str(error)) from None


def _number(text: str, base: int) -> int:
    digits = text.strip()
    if not digits.isalnum() or len(digits) > 15:
        raise RequestFailedError(GARBAGE, f"no length: {text[:40]!r}")
    try:
        return int(digits, base)
    except ValueError:
        raise RequestFailedError(GARBAGE, f"no length: {text[:40]!r}") from None
