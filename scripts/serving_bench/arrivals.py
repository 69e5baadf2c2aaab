"""When the requests of an open loop are meant to start: the same seed, the same times."""

from __future__ import annotations

import random
from collections.abc import Iterator

from scripts.serving_bench.settings import Load


def intended_starts(load: Load) -> Iterator[float]:
    """Seconds from the beginning: below `load.seconds`, and `load.requests` of them at most."""
    rate = load.rate_per_second
    if rate is None:
        return
    chance = random.Random(load.seed)  # noqa: S311 - a load pattern, no secret
    at = chance.expovariate(rate) if load.arrivals == "poisson" else 0.0
    for number in range(1, load.requests + 1):
        if at >= load.seconds:
            return
        yield at
        at = at + chance.expovariate(rate) if load.arrivals == "poisson" else number / rate
