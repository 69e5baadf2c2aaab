"""Which offer may be bought for a file, and the tags by which a block is found again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from stacks.domain.capacity_market.moment_text import money, span
from stacks.domain.capacity_market.offers import USD, Offer
from stacks.domain.capacity_market.wanted import Wanted
from stacks.domain.errors import InputError
from stacks.domain.findings import printable
from stacks.domain.names import CAPACITY_TAG, ENVIRONMENT_TAG, FEE_TAG, OFFERING_TAG, OWNER_TAG
from stacks.domain.reservations import Reservation

INSTANCE_PLATFORM = "Linux/UNIX"
SHARED_TENANCY = "default"
FINAL_WORDS = "it is paid now, in full, and cannot be cancelled or given back"
_OFFERING_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_SOON = timedelta(hours=1)
_NEVER_PAID = frozenset({"failed", "payment-failed", "unsupported"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file cannot take an offer: in a word or two for a table, and in a sentence."""

    word: str
    sentence: str


def purchase_tags(environment: str, owner: str, capacity: str, offer: Offer) -> dict[str, str]:
    """A client that dies after the purchase finds its block by these, and what it cost."""
    return {
        ENVIRONMENT_TAG: environment,
        CAPACITY_TAG: capacity,
        OFFERING_TAG: offer.id,
        FEE_TAG: f"{offer.fee:f}",
        OWNER_TAG: owner,
    }


def paid(block: Reservation) -> Decimal | None:
    """In US dollars, as the purchase has noted it; None where it has not."""
    try:
        fee = Decimal(block.tag(FEE_TAG) or "unknown")
    except InvalidOperation:
        return None
    return fee if fee.is_finite() and fee >= 0 else None


def require_offering_id(text: str) -> None:
    """It ends in a tag and in messages. Raises InputError."""
    if not _OFFERING_ID.fullmatch(text):
        raise InputError(
            f"{printable(repr(text))} cannot be the id of an offering",
            "copy one from `neuronkit capacity search`: letters, digits and -",
        )


def misfits(block: Reservation, wanted: Wanted) -> tuple[str, ...]:
    """What a block that was bought earlier has otherwise than the file wants it now; what EC2 leaves out fits."""
    pairs = ((block.instance_type, wanted.instance_type), (block.zone_id, wanted.zone_id))
    return tuple(f"{given}, the file wants {want}" for given, want in pairs if given and given != want)


def refusals(offer: Offer, wanted: Wanted, fee_max_usd: Decimal, as_of: datetime) -> tuple[str, ...]:
    """Why this offer is not bought for that file; every reason but the budget."""
    found = tuple(refusal.sentence for refusal in obstacles(offer, wanted, as_of))
    if offer.fee is not None and offer.currency == USD and offer.fee > fee_max_usd:
        return (f"the fee is {offer.fee} USD, --max-fee allows {fee_max_usd}", *found)
    return found


def obstacles(offer: Offer, wanted: Wanted, as_of: datetime) -> tuple[Refusal, ...]:
    """What is in the way whatever the user would pay."""
    return (
        *_fee_obstacles(offer),
        *_place_obstacles(offer, wanted),
        *_size_obstacles(offer, wanted),
        *_time_obstacles(offer, as_of),
    )


def budget_refusals(
    offers: Sequence[Offer], earlier: Sequence[Reservation], budget_usd: Decimal
) -> Iterator[str]:
    """`earlier`: whatever was bought for the environment before, over or not: it is paid."""
    fees = sum((offer.fee or Decimal(0) for offer in offers), Decimal(0))
    costs = {block.id: fee for block in _paid_blocks(earlier) if (fee := paid(block))}
    before = sum(costs.values(), Decimal(0))
    if fees + before > budget_usd:
        spent = f", and {money(before, USD)} are paid for {', '.join(costs)}" if before else ""
        together = "the fees are" if len(offers) > 1 else "the fee is"
        yield (
            f"{together} {money(fees, USD)}{spent}: budget_usd of the file is {money(budget_usd, USD)}; if you mean to pay "
            f"it, write at least {fees + before} there"
        )


def _paid_blocks(blocks: Sequence[Reservation]) -> list[Reservation]:
    return [block for block in blocks if block.is_block and block.state not in _NEVER_PAID]


def total_refusals(
    offers: Sequence[Offer], held: Sequence[Reservation], fee_max_usd: Decimal
) -> Iterator[str]:
    """Why blocks that are each cheap enough are not bought together, those of the entry that are yours already included."""
    if len(offers) + len(held) < 2:
        return
    before = sum((paid(block) or Decimal(0) for block in held), Decimal(0))
    total = sum((offer.fee or Decimal(0) for offer in offers), before)
    if total > fee_max_usd:
        earlier = f", {before} of them paid before" if before else ""
        yield f"the fees are {total} USD together{earlier}; --max-fee allows {fee_max_usd}"


