"""What was measured. Its size depends on how many kinds of things happened, not on how many requests there were."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from scripts.serving_bench.answers import Usage
from scripts.serving_bench.failures import RequestFailedError
from scripts.serving_bench.latency_histogram import LatencyHistogram


@dataclass(slots=True)
class Measured:
    """One request that came to its good end. Moments are of one clock, in seconds."""

    intended: float
    started: float
    ended: float
    first_token: float | None = None
    last_token: float | None = None
    tokens_seen: int = 0
    """Events with text: a server may put several tokens into one."""
    usage: Usage | None = None
    gaps: LatencyHistogram = field(default_factory=LatencyHistogram)

    @property
    def output_tokens(self) -> int | None:
        counted = self.usage.output_tokens if self.usage else None
        return counted if counted is not None else (self.tokens_seen or None)


@dataclass(slots=True)
class Recorder:
    """Latencies count from when a request was meant to start; in a closed loop that is when it did."""

    first_token: LatencyHistogram = field(default_factory=LatencyHistogram)
    inter_token: LatencyHistogram = field(default_factory=LatencyHistogram)
    per_output_token: LatencyHistogram = field(default_factory=LatencyHistogram)
    end_to_end: LatencyHistogram = field(default_factory=LatencyHistogram)
    start_delay: LatencyHistogram = field(default_factory=LatencyHistogram)
    sent: int = 0
    succeeded: int = 0
    cut_by_us: int = 0
    """In flight when the test was interrupted: neither good nor bad."""
    statuses: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    """The first detail of each kind of error."""
    input_tokens: int = 0
    output_tokens: int = 0
    counted_by_usage: int = 0
    """Requests whose output the server counted."""
    counted_by_chunks: int = 0

    def add(self, measured: Measured) -> None:
        self.succeeded += 1
        self.end_to_end.add(measured.ended - measured.intended)
        self.inter_token.merge(measured.gaps)
        if measured.first_token is not None:
            self.first_token.add(measured.first_token - measured.intended)
        tokens = measured.output_tokens
        if tokens is not None:
            self.output_tokens += tokens
            by_usage = measured.usage is not None and measured.usage.output_tokens is not None
            self.counted_by_usage += by_usage
            self.counted_by_chunks += not by_usage
        if tokens and tokens > 1 and measured.first_token is not None and measured.last_token is not None:
            self.per_output_token.add((measured.last_token - measured.first_token) / (tokens - 1))
        if measured.usage and measured.usage.input_tokens is not None:
            self.input_tokens += measured.usage.input_tokens

    def fail(self, failure: RequestFailedError) -> None:
        self.errors[failure.kind] += 1
        self.examples.setdefault(failure.kind, failure.detail[:200])

    @property
    def failed(self) -> int:
        return self.errors.total()
