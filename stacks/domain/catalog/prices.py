"""Prices as found: each with its source and date, none made up. No row means unknown, which is never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
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
    "dashboard",
    "custom-metric",
    "eks-control-plane",
    "load-balancer",
    "pcs-controller-small",
    "pcs-controller-medium",
    "pcs-controller-large",
    "pcs-node",
    "pcs-accounting",
    "efs",
    "lustre",
    "ebs-snapshot",
    "image-build",
    "load-balancer-capacity",
    "lambda",
]
ServiceUnit = Literal["hour", "GB", "GB-month", "month"]


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
    unit: ServiceUnit
    """What `usd` buys one of; "month" is one dashboard or metric for a month."""
    usd: float
    region: str | None
    """None where AWS has one price for all regions."""
    as_of: str
    source: str
    note: str = ""


def earliest_date(as_of: str) -> date:
    """The first day that "2026", "2026-10" or "2026-10-04" may mean. Raises ValueError for anything else."""
    parts = [int(part) for part in as_of.split("-")]
    if len(parts) > 3:
        raise ValueError(f"no date: {as_of}")
    return date(*(*parts, 1, 1)[:3])


def best_price(prices: Iterable[Price], kind: str, region: str) -> Price | None:
    """The price to plan with: one of that region before one of no stated region, primary first, then newest."""
    fitting = [p for p in prices if p.kind == kind and (p.regions is None or region in p.regions)]
    return max(fitting, key=lambda p: (p.regions is not None, p.primary, p.as_of), default=None)