def overlap_refusals(
    offers: Sequence[Offer], held: Sequence[Reservation], hours: int, *, is_overlap_ok: bool
) -> Iterator[str]:
    """The cluster needs all of them at once, for the `hours` that were asked for. `is_overlap_ok`: any overlap will do."""
    common, spans = _common(offers, held), _spans(offers, held)
    if common is None or len(set(spans)) < 2:
        return
    overlap = common[1] - common[0]
    if overlap <= timedelta():
        yield "they never run at the same time, and the cluster needs all of them"
    elif overlap < timedelta(hours=hours) and not is_overlap_ok:
        yield (
            f"{_all_run(common)}: {span(overlap)} of {span(timedelta(hours=hours))}; name offerings of the same time, or "
            "say --overlap-ok"
        )


def together_cautions(
    offers: Sequence[Offer], held: Sequence[Reservation], earlier: Sequence[Reservation]
) -> Iterator[str]:
    """`held`: blocks of the entry; `earlier`: all of the environment."""
    common, spans = _common(offers, held), _spans(offers, held)
    if common is not None and len(set(spans)) > 1:
        yield _all_run(common)
    unknown = [block.id for block in _paid_blocks(earlier) if paid(block) is None]
    if unknown:
        yield f"what {', '.join(unknown)} cost is not noted: --max-fee and budget_usd are compared without it"


def _all_run(common: tuple[datetime, datetime]) -> str:
    return f"all of them run only from {common[0]:%Y-%m-%d %H:%M %Z} to {common[1]:%Y-%m-%d %H:%M %Z}"


def _spans(
    offers: Sequence[Offer], held: Sequence[Reservation]
) -> list[tuple[datetime | None, datetime | None]]:
    return [*((one.start, one.end) for one in offers), *((one.start, one.end) for one in held)]


def _common(offers: Sequence[Offer], held: Sequence[Reservation]) -> tuple[datetime, datetime] | None:
    """When all of them run; None where EC2 does not say it of one."""
    spans = _spans(offers, held)
    starts = [start for start, _ in spans if start is not None]
    ends = [end for _, end in spans if end is not None]
    return (max(starts), min(ends)) if spans and len(starts) == len(ends) == len(spans) else None


def cautions(offer: Offer, as_of: datetime) -> tuple[str, ...]:
    """What to know before saying yes."""
    if offer.start is None:
        return ()
    if offer.start <= as_of:
        return (f"it has begun at {offer.start:%Y-%m-%d %H:%M %Z}: the time since then is paid, too",)
    if offer.start - as_of < _SOON:
        return (f"it begins at {offer.start:%Y-%m-%d %H:%M %Z}, in less than an hour: deploy at once",)
    return ()


def _fee_obstacles(offer: Offer) -> Iterator[Refusal]:
    if offer.fee is None:
        yield Refusal("no fee", "EC2 states no fee that can be read")
    elif offer.currency != USD:
        currency = offer.currency or "a currency that EC2 does not name"
        words = f"the fee is {offer.fee} in {currency}: --max-fee is in US dollars, and nothing is converted"
        yield Refusal("other currency", words)


def _place_obstacles(offer: Offer, wanted: Wanted) -> Iterator[Refusal]:
    if offer.region != wanted.region:
        yield Refusal("other region", f"it is in {offer.region}, the file in {wanted.region}")
    elif offer.zone_id != wanted.zone_id:
        where = offer.zone_id or offer.zone or "a zone that EC2 does not name"
        yield Refusal("other zone", f"it is in {where}, the file's network in {wanted.zone_id}")
    if offer.tenancy not in ("", SHARED_TENANCY):
        words = f"its tenancy is {offer.tenancy}, nodes start with {SHARED_TENANCY} tenancy"
        yield Refusal("other tenancy", words)


def _size_obstacles(offer: Offer, wanted: Wanted) -> Iterator[Refusal]:
    if len(offer.segments) > 1:
        yield Refusal("in parts", f"it is made of {len(offer.segments)} blocks, the file can name one")
    if offer.ultraserver_type != wanted.ultraserver_type:
        words = f"it is of {_kind(offer.ultraserver_type)}, the file wants {_kind(wanted.ultraserver_type)}"
        yield Refusal("other kind", words)
    elif wanted.is_ultraserver and offer.ultraservers != wanted.ultraservers:
        words = f"it has {_count(offer.ultraservers)} UltraServers, the file wants {wanted.ultraservers}"
        yield Refusal("other size", words)
    is_unnamed_member = wanted.is_ultraserver and not offer.instance_type
    if offer.instance_type != wanted.instance_type and not is_unnamed_member:
        words = f"it is of {offer.instance_type or 'an unnamed type'}, the file wants {wanted.instance_type}"
        yield Refusal("other type", words)
    if not wanted.is_ultraserver and offer.instances != wanted.nodes:
        words = f"it has {_count(offer.instances)} instances, the file wants {wanted.nodes}"
        yield Refusal("other size", words)


def _time_obstacles(offer: Offer, as_of: datetime) -> Iterator[Refusal]:
    left = offer.useful_left(as_of)
    if left is None:
        yield Refusal("no dates", "EC2 does not say when it begins and ends")
    elif left <= timedelta():
        words = f"no time is left in it: nodes are taken back from {offer.reclaim:%Y-%m-%d %H:%M %Z}"
        yield Refusal("no time left", words)


def _kind(ultraserver_type: str) -> str:
    return f"UltraServers {ultraserver_type}" if ultraserver_type else "plain instances"


def _count(number: int | None) -> str:
    return "an unknown number of" if number is None else str(number)
