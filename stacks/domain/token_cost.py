"""What a million tokens cost, from the price of an hour and a rate that somebody measured."""

from __future__ import annotations

SECONDS_PER_HOUR = 3600


def usd_per_million_tokens(usd_per_hour: float | None, tokens_per_second: float | None) -> float | None:
    """Of everything that is paid for during the measurement, idle or not. None where price or rate is unknown, or no token came."""
    if usd_per_hour is None or tokens_per_second is None or tokens_per_second <= 0:
        return None
    return usd_per_hour / (tokens_per_second * SECONDS_PER_HOUR) * 1_000_000
