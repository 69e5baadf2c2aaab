"""Offers and what a file wants, for tests; `**more` changes single values."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from stacks.domain.capacity_market.offers import Offer
from stacks.domain.capacity_market.wanted import Wanted

NOW = datetime(2026, 11, 30, 13, 0, tzinfo=UTC)
START = datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
DAYS = 7

WANTED = Wanted(
    capacity="block",
    clusters=("train",),
    region="us-east-2",
    zone_id="use2-az3",
    instance_type="trn2.48xlarge",
    nodes=4,
    ultraserver_type="",
    ultraservers=0,
    hours=DAYS * 24,
    start_from=None,
    until=None,
    budget_usd=Decimal(100_000),
)
OFFER = Offer(
    id="cb-1",
    region="us-east-2",
    instance_type="trn2.48xlarge",
    zone="us-east-2c",
    zone_id="use2-az3",
    instances=4,
    start=START,
    end=START + timedelta(days=DAYS),
    minutes=DAYS * 24 * 60,
    fee=Decimal("24031.10"),
    currency="USD",
    tenancy="default",
    ultraserver_type="",
    ultraservers=None,
)
ULTRASERVER: dict[str, Any] = {
    "instance_type": "trn2u.48xlarge",
    "ultraserver_type": "u-trn2x64",
    "ultraservers": 1,
}


def an_offer(**more: Any) -> Offer:
    return replace(OFFER, **more)


def wanted(**more: Any) -> Wanted:
    return replace(WANTED, **more)
