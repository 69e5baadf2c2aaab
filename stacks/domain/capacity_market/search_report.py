"""What `capacity search` prints: one table for each block that the file wants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any

from stacks.domain.capacity_market.moment_text import (
    UNKNOWN,
    columns,
    differs,
    in_both,
    in_utc,
    in_zone,
    iso,
    money,
)
from stacks.domain.capacity_market.offers import USD, Offer, Valued
from stacks.domain.capacity_market.purchase import Refusal, obstacles
from stacks.domain.capacity_market.same_time import times
from stacks.domain.capacity_market.wanted import Wanted
from stacks.domain.reservations import RECLAIM_MINUTES, ULTRASERVER_RECLAIM_MINUTES


@dataclass(frozen=True, slots=True)
class Found:
    """What one search brought. `not_asked`: regions that gave no answer, and why."""

    wanted: Wanted
    of_file: Wanted | None
    """What `buy` would take: the file's own type and numbers, whatever was searched for. None: nothing."""
    as_of: datetime
    regions: tuple[str, ...]
    offers: tuple[Valued, ...]
    not_asked: tuple[tuple[str, str], ...] = ()

    def obstacles(self, offer: Offer) -> tuple[Refusal, ...]:
        """Why the file cannot take it; () where it can. What was bought for it before is not known here."""
        if self.of_file is None:
            return (
                Refusal("not as the file", "the file's own nodes cannot be asked for with these options"),
            )
        found = obstacles(offer, self.of_file, self.as_of)
        fees = (offer.fee or Decimal(0)) * self.of_file.blocks
        if not found and fees > self.of_file.budget_usd:
            budget = money(self.of_file.budget_usd, USD)
            words = f"budget_usd of the file is {budget}; write more there if you mean to pay it"
            return (Refusal("over budget", words),)
        return found

    @property
    def blocks(self) -> int:
        """So many have to run at the same time."""
        return self.of_file.blocks if self.of_file else 1


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
            {
                **offer_document(one, timezone),
                "is_in_the_files_zone": _is_in_the_zone(one.offer, wanted),
                "obstacles": [refusal.sentence for refusal in found.obstacles(one.offer)],
            }
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
    """Local times stand beside UTC where they differ; letters, where several blocks have to run at the same time."""
    is_local = any(
        differs(moment, timezone) for one in found.offers for moment in (one.offer.start, one.offer.end)
    )
    letters = times([one.offer for one in found.offers if not found.obstacles(one.offer)])
    is_lettered = found.blocks > 1
    local = ("",) if is_local else ()
    head = (
        "", "offering", "zone", "start", *local, "end", *local, *(("same time",) if is_lettered else ()),
        "nodes", "fee", "/node-hour", "/useful chip-hour", "",
    )  # fmt: skip
    rows = [head]
    for one in found.offers:
        offer, words = one.offer, ", ".join(refusal.word for refusal in found.obstacles(one.offer))
        rows.append(
            (
                "" if words else "*",
                offer.id,
                offer.zone_id or offer.zone or UNKNOWN,
                *_moment(offer.start, timezone if is_local else None),
                *_moment(offer.end, timezone if is_local else None),
                *((letters.get(offer.id, ""),) if is_lettered else ()),
                *_worth(one),
                words,
            )
        )
    return rows


def _is_in_the_zone(offer: Offer, wanted: Wanted) -> bool:
    return bool(offer.zone_id) and offer.zone_id == wanted.zone_id


def _moment(moment: datetime | None, timezone: tzinfo | None) -> tuple[str, ...]:
    return (in_utc(moment), *(() if timezone is None else (in_zone(moment, timezone),)))


def _worth(one: Valued) -> tuple[str, ...]:
    currency = one.offer.currency
    return (
        _nodes(one),
        money(one.offer.fee, currency),
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
    words = "  * the file can take it; for the others the last column says what is in the way\n"
    if found.blocks > 1:
        words += f"  same letter: same start and end; {found.blocks} blocks have to run at the same time\n"
    words += (
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
        f"{offer.id}: {what} in {offer.zone_id}, {in_both(offer.start, timezone)} to {in_both(offer.end, timezone)}, "
        f"{money(offer.fee, offer.currency)}"
    )
