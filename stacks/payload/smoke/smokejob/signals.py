"""SIGTERM and SIGINT: during training they are noted and acted on when the step is over, at other times at once."""

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType

from smokejob.errors import StoppedError

_SLICE_SECONDS = 0.05


class StopSignals:
    """`number` is that of the first signal that was noted, or 0."""

    def __init__(self) -> None:
        self.number = 0
        self._noting = False

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._arrived)

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        self._noting = True
        try:
            yield
        finally:
            self._noting = False

    def pause(self, seconds: float) -> None:
        """Sleep, but not past a signal."""
        end = time.monotonic() + seconds
        while not self.number and (left := end - time.monotonic()) > 0:
            time.sleep(min(_SLICE_SECONDS, left))

    def _arrived(self, number: int, _frame: FrameType | None) -> None:
        if not self._noting:
            raise StoppedError(
                f"stopped by {signal.Signals(number).name} outside of training; nothing to save", number
            )
        self.number = self.number or number
