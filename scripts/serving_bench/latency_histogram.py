"""Durations in buckets that grow by 1 %: memory does not depend on how many there are, percentiles are within 0.5 %."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

GROWTH: Final = 1.01
SMALLEST_SECONDS: Final = 1e-6
_LARGEST_SECONDS: Final = 1e6
PERCENTILES: Final = (50, 90, 95, 99)
_LOG_GROWTH: Final = math.log(GROWTH)


@dataclass(slots=True)
class LatencyHistogram:
    count: int = 0
    total_seconds: float = 0.0
    smallest: float = math.inf
    largest: float = 0.0
    _buckets: Counter[int] = field(default_factory=Counter)

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total_seconds += seconds
        self.smallest = min(self.smallest, seconds)
        self.largest = max(self.largest, seconds)
        held = min(max(seconds, SMALLEST_SECONDS), _LARGEST_SECONDS)
        self._buckets[math.floor(math.log(held / SMALLEST_SECONDS) / _LOG_GROWTH)] += 1

    def merge(self, other: LatencyHistogram) -> None:
        self.count += other.count
        self.total_seconds += other.total_seconds
        self.smallest = min(self.smallest, other.smallest)
        self.largest = max(self.largest, other.largest)
        self._buckets.update(other._buckets)

    def percentile(self, percent: float) -> float | None:
        """Nearest rank; None of nothing. Never outside of what was measured."""
        if not self.count:
            return None
        rank = max(1, math.ceil(self.count * percent / 100))
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= rank:
                middle = SMALLEST_SECONDS * math.pow(GROWTH, bucket + 0.5)
                return min(max(middle, self.smallest), self.largest)
        return self.largest

    def as_dict(self) -> dict[str, float | int | None]:
        """Seconds; null of nothing."""
        has_any = self.count > 0
        return {
            "count": self.count,
            "mean": _rounded(self.total_seconds / self.count) if has_any else None,
            **{f"p{percent}": _rounded(self.percentile(percent)) for percent in PERCENTILES},
            "max": _rounded(self.largest) if has_any else None,
        }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
