"""Prices as found: each with its source and date, none made up. No row means unknown, which is never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

PriceKind = Literal["on-demand", "spot", "capacity-block"]
ServiceItem = Literal[
    "nat-gateway",
    "nat-gateway-data",
    "ebs-gp3",
    "public-ipv4",
    "logs-ingestion",
    "s3-standard",
    "interface-endpoint",
]


@dataclass(frozen=True, slots=True)
class Price:
    """Of one instance for one hour, Linux, without tax."""

    kind: PriceKind
    usd_per_hour: float
    regions: tuple[str, ...] | None
    """None where the source does not say the region."""
    as_of: str
    """YYYY, YYYY-MM or YYYY-MM-DD: as exact as the source."""
    source: str
    primary: bool
    """False for third-party quotes: a hint, to be read again before money depends on it."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ServicePrice:
    """What the kit's stacks use besides instances."""

    what: ServiceItem
    unit: Literal["hour", "GB", "GB-month"]
    """What `usd` buys one of."""
    usd: float
    region: str
    as_of: str
    source: str
    note: str = ""


def best_price(prices: Iterable[Price], kind: str, region: str) -> Price | None:
    """The price to plan with: one of that region before one of no stated region, primary first, then newest."""
    fitting = [p for p in prices if p.kind == kind and (p.regions is None or region in p.regions)]
    return max(fitting, key=lambda p: (p.regions is not None, p.primary, p.as_of), default=None)
