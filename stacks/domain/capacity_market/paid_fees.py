"""What the capacity blocks that a plan names have cost, as their purchase has noted it on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stacks.domain.capacity_market.purchase import paid
from stacks.domain.capacity_plan import CapacityPlan
from stacks.domain.live import LiveFacts, known
from stacks.domain.names import FEE_TAG
from stacks.domain.plan import Plan
from stacks.domain.prices import PriceKey, UnitPrice
from stacks.domain.reservations import CAPACITY_BLOCK, Reservation


def paid_fees(plan: Plan, live: LiveFacts) -> dict[PriceKey, UnitPrice]:
    """Of every entry whose blocks EC2 has all described; for several blocks of one entry, together."""
    fees: dict[PriceKey, UnitPrice] = {}
    for capacity in _blocks(plan):
        ids = capacity.ids or ((capacity.id,) if capacity.id else ())
        answers = [known(live.of(live.reservations, id_), None) for id_ in ids]
        found = [block for block in answers if block is not None]
        if found and len(found) == len(ids):
            fees[PriceKey("capacity", capacity.name)] = _fee(found)
    return fees


def _blocks(plan: Plan) -> Iterator[CapacityPlan]:
    sides = (side for fleet in plan.fleets for side in (fleet, fleet.fallback) if side is not None)
    return (owner.capacity for owner in (*plan.clusters, *sides) if owner.capacity.kind == CAPACITY_BLOCK)


def _fee(blocks: Sequence[Reservation]) -> UnitPrice:
    fees = {block.id: paid(block) for block in blocks}
    unknown = [id_ for id_, fee in fees.items() if fee is None]
    if unknown:
        why = f"unknown: {', '.join(unknown)} without the tag {FEE_TAG}; a --price-file can name the fee"
        return UnitPrice(None, "block", why, None)
    usd = float(sum(fee for fee in fees.values() if fee is not None))
    return UnitPrice(usd, "block", f"paid: tag {FEE_TAG} of {', '.join(fees)}", None, hours=_hours(blocks))


def _hours(blocks: Sequence[Reservation]) -> float | None:
    """From the first start to the last end."""
    starts = [block.start for block in blocks if block.start is not None]
    ends = [block.end for block in blocks if block.end is not None]
    if not len(starts) == len(ends) == len(blocks):
        return None
    return (max(ends) - min(starts)).total_seconds() / 3600 or None
