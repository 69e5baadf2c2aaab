"""Dates and time zones from the command line; the machine's own time zone where the user names none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stacks.domain.errors import InputError


class MachineZone(tzinfo):
    """The machine's time zone, with the offset that it has at each moment, not the one that it has now."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return _on_this_machine(moment).utcoffset()

    def tzname(self, moment: datetime | None) -> str | None:
        return _on_this_machine(moment).tzname()

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def fromutc(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)


def now() -> datetime:
    return datetime.now(UTC)


def timezone_of(name: str | None) -> tzinfo:
    """Raises InputError for a name that is no IANA time zone."""
    if name is None:
        return MachineZone()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(
            f"{name!r} is no time zone that this machine knows",
            "write an IANA name such as Europe/Berlin, or UTC",
        ) from None


def moment_of(text: str | None, option: str, timezone: tzinfo) -> datetime | None:
    """A day, or a moment in ISO 8601; without an offset it is meant in `timezone`. Raises InputError."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write a day or a moment, such as 2026-12-01, 2026-12-01T09:00 or 2026-12-01T09:00+01:00"
        raise InputError(f"{option} {text!r} is no date", hint) from None


def _on_this_machine(moment: datetime | None) -> datetime:
    return (moment or datetime.now(UTC)).replace(tzinfo=None).astimezone()
