"""Which offers can be bought together: several blocks of one cluster have to run at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from string import ascii_uppercase

from stacks.domain.capacity_market.offers import Offer

_Span = tuple[datetime, datetime]


def times(offers: Sequence[Offer]) -> Mapping[str, str]:
    """A letter for each start and end that several offers have, by the offers' ids; after 26 of them none."""
    groups = [group for group in _by_span(offers).values() if len(group) > 1]
    return {
        offer.id: letter for letter, group in zip(ascii_uppercase, groups, strict=False) for offer in group
    }


def together(offers: Sequence[Offer], number: int) -> tuple[Offer, ...]:
    """The cheapest with the same start and end; else those with the longest overlap; () without any."""
    same = [_cheapest(group, number) for group in _by_span(offers).values() if len(group) >= number]
    if same:
        return min(same, key=_fees)
    ordered = [offer for span in sorted(_by_span(offers)) for offer in _by_span(offers)[span]]
    windows = [tuple(ordered[first : first + number]) for first in range(len(ordered) - number + 1)]
    best = max(windows, key=overlap, default=())
    return best if best and overlap(best) > timedelta() else ()


def overlap(offers: Sequence[Offer]) -> timedelta:
    """Of at least one, each with its dates."""
    starts = [offer.start for offer in offers if offer.start is not None]
    ends = [offer.end for offer in offers if offer.end is not None]
    return min(ends) - max(starts)


def is_same(offers: Sequence[Offer]) -> bool:
    return len(_by_span(offers)) == 1


def _by_span(offers: Sequence[Offer]) -> dict[_Span, list[Offer]]:
    groups: dict[_Span, list[Offer]] = {}
    for offer in offers:
        if offer.start is not None and offer.end is not None:
            groups.setdefault((offer.start, offer.end), []).append(offer)
    return groups


def _cheapest(offers: Sequence[Offer], number: int) -> tuple[Offer, ...]:
    return tuple(sorted(offers, key=lambda offer: (offer.fee or Decimal(0), offer.id))[:number])


def _fees(offers: Sequence[Offer]) -> Decimal:
    return sum((offer.fee or Decimal(0) for offer in offers), Decimal(0))
