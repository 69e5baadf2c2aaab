"""Whether an engine still works: requests run, and nothing comes. Its /health is green then (vllm#39863)."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.names import Reading


@dataclass
class Progress:
    """`stall_seconds` is longer than the longest wait for a first token: a prefill makes no token, either."""

    stall_seconds: float
    last: Reading | None = None
    moved_at: float = 0.0
    """When something came last, or when there was nothing to do."""

    def note(self, found: Reading, now: float) -> float | None:
        """Tokens since the last reading; None for the first one of an engine, and after a restart."""
        before, self.last = self.last, found
        if before is None or found.work < before.work or found.tokens < before.tokens:
            self.moved_at = now
            return None
        if found.work != before.work or not found.running + found.waiting:
            self.moved_at = now
        return found.tokens - before.tokens

    def silent(self, now: float, *, healthy: bool) -> None:
        """No metrics. Without a healthy server that is a start or an end, and no stall; a server that was seen to work,
        is green and tells nothing any more is one."""
        if not healthy or self.last is None:
            self.last = None
            self.moved_at = now

    def standing_seconds(self, now: float) -> float:
        return now - self.moved_at if self.last else 0.0

    def is_slow(self, now: float) -> bool:
        """Half of the time after which it counts as stalled."""
        return self.standing_seconds(now) >= self.stall_seconds / 2

    def is_stalled(self, now: float) -> bool:
        return self.standing_seconds(now) >= self.stall_seconds
