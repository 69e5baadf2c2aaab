"""Moments in words: UTC and the user's own time zone, which is an input."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

UNKNOWN = "unknown"


def in_utc(moment: datetime | None) -> str:
    return UNKNOWN if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def in_zone(moment: datetime | None, timezone: tzinfo) -> str:
    return UNKNOWN if moment is None else f"{moment.astimezone(timezone):%a %Y-%m-%d %H:%M %Z}"


def in_both(moment: datetime | None, timezone: tzinfo) -> str:
    """Once where the zone's time is UTC."""
    return f"{in_utc(moment)} ({in_zone(moment, timezone)})" if differs(moment, timezone) else in_utc(moment)


def differs(moment: datetime | None, timezone: tzinfo) -> bool:
    """Of a moment: the zone's time from UTC."""
    return moment is not None and bool(moment.astimezone(timezone).utcoffset())


def iso(moment: datetime | None, timezone: tzinfo = UTC) -> str | None:
    return None if moment is None else moment.astimezone(timezone).isoformat(timespec="seconds")


def span(duration: timedelta) -> str:
    """ "3 days 4 h", "2 h 5 min"; "none" when nothing is left."""
    minutes = int(duration.total_seconds()) // 60
    if minutes <= 0:
        return "none"
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    if days:
        return f"{days} day{'s' if days > 1 else ''} {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def money(amount: Decimal | None, currency: str, places: int = 2) -> str:
    return UNKNOWN if amount is None else f"{amount:,.{places}f} {currency or '(no currency named)'}"


def columns(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
