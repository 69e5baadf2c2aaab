"""Offers of capacity blocks and their worth: the fee for an hour of a chip that can be used.

Fees are Decimal, in the offer's own currency: nothing is converted. What EC2 leaves out stays unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from stacks.domain.catalog import Catalog
from stacks.domain.reservations import reclaim_window

USD = "USD"
_MINUTES_AN_HOUR = 60


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an offer with a zone, a type and a schedule of its own."""

    instance_type: str
    zone_id: str
    instances: int | None
    start: datetime | None
    end: datetime | None
    minutes: int | None
    """Of the whole duration."""


@dataclass(frozen=True, slots=True)
class Offer:
    id: str
    region: str
    instance_type: str
    zone: str
    """The zone's name, which differs from account to account."""
    zone_id: str
    instances: int | None
    start: datetime | None
    end: datetime | None
    minutes: int | None
    fee: Decimal | None
    currency: str
    tenancy: str
    ultraserver_type: str
    ultraservers: int | None
    segments: tuple[Segment, ...] = ()
    """Empty, or what the offer is made of."""

    @property
    def is_ultraserver(self) -> bool:
        return bool(self.ultraserver_type)

    @property
    def reclaim(self) -> datetime | None:
        """When EC2 begins to take the nodes back."""
        return self.end - reclaim_window(is_ultraserver=self.is_ultraserver) if self.end else None

    def useful_left(self, as_of: datetime) -> timedelta | None:
        """From now, or from its start, until the nodes are taken back."""
        if self.reclaim is None or self.start is None:
            return None
        return self.reclaim - max(self.start, as_of)

    @property
    def parts(self) -> tuple[Segment, ...]:
        """Its segments; the offer itself where it has none."""
        whole = Segment(self.instance_type, self.zone_id, self.instances, self.start, self.end, self.minutes)
        return self.segments or (whole,)


@dataclass(frozen=True, slots=True)
class Valued:
    """An offer with what it is worth; None: cannot be known from the answer and the catalog."""

    offer: Offer
    nodes: int | None
    chips: int | None
    node_hours: Decimal | None
    useful_chip_hours: Decimal | None

    @property
    def fee_per_node_hour(self) -> Decimal | None:
        return _ratio(self.offer.fee, self.node_hours)

    @property
    def fee_per_useful_chip_hour(self) -> Decimal | None:
        return _ratio(self.offer.fee, self.useful_chip_hours)


def ranked(offers: Iterable[Offer], catalog: Catalog) -> tuple[Valued, ...]:
    """By fee per useful chip-hour: US dollars first, other currencies apart, what has no price last."""
    return tuple(sorted((valued(offer, catalog) for offer in offers), key=_order))


def valued(offer: Offer, catalog: Catalog) -> Valued:
    return Valued(
        offer,
        nodes=_largest(_nodes(part, offer, catalog) for part in offer.parts),
        chips=_largest(_chips(part, offer, catalog) for part in offer.parts),
        node_hours=_hours(offer, catalog, _nodes, is_useful=False),
        useful_chip_hours=_hours(offer, catalog, _chips, is_useful=True),
    )


def _order(one: Valued) -> tuple[bool, bool, str, Decimal, str, str]:
    price = one.fee_per_useful_chip_hour
    offer = one.offer
    begins = offer.start.isoformat() if offer.start else "~"
    return (price is None, offer.currency != USD, offer.currency, price or Decimal(0), begins, offer.id)


_Count = Callable[[Segment, Offer, Catalog], int | None]
"""How many of something a part has; None where that is not known."""


def _hours(offer: Offer, catalog: Catalog, count: _Count, *, is_useful: bool) -> Decimal | None:
    total = Decimal(0)
    for part in offer.parts:
        many = count(part, offer, catalog)
        if many is None or part.minutes is None:
            return None
        lost = reclaim_window(is_ultraserver=offer.is_ultraserver) if is_useful else timedelta()
        minutes = max(0, part.minutes - int(lost.total_seconds()) // 60)
        total += Decimal(many * minutes) / _MINUTES_AN_HOUR
    return total


def _nodes(part: Segment, offer: Offer, catalog: Catalog) -> int | None:
    if part.instances is not None or offer.ultraservers is None:
        return part.instances
    ultraserver = catalog.ultraserver(offer.ultraserver_type)
    return ultraserver.members * offer.ultraservers if ultraserver and ultraserver.members else None


def _chips(part: Segment, offer: Offer, catalog: Catalog) -> int | None:
    instance_type = catalog.get(part.instance_type)
    if instance_type is not None and part.instances is not None:
        return instance_type.chips * part.instances
    ultraserver = catalog.ultraserver(offer.ultraserver_type)
    if ultraserver is None or ultraserver.chip is None or offer.ultraservers is None:
        return None
    return ultraserver.chips * offer.ultraservers


def _largest(counts: Iterable[int | None]) -> int | None:
    """The largest of the parts: they may follow each other in time."""
    known = list(counts)
    return None if None in known else max(count for count in known if count is not None)


def _ratio(fee: Decimal | None, hours: Decimal | None) -> Decimal | None:
    return fee / hours if fee is not None and hours else None
