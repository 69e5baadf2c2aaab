"""What engines call the same things, by version. A name that an engine does not have is absent, never zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exporter.prometheus import Sample

RUNNING = ("vllm:num_requests_running", "neuronkit_requests_running")
WAITING = ("vllm:num_requests_waiting", "neuronkit_requests_waiting")
CACHE_USAGE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
"""The second is the name of older versions."""
TOKENS = (
    ("vllm:prompt_tokens_total", "vllm:prompt_tokens"),
    ("vllm:generation_tokens_total", "vllm:generation_tokens"),
    ("neuronkit_inputs_total",),
)
"""Counters: work that was done. Client libraries write `_total` or not."""
FINISHED = ("vllm:request_success_total", "vllm:request_success", "neuronkit_batches_total")
STARTUP = ("vllm_neuron:startup_time_seconds",)
COMPILATION = ("vllm_neuron:compilation_time_seconds",)


@dataclass(frozen=True)
class Reading:
    """Of one answer of the engine."""

    running: float
    waiting: float
    tokens: float
    """Ever: prompts and answers; inputs of an encoder."""
    finished: float
    cache_usage: float | None = None
    startup_seconds: float | None = None
    compilation_seconds: float | None = None

    @property
    def work(self) -> tuple[float, float]:
        return self.tokens, self.finished


def reading(samples: Sequence[Sample]) -> Reading | None:
    """None where the answer has no requests in it: then it is not (yet) an engine's."""
    running, waiting = _sum(samples, RUNNING), _sum(samples, WAITING)
    if running is None or waiting is None:
        return None
    return Reading(
        running=running,
        waiting=waiting,
        tokens=sum(_sum(samples, names) or 0.0 for names in TOKENS),
        finished=_sum(samples, FINISHED) or 0.0,
        cache_usage=_largest(samples, CACHE_USAGE),
        startup_seconds=_largest(samples, STARTUP),
        compilation_seconds=_sum(samples, COMPILATION),
    )


def _sum(samples: Iterable[Sample], names: Sequence[str]) -> float | None:
    """Over engines and models of one process; of the first name that there is, not of two that mean the same."""
    values = _values(samples, names)
    return sum(values) if values else None


def _largest(samples: Iterable[Sample], names: Sequence[str]) -> float | None:
    return max(_values(samples, names), default=None)


def _values(samples: Iterable[Sample], names: Sequence[str]) -> list[float]:
    found = list(samples)
    for name in names:
        values = [sample.value for sample in found if sample.name == name]
        if values:
            return values
    return []
