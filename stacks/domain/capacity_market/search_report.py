"""What `capacity search` prints: one table for each block that the file wants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from stacks.domain.capacity_market.moment_text import UNKNOWN, columns, in_utc, in_zone, iso, money
from stacks.domain.capacity_market.offers import USD, Offer, Valued
from stacks.domain.capacity_market.wanted import Wanted
from stacks.domain.reservations import RECLAIM_MINUTES, ULTRASERVER_RECLAIM_MINUTES


@dataclass(frozen=True, slots=True)
class Found:
    """What one search brought. `not_asked`: regions that gave no answer, and why."""

    wanted: Wanted
    regions: tuple[str, ...]
    offers: tuple[Valued, ...]
    not_asked: tuple[tuple[str, str], ...] = ()


def search_document(found: Found, timezone: tzinfo) -> dict[str, Any]:
    wanted = found.wanted
    return {
        "capacity": wanted.capacity,
        "clusters": list(wanted.clusters),
        "asked": {
            "regions": list(found.regions),
            "instance_type": wanted.instance_type,
            "blocks": wanted.blocks,
            "nodes": wanted.nodes,
            "ultraserver_type": wanted.ultraserver_type or None,
            "ultraservers": wanted.ultraservers or None,
            "duration_hours": wanted.hours,
            "start_from": iso(wanted.start_from),
            "until": iso(wanted.until),
        },
        "notes": list(wanted.notes),
        "offers": [
            {**offer_document(one, timezone), "is_in_the_files_zone": _fits(one.offer, wanted)}
            for one in found.offers
        ],
        "not_asked": [{"region": region, "why": why} for region, why in found.not_asked],
    }


def offer_document(one: Valued, timezone: tzinfo) -> dict[str, Any]:
    """Money is text, so that no reader rounds it."""
    offer = one.offer
    return {
        "id": offer.id,
        "region": offer.region,
        "zone_id": offer.zone_id or None,
        "zone": offer.zone or None,
        "instance_type": offer.instance_type or None,
        "ultraserver_type": offer.ultraserver_type or None,
        "ultraservers": offer.ultraservers,
        "nodes": one.nodes,
        "chips": one.chips,
        "start_utc": iso(offer.start),
        "end_utc": iso(offer.end),
        "start_local": iso(offer.start, timezone),
        "end_local": iso(offer.end, timezone),
        "reclaim_utc": iso(offer.reclaim),
        "duration_minutes": offer.minutes,
        "upfront_fee": _plain(offer.fee),
        "currency": offer.currency or None,
        "fee_per_node_hour": _plain(one.fee_per_node_hour, 6),
        "fee_per_useful_chip_hour": _plain(one.fee_per_useful_chip_hour, 6),
        "tenancy": offer.tenancy or None,
        "segments": [
            {
                "instance_type": part.instance_type or None,
                "zone_id": part.zone_id or None,
                "instances": part.instances,
                "start_utc": iso(part.start),
                "end_utc": iso(part.end),
            }
            for part in offer.segments
        ],
    }


def search_text(found: Found, timezone: tzinfo) -> str:
    wanted = found.wanted
    head = f"{wanted.capacity}: {wanted.text()} in {', '.join(found.regions)}"
    lines = [head, *(f"  note: {note}" for note in wanted.notes)]
    lines += [f"  {region} was not asked: {why}" for region, why in found.not_asked]
    if not found.offers:
        return "\n".join([*lines, "  no offers"])
    return "\n".join([*lines, columns(_table(found, timezone)), _legend(found)])


def _table(found: Found, timezone: tzinfo) -> list[tuple[str, ...]]:
    head = ("", "offering", "zone", "start", "", "end", "", "nodes", "fee", "/node-hour", "/useful chip-hour")
    return [head, *(_row(one, found.wanted, timezone) for one in found.offers)]


def _fits(offer: Offer, wanted: Wanted) -> bool:
    return bool(offer.zone_id) and offer.zone_id == wanted.zone_id


def _row(one: Valued, wanted: Wanted, timezone: tzinfo) -> tuple[str, ...]:
    offer, currency = one.offer, one.offer.currency
    return (
        "*" if _fits(offer, wanted) else "",
        offer.id,
        offer.zone_id or offer.zone or UNKNOWN,
        in_utc(offer.start),
        in_zone(offer.start, timezone),
        in_utc(offer.end),
        in_zone(offer.end, timezone),
        _nodes(one),
        money(offer.fee, currency),
        money(one.fee_per_node_hour, currency),
        money(one.fee_per_useful_chip_hour, currency, 4),
    )


def _nodes(one: Valued) -> str:
    nodes = UNKNOWN if one.nodes is None else str(one.nodes)
    if one.offer.ultraservers is not None:
        return f"{nodes} in {one.offer.ultraservers} x {one.offer.ultraserver_type}"
    return f"{nodes} in {len(one.offer.segments)} parts" if len(one.offer.segments) > 1 else nodes


def _legend(found: Found) -> str:
    minutes = ULTRASERVER_RECLAIM_MINUTES if found.wanted.is_ultraserver else RECLAIM_MINUTES
    words = (
        f"  a useful chip-hour ends {minutes} minutes before the block does: then EC2 takes the nodes back"
    )
    if any(one.offer.currency != USD for one in found.offers):
        words += "\n  other currencies stand apart: nothing is converted"
    return words


def _plain(amount: Decimal | None, places: int | None = None) -> str | None:
    if amount is None:
        return None
    return f"{amount:f}" if places is None else f"{amount:.{places}f}"


def offer_text(offer: Offer, timezone: tzinfo) -> str:
    """One offer in a sentence, for a question and for a purchase."""
    what = (
        f"{offer.ultraservers} x {offer.ultraserver_type}"
        if offer.is_ultraserver
        else f"{offer.instances} x {offer.instance_type}"
    )
    return (
        f"{offer.id}: {what} in {offer.zone_id}, {in_utc(offer.start)} to {in_utc(offer.end)} "
        f"({in_zone(offer.start, timezone)} to {in_zone(offer.end, timezone)}), {money(offer.fee, offer.currency)}"
    )
