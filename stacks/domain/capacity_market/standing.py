"""What `capacity status` prints of a reservation or block: state, health, time left, and the moments that matter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any

from stacks.domain.capacity_market.moment_text import UNKNOWN, in_both, iso, money, span
from stacks.domain.reservations import Moments, Reservation, moments

STATE_WORDS = {
    "active": "nodes can start",
    "scheduled": "bought; not begun",
    "pending": "being made",
    "payment-pending": "being paid: nodes cannot start yet",
    "payment-failed": "the payment failed: there is no capacity; buy again",
    "assessing": "EC2 looks whether it can give the capacity",
    "delayed": "EC2 gives the capacity later than asked",
    "unavailable": "EC2 cannot give the capacity now",
    "failed": "EC2 could not make it: there is no capacity",
    "unsupported": "EC2 cannot give this capacity",
    "expired": "over",
    "cancelled": "cancelled",
    "cancelling": "being cancelled",
}
INTERCONNECT_WORDS = {
    "ok": "ok",
    "impaired": "impaired: collectives between nodes will be slow or fail; ask AWS support",
    "insufficient-data": "not known to EC2 (insufficient data)",
}


@dataclass(frozen=True, slots=True)
class ExtensionOffer:
    id: str
    start: datetime | None
    end: datetime | None
    hours: int | None
    fee: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True)
class Standing:
    """One reservation of an entry under `capacity`. `reservation` None: not bought, or not found by its id."""

    capacity: str
    kind: str
    id: str | None
    reservation: Reservation | None
    checkpoint_seconds: int
    """From one checkpoint to the next, of the job that takes longest."""
    jobs_without_checkpoint: tuple[str, ...] = ()
    """Jobs of which the file does not say how often they save: then only the reclaim's moment is known."""
    extensions: tuple[ExtensionOffer, ...] = ()
    not_asked: tuple[str, ...] = ()
    found_by_tag: bool = False
    """The file names no id: this is a block that carries the environment's tags."""

    @property
    def is_gone(self) -> bool:
        """The file names it, and no node will start in it any more."""
        if self.id is None:
            return False
        return self.reservation is None or self.reservation.is_over

    @property
    def moments(self) -> Moments | None:
        reservation = self.reservation
        if reservation is None or reservation.end is None or not reservation.is_block:
            return None
        return moments(
            reservation.end,
            is_ultraserver=reservation.is_ultraserver,
            checkpoint_seconds=self.checkpoint_seconds,
        )


def standing_document(standing: Standing, as_of: datetime, timezone: tzinfo) -> dict[str, Any]:
    reservation = standing.reservation
    return {
        "capacity": standing.capacity,
        "kind": standing.kind,
        "id": standing.id,
        "reservation": _reservation_document(reservation, as_of, timezone) if reservation else None,
        "found_by_tag": standing.found_by_tag,
        "moments": _moments_document(standing, timezone),
        "checkpoint_seconds": standing.checkpoint_seconds,
        "jobs_without_checkpoint_minutes": list(standing.jobs_without_checkpoint),
        "extensions": [
            {
                "id": offer.id,
                "end_utc": iso(offer.end),
                "hours": offer.hours,
                "upfront_fee": None if offer.fee is None else f"{offer.fee:f}",
                "currency": offer.currency or None,
            }
            for offer in standing.extensions
        ],
        "not_asked": list(standing.not_asked),
    }


def standing_text(standing: Standing, as_of: datetime, timezone: tzinfo) -> str:
    reservation = standing.reservation
    head = f"{standing.capacity} ({standing.kind})"
    if reservation is None:
        what = (
            "not bought"
            if standing.id is None
            else f"{standing.id}: EC2 knows no such reservation in this region"
        )
        return "\n".join([f"{head}: {what}", *(f"  could not ask: {why}" for why in standing.not_asked)])
    lines = [f"{head}: {reservation.id}, {_size(reservation)}", *_state_lines(reservation)]
    if standing.found_by_tag:
        lines.append("  bought for this environment, but not in the file: write its id there")
    lines += _time_lines(standing, as_of, timezone)
    lines += [_extension_line(offer, timezone) for offer in standing.extensions]
    return "\n".join([*lines, *(f"  could not ask: {why}" for why in standing.not_asked)])


