from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.serving_bench.arrivals import intended_starts
from scripts.serving_bench.settings import Load

LOAD = Load(
    rate_per_second=10,
    arrivals="poisson",
    concurrency=1,
    in_flight_max=5,
    seconds=100,
    requests=10_000,
    warm_up=0,
    seed=1,
    timeout_seconds=1,
)


def test_constant_arrivals_are_a_rate_apart_until_time_or_count_end() -> None:
    load = replace(LOAD, arrivals="constant", rate_per_second=4, seconds=1)
    assert list(intended_starts(load)) == [0, 0.25, 0.5, 0.75]
    assert list(intended_starts(replace(load, requests=2))) == [0, 0.25]


def test_poisson_arrivals_keep_the_rate_and_are_as_spread_as_they_should_be() -> None:
    starts = list(intended_starts(LOAD))
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert len(starts) == pytest.approx(1000, rel=0.1)
    # Of an exponential distribution, mean and standard deviation are the same.
    assert spread / mean == pytest.approx(1, rel=0.15)


@given(st.integers(), st.sampled_from(["poisson", "constant"]), st.floats(0.1, 500), st.integers(1, 200))
def test_bounded_in_order_and_the_same_for_the_same_seed(
    seed: int, arrivals: str, rate: float, requests: int
) -> None:
    load = replace(LOAD, seed=seed, arrivals=arrivals, rate_per_second=rate, requests=requests, seconds=3)  # type: ignore[arg-type]
    starts = list(intended_starts(load))
    assert starts == sorted(starts) == list(intended_starts(load))
    assert len(starts) <= requests
    assert all(0 <= start < 3 for start in starts)


def test_a_closed_loop_has_none() -> None:
    assert list(intended_starts(replace(LOAD, rate_per_second=None))) == []
