from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.serving_bench.latency_histogram import LatencyHistogram

durations = st.lists(st.floats(1e-5, 1e4), min_size=1, max_size=200)


def histogram(values: list[float]) -> LatencyHistogram:
    made = LatencyHistogram()
    for value in values:
        made.add(value)
    return made


@given(durations, st.sampled_from([1, 50, 90, 95, 99, 100]))
def test_percentiles_are_the_exact_ones_within_half_a_percent(values: list[float], percent: int) -> None:
    exact = sorted(values)[max(1, math.ceil(len(values) * percent / 100)) - 1]
    assert histogram(values).percentile(percent) == pytest.approx(exact, rel=0.006)


@given(durations, durations)
def test_merged_is_as_if_all_had_been_added(left: list[float], right: list[float]) -> None:
    merged = histogram(left)
    merged.merge(histogram(right))
    both = histogram(left + right)
    assert merged.count == both.count
    assert merged.total_seconds == pytest.approx(both.total_seconds)
    assert [merged.percentile(p) for p in (50, 99)] == [both.percentile(p) for p in (50, 99)]


def test_of_nothing_there_is_no_number() -> None:
    assert LatencyHistogram().as_dict() == {
        "count": 0,
        "mean": None,
        "p50": None,
        "p90": None,
        "p95": None,
        "p99": None,
        "max": None,
    }


def test_memory_does_not_grow_with_what_is_added() -> None:
    made = LatencyHistogram()
    for number in range(1, 200_000):
        made.add(number * 1e-4)
    assert made.count == 199_999
    assert len(made._buckets) < 1000


def test_zero_and_more_than_a_week_are_taken_all_the_same() -> None:
    made = histogram([0.0, 1e9])
    assert (made.percentile(1), made.percentile(100)) == (
        pytest.approx(0, abs=2e-6),
        pytest.approx(1e6, rel=0.01),
    )