def _size(reservation: Reservation) -> str:
    in_servers = f" in UltraServer {reservation.ultraserver_type}" if reservation.is_ultraserver else ""
    zone = reservation.zone_id or "an unknown zone"
    return f"{reservation.total} x {reservation.instance_type}{in_servers} in {zone}"


def _state_lines(reservation: Reservation) -> list[str]:
    words = STATE_WORDS.get(reservation.state, "a state that this version does not know")
    lines = [
        f"  state      {reservation.state}: {words}",
        f"  instances  {reservation.used} in use, {reservation.available} free of {reservation.total}"
        + (f"; EC2 itself cannot give {reservation.unavailable}" if reservation.unavailable else ""),
    ]
    if reservation.is_block:
        health = reservation.interconnect
        lines.append(f"  links      {INTERCONNECT_WORDS.get(health, health or 'not answered')}")
    if reservation.launch_status:
        lines.append(f"  launch     {reservation.launch_status}")
    return lines


def _time_lines(standing: Standing, as_of: datetime, timezone: tzinfo) -> list[str]:
    reservation = standing.reservation
    assert reservation is not None, "only called for one that exists"
    lines = [f"  begins     {in_both(reservation.start, timezone)}"]
    if reservation.end is None:
        return [*lines, "  ends       when you cancel it"]
    lines.append(f"  ends       {in_both(reservation.end, timezone)}; left: {span(reservation.end - as_of)}")
    if standing.moments is None:
        return lines
    return [*lines, *_moment_lines(standing, standing.moments, timezone)]


def _moment_lines(standing: Standing, found: Moments, timezone: tzinfo) -> list[str]:
    no_new_jobs, drain = in_both(found.no_new_jobs, timezone), in_both(found.drain, timezone)
    if standing.jobs_without_checkpoint:
        jobs = ", ".join(standing.jobs_without_checkpoint)
        no_new_jobs = drain = f"{UNKNOWN}: the file has no checkpoint_minutes for {jobs}"
    return [
        f"  1. no new jobs from     {no_new_jobs}",
        f"  2. checkpoint and drain {drain}",
        f"  3. EC2 takes nodes from {in_both(found.reclaim, timezone)}",
    ]


def _extension_line(offer: ExtensionOffer, timezone: tzinfo) -> str:
    return (
        f"  extension  {offer.id}: to {in_both(offer.end, timezone)} for {money(offer.fee, offer.currency)}"
    )


def _reservation_document(reservation: Reservation, as_of: datetime, timezone: tzinfo) -> dict[str, Any]:
    left = max(0, int((reservation.end - as_of).total_seconds())) if reservation.end else None
    return {
        "id": reservation.id,
        "kind": reservation.kind,
        "state": reservation.state,
        "is_known_state": reservation.is_known_state,
        "instance_type": reservation.instance_type,
        "zone_id": reservation.zone_id or None,
        "total": reservation.total,
        "available": reservation.available,
        "used": reservation.used,
        "unavailable": reservation.unavailable,
        "tenancy": reservation.tenancy or None,
        "platform": reservation.platform or None,
        "block_id": reservation.block_id or None,
        "ultraserver_type": reservation.ultraserver_type or None,
        "interconnect": reservation.interconnect or None,
        "launch_status": reservation.launch_status or None,
        "start_utc": iso(reservation.start),
        "end_utc": iso(reservation.end),
        "start_local": iso(reservation.start, timezone),
        "end_local": iso(reservation.end, timezone),
        "seconds_left": left,
    }


def _moments_document(standing: Standing, timezone: tzinfo) -> dict[str, Any] | None:
    found = standing.moments
    if found is None:
        return None
    is_known = not standing.jobs_without_checkpoint
    named = {
        "no_new_jobs": found.no_new_jobs if is_known else None,
        "drain": found.drain if is_known else None,
        "reclaim": found.reclaim,
        "end": found.end,
    }
    return {
        **{f"{name}_utc": iso(moment) for name, moment in named.items()},
        **{f"{name}_local": iso(moment, timezone) for name, moment in named.items()},
    }
