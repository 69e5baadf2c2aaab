"""Which offer may be bought for a file, and the tags by which a block is found again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from stacks.domain.capacity_market.offers import USD, Offer
from stacks.domain.capacity_market.wanted import Wanted
from stacks.domain.errors import InputError
from stacks.domain.findings import printable
from stacks.domain.names import CAPACITY_TAG, ENVIRONMENT_TAG, OFFERING_TAG, OWNER_TAG
from stacks.domain.reservations import Reservation

INSTANCE_PLATFORM = "Linux/UNIX"
SHARED_TENANCY = "default"
FINAL_WORDS = "it is paid now, in full, and cannot be cancelled or given back"
_OFFERING_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_SOON = timedelta(hours=1)


def purchase_tags(environment: str, owner: str, capacity: str, offering_id: str) -> dict[str, str]:
    """A client that dies after the purchase finds its block by these."""
    return {
        ENVIRONMENT_TAG: environment,
        CAPACITY_TAG: capacity,
        OFFERING_TAG: offering_id,
        OWNER_TAG: owner,
    }


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
    """Why this offer is not bought for that file; every reason."""
    return (
        *_fee_refusals(offer, fee_max_usd),
        *_place_refusals(offer, wanted),
        *_size_refusals(offer, wanted),
        *_time_refusals(offer, as_of),
    )


def cautions(offer: Offer, as_of: datetime) -> tuple[str, ...]:
    """What to know before saying yes."""
    if offer.start is None:
        return ()
    if offer.start <= as_of:
        return (f"it has begun at {offer.start:%Y-%m-%d %H:%M %Z}: the time since then is paid, too",)
    if offer.start - as_of < _SOON:
        return (f"it begins at {offer.start:%Y-%m-%d %H:%M %Z}, in less than an hour: deploy at once",)
    return ()


def _fee_refusals(offer: Offer, fee_max_usd: Decimal) -> Iterator[str]:
    if offer.fee is None:
        yield "EC2 states no fee that can be read"
    elif offer.currency != USD:
        currency = offer.currency or "a currency that EC2 does not name"
        yield f"the fee is {offer.fee} in {currency}: --max-fee is in US dollars, and nothing is converted"
    elif offer.fee > fee_max_usd:
        yield f"the fee is {offer.fee} USD, --max-fee allows {fee_max_usd}"


def _place_refusals(offer: Offer, wanted: Wanted) -> Iterator[str]:
    if offer.region != wanted.region:
        yield f"it is in {offer.region}, the file in {wanted.region}"
    elif offer.zone_id != wanted.zone_id:
        where = offer.zone_id or offer.zone or "a zone that EC2 does not name"
        yield f"it is in {where}, the file's network in {wanted.zone_id}"
    if offer.tenancy not in ("", SHARED_TENANCY):
        yield f"its tenancy is {offer.tenancy}, nodes start with {SHARED_TENANCY} tenancy"


def _size_refusals(offer: Offer, wanted: Wanted) -> Iterator[str]:
    if len(offer.segments) > 1:
        yield f"it is made of {len(offer.segments)} blocks, the file can name one"
    if offer.ultraserver_type != wanted.ultraserver_type:
        yield f"it is of {_kind(offer.ultraserver_type)}, the file wants {_kind(wanted.ultraserver_type)}"
    elif wanted.is_ultraserver and offer.ultraservers != wanted.ultraservers:
        yield f"it has {_count(offer.ultraservers)} UltraServers, the file wants {wanted.ultraservers}"
    is_unnamed_member = wanted.is_ultraserver and not offer.instance_type
    if offer.instance_type != wanted.instance_type and not is_unnamed_member:
        yield f"it is of {offer.instance_type or 'an unnamed type'}, the file wants {wanted.instance_type}"
    if not wanted.is_ultraserver and offer.instances != wanted.nodes:
        yield f"it has {_count(offer.instances)} instances, the file wants {wanted.nodes}"


def _time_refusals(offer: Offer, as_of: datetime) -> Iterator[str]:
    left = offer.useful_left(as_of)
    if left is None:
        yield "EC2 does not say when it begins and ends"
    elif left <= timedelta():
        yield f"no time is left in it: nodes are taken back from {offer.reclaim:%Y-%m-%d %H:%M %Z}"


def _kind(ultraserver_type: str) -> str:
    return f"UltraServers {ultraserver_type}" if ultraserver_type else "plain instances"


def _count(number: int | None) -> str:
    return "an unknown number of" if number is None else str(number)
