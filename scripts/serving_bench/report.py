"""What is reported: one document whose shape does not change, and the same for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scripts.serving_bench.latency_histogram import PERCENTILES, LatencyHistogram
from scripts.serving_bench.load import Result
from scripts.serving_bench.settings import Endpoint, Load
from stacks.domain.token_cost import usd_per_million_tokens


@dataclass(frozen=True, slots=True)
class Price:
    """Of what answered. None: nobody said, or it is not known."""

    usd_per_hour: float | None = None
    source: str = "not given"


@dataclass(frozen=True, slots=True)
class Asked:
    """What every request asked for, as far as the document says it."""

    model: str | None
    prompts: str
    max_tokens: int | None


@dataclass(frozen=True, slots=True)
class BenchReport:
    endpoint: Endpoint
    asked: Asked
    load: Load
    result: Result
    price: Price

    @property
    def _output_tokens_per_second(self) -> float | None:
        recorder = self.result.recorder
        counted = recorder.counted_by_usage + recorder.counted_by_chunks
        return _rate(recorder.output_tokens, self.result.seconds) if counted else None

    def as_dict(self) -> dict[str, Any]:
        recorder, result = self.result.recorder, self.result
        return {
            "kind": "bench-serving",
            "url": self.endpoint.url,
            "model": self.asked.model,
            "load": self._load(),
            "ended_by": result.ended_by,
            "seconds": round(result.seconds, 3),
            "requests": {
                "sent": recorder.sent,
                "succeeded": recorder.succeeded,
                "failed": recorder.failed,
                "cut_by_interrupt": recorder.cut_by_us,
                "not_sent": result.not_sent,
            },
            "offered_requests_per_second": self.load.rate_per_second,
            "sent_requests_per_second": _rate(recorder.sent - 1, result.sending_seconds),
            "succeeded_requests_per_second": _rate(recorder.succeeded, result.seconds),
            "tokens": {
                "input": recorder.input_tokens or None,
                "output": recorder.output_tokens or None,
                "requests_counted_by_usage": recorder.counted_by_usage,
                "requests_counted_by_chunks": recorder.counted_by_chunks,
                "output_per_second": self._output_tokens_per_second,
                "input_per_second": _rate(recorder.input_tokens, result.seconds)
                if recorder.input_tokens
                else None,
            },
            "latency_seconds": {
                "counted_from": "intended start" if self.load.is_open else "actual start",
                "first_token": recorder.first_token.as_dict(),
                "inter_token": recorder.inter_token.as_dict(),
                "per_output_token": recorder.per_output_token.as_dict(),
                "end_to_end": recorder.end_to_end.as_dict(),
                "start_delay": recorder.start_delay.as_dict(),
            },
            "statuses": {str(status): count for status, count in sorted(recorder.statuses.items())},
            "errors": dict(sorted(recorder.errors.items())),
            "error_examples": dict(sorted(recorder.examples.items())),
            "cost": self._cost(),
        }

    def text(self) -> str:
        recorder, result = self.result.recorder, self.result
        lines = [
            f"{self.endpoint.url}" + (f", model {self.asked.model}" if self.asked.model else ""),
            f"{self._load_words()}; ended by {result.ended_by} after {result.seconds:.1f} s",
            f"requests   {recorder.sent} sent, {recorder.succeeded} succeeded, {recorder.failed} failed"
            + (f", {recorder.cut_by_us} cut by the interrupt" if recorder.cut_by_us else "")
            + (f", {result.not_sent} NOT SENT: all places were taken" if result.not_sent else ""),
            f"throughput {_words(_rate(recorder.succeeded, result.seconds), 'requests/s')}, "
            f"{_words(self._output_tokens_per_second, 'output tokens/s')} ({self._counting()})",
            *self._table(),
            *(
                f"ERROR      {count} x {kind}{self._example(kind)}"
                for kind, count in recorder.errors.most_common()
            ),
            self._cost_words(),
        ]
        return "\n".join(lines)

    def _load(self) -> dict[str, Any]:
        load = self.load
        return {
            "loop": "open" if load.is_open else "closed",
            "rate_per_second": load.rate_per_second,
            "arrivals": load.arrivals if load.is_open else None,
            "concurrency": None if load.is_open else load.concurrency,
            "in_flight_max": load.in_flight_max if load.is_open else load.concurrency,
            "seconds_max": load.seconds,
            "requests_max": load.requests,
            "warm_up": load.warm_up,
            "seed": load.seed,
            "timeout_seconds": load.timeout_seconds,
            "prompts": self.asked.prompts,
            "max_tokens": self.asked.max_tokens,
        }

    def _load_words(self) -> str:
        load, result = self.load, self.result
        if load.rate_per_second is None:
            return f"closed loop, {load.concurrency} at once: latency from each request's start"
        sent = _words(_rate(result.recorder.sent - 1, result.sending_seconds), "requests/s")
        return (
            f"open loop, {load.rate_per_second:g} requests/s offered ({load.arrivals}), {sent} sent: latency from "
            "each request's intended start"
        )

    def _counting(self) -> str:
        recorder = self.result.recorder
        if recorder.counted_by_chunks and recorder.counted_by_usage:
            return f"of {recorder.counted_by_chunks} requests, chunks were counted: the server gave no usage"
        if recorder.counted_by_chunks:
            return "chunks were counted: the server gave no usage"
        return "as the server counts" if recorder.counted_by_usage else "no output tokens"

    def _table(self) -> list[str]:
        recorder = self.result.recorder
        columns = ("mean", *(f"p{percent}" for percent in PERCENTILES), "max")
        rows = (
            ("first token", recorder.first_token),
            ("between chunks", recorder.inter_token),
            ("per output token", recorder.per_output_token),
            ("end to end", recorder.end_to_end),
        )
        head = f"{'milliseconds':<17}" + "".join(f"{name:>11}" for name in columns)
        return [head, *(_row(name, histogram, columns) for name, histogram in rows)]

    def _example(self, kind: str) -> str:
        detail = " ".join(self.result.recorder.examples.get(kind, "").split())
        return f": {detail}" if detail else ""

    def _per_million(self) -> float | None:
        return usd_per_million_tokens(self.price.usd_per_hour, self._output_tokens_per_second)

    def _cost(self) -> dict[str, Any]:
        return {
            "usd_per_hour": self.price.usd_per_hour,
            "source": self.price.source,
            "usd_per_million_output_tokens": self._per_million(),
        }

    def _cost_words(self) -> str:
        per_million = self._per_million()
        if self.price.usd_per_hour is None:
            return f"cost       unknown: {self.price.source}"
        words = "unknown" if per_million is None else f"${per_million:.2f}"
        return (
            f"cost       {words} per million output tokens at this throughput, of ${self.price.usd_per_hour:.2f}/hour "
            f"({self.price.source})"
        )


def _row(name: str, histogram: LatencyHistogram, columns: tuple[str, ...]) -> str:
    values = histogram.as_dict()
    cells = (values[column] for column in columns)
    return f"{name:<17}" + "".join(f"{'-' if cell is None else f'{cell * 1000:.1f}':>11}" for cell in cells)


def _rate(count: int, seconds: float) -> float | None:
    return round(count / seconds, 4) if seconds > 0 and count >= 0 else None


def _words(rate: float | None, unit: str) -> str:
    return f"{'unknown' if rate is None else f'{rate:.2f}'} {unit}"
