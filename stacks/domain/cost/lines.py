"""A line of a cost, and what lines add up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from enum import StrEnum

from stacks.domain.catalog.prices import earliest_date
from stacks.domain.prices import Unit

HOURS_PER_DAY = 24
HOURS_PER_MONTH = 730
"""AWS's own convention for monthly prices."""
STALE_AFTER_DAYS = 180

_HOURS_PER_UNIT: dict[Unit, float] = {
    "instance-hour": 1,
    "hour": 1,
    "GB-month": HOURS_PER_MONTH,
    "month": HOURS_PER_MONTH,
}


class Paid(StrEnum):
    """When a line is paid."""

    WHILE_NODES_RUN = "while nodes run"
    ALWAYS = "always"
    UP_FRONT = "up front"
    BY_USE = "by use"


@dataclass(frozen=True, slots=True)
class CostLine:
    """`unit_usd` is for one `unit`. None is unknown: of the quantity, because it depends on use; of the price, why in `source`."""

    what: str
    quantity: float | None
    unit: Unit
    unit_usd: float | None
    region: str
    source: str
    as_of: str | None
    paid: Paid
    note: str = ""
    not_asked: str = ""
    """Why AWS could not be asked for the price, where it should have been."""
    block_hours: float | None = None
    is_stale: bool = False
    """The price was already old at the date of the estimate."""

    @property
    def usd(self) -> float | None:
        """Of the whole quantity: for an hour or month where the unit has one, else once."""
        if self.quantity is None or self.unit_usd is None:
            return None
        return self.quantity * self.unit_usd

    @property
    def usd_per_hour(self) -> float | None:
        """A block's fee is spread over its hours. None for what is paid by use, whatever is known of it."""
        hours = self.block_hours if self.paid is Paid.UP_FRONT else _HOURS_PER_UNIT.get(self.unit)
        if self.usd is None or hours is None or self.paid is Paid.BY_USE:
            return None
        return self.usd / hours

    def usd_over(self, lifetime_hours: float) -> float | None:
        """From the first hour to the last with every node running; a fee and what is used count once."""
        if self.usd is None:
            return None
        hours_per_unit = None if self.paid is Paid.UP_FRONT else _HOURS_PER_UNIT.get(self.unit)
        return self.usd if hours_per_unit is None else self.usd * lifetime_hours / hours_per_unit

    def as_dict(self) -> dict[str, object]:
        values = asdict(self)
        del values["block_hours"]
        return {
            **values,
            "usd_per_hour": rounded(self.usd_per_hour),
            "while_nodes_run": self.paid is Paid.WHILE_NODES_RUN,
        }


@dataclass(frozen=True, slots=True)
class Cost:
    """Totals are None as soon as a part of them is unknown; `known_…` is what is left without the unknown parts."""

    lines: tuple[CostLine, ...]
    lifetime_hours: int
    as_of: date | None = None

    @property
    def unknown(self) -> tuple[str, ...]:
        return tuple(line.what for line in self.lines if line.usd is None)

    @property
    def unknown_prices(self) -> tuple[str, ...]:
        """Only what time or a fee is paid for: not the gigabytes that nobody can know yet."""
        return tuple(line.what for line in self.lines if line.usd is None and line.paid is not Paid.BY_USE)

    @property
    def stale(self) -> tuple[CostLine, ...]:
        return tuple(line for line in self.lines if line.is_stale)

    @property
    def usd_per_hour(self) -> float | None:
        """Every node running; without what is paid by use."""
        return None if self.unknown_prices else self.known_usd_per_hour

    @property
    def known_usd_per_hour(self) -> float:
        return sum(line.usd_per_hour or 0.0 for line in self.lines)

    @property
    def running_usd_per_hour(self) -> float:
        """Known cost that starts and stops with the nodes."""
        return self._per_hour(Paid.WHILE_NODES_RUN)

    @property
    def idle_usd_per_hour(self) -> float:
        """Known cost with no node running: what is paid between jobs."""
        return self._per_hour(Paid.ALWAYS)

    @property
    def usd_upfront(self) -> float | None:
        fees = [line.usd for line in self._paid(Paid.UP_FRONT)]
        return None if None in fees else self.known_usd_upfront

    @property
    def known_usd_upfront(self) -> float:
        return sum(line.usd or 0.0 for line in self._paid(Paid.UP_FRONT))

    @property
    def known_usd_committed(self) -> float:
        """Over the lifetime when no node ever runs: fees, and what is paid always."""
        return self.known_usd_upfront + self.idle_usd_per_hour * self.lifetime_hours

    @property
    def usd_lifetime(self) -> float | None:
        """With every node running from the first hour to the last: the most it can be."""
        return None if self.unknown else self.known_usd_lifetime

    @property
    def known_usd_lifetime(self) -> float:
        return sum(line.usd_over(self.lifetime_hours) or 0.0 for line in self.lines)

    def as_dict(self) -> dict[str, object]:
        return {
            "usd_per_hour": rounded(self.usd_per_hour),
            "usd_upfront": rounded(self.usd_upfront),
            "usd_lifetime": rounded(self.usd_lifetime),
            "usd_per_hour_known": rounded(self.known_usd_per_hour),
            "usd_per_hour_idle": rounded(self.idle_usd_per_hour),
            "usd_upfront_known": rounded(self.known_usd_upfront),
            "usd_lifetime_known": rounded(self.known_usd_lifetime),
            "lines": [line.as_dict() for line in self.lines],
            "unknown": list(self.unknown),
            "as_of": self.as_of.isoformat() if self.as_of else None,
        }

    def _paid(self, when: Paid) -> Iterable[CostLine]:
        return (line for line in self.lines if line.paid is when)

    def _per_hour(self, when: Paid) -> float:
        return sum(line.usd_per_hour or 0.0 for line in self._paid(when))


def is_stale(as_of: str | None, today: date | None) -> bool:
    """By the earliest day that an inexact date may mean. Without a day to compare with, nothing is stale."""
    if as_of is None or today is None:
        return False
    return (today - earliest_date(as_of)).days > STALE_AFTER_DAYS


def rounded(amount: float | None) -> float | None:
    """To a hundredth of a cent."""
    return None if amount is None else round(amount, 4)
