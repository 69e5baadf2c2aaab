"""Server-sent events (WHATWG HTML, "event stream interpretation"), as far as `data` goes, from bytes cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scripts.serving_bench.failures import GARBAGE, RequestFailedError

EVENT_BYTES_MAX: Final = 4 * 2**20
"""Of one event, its comments included: what sends more without a blank line is no event stream."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class EventStream:
    """`feed` gives the data of every event that the new bytes end. An event that the stream's end cuts is none."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._bytes = 0
        self._is_after_return = False
        self._is_first_line = True

    def feed(self, piece: bytes) -> Iterator[str]:
        """Raises RequestFailedError when an event is larger than EVENT_BYTES_MAX."""
        if self._is_after_return and piece:
            # The line feed of a pair that was cut in two.
            self._is_after_return = False
            piece = piece[1:] if piece[:1] == b"\n" else piece
        self._is_after_return |= piece.endswith(b"\r")
        lines = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines[:-1]:
            self._take(line)
            data = self._end_line()
            if data is not None:
                yield data
        self._take(lines[-1])

    def _take(self, part: bytes) -> None:
        self._line += part
        self._bytes += len(part)
        if self._bytes > EVENT_BYTES_MAX:
            raise RequestFailedError(GARBAGE, f"an event of more than {EVENT_BYTES_MAX} bytes")

    def _end_line(self) -> str | None:
        line = bytes(self._line)
        self._line.clear()
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if line:
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            return None
        data, self._data, self._bytes = self._data, [], 0
        return b"\n".join(data).decode("utf-8", errors="replace") if data else None
