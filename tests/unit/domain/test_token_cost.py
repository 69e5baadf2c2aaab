"""Dollars for a million tokens: what is unknown stays unknown."""

from __future__ import annotations

import pytest

from stacks.domain.token_cost import usd_per_million_tokens


@pytest.mark.parametrize(
    ("usd_per_hour", "tokens_per_second", "usd"),
    [
        (3.6, 1000.0, 1.0),  # 3.6 M tokens an hour
        (1.9674, 240.0, 2.277083),
        (0.0, 100.0, 0.0),  # paid already
        (None, 100.0, None),
        (1.0, None, None),
        (1.0, 0.0, None),
        (1.0, -5.0, None),
    ],
)
def test_usd_per_million_tokens(
    usd_per_hour: float | None, tokens_per_second: float | None, usd: float | None
) -> None:
    assert usd_per_million_tokens(usd_per_hour, tokens_per_second) == (
        None if usd is None else pytest.approx(usd, rel=1e-5)
    )
