from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from scripts.capacity_moments import moment_of, timezone_of
from stacks.domain.errors import InputError

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-12-01", "2026-11-30 23:00"),
        ("2026-12-01T09:00", "2026-12-01 08:00"),
        ("2026-07-01T09:00", "2026-07-01 07:00"),
        ("2026-12-01T09:00Z", "2026-12-01 09:00"),
        ("2026-12-01T09:00+05:30", "2026-12-01 03:30"),
        (" 2026-12-01 09:00 ", "2026-12-01 08:00"),
    ],
)
def test_a_date_without_offset_is_in_the_users_time_zone(text: str, utc: str) -> None:
    found = moment_of(text, "--from", BERLIN)
    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == utc
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-13-01", "12/01/2026", "2026-12-01T25:00", "0001-01-01"]
)
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(InputError, match="is no date"):
        moment_of(text, "--from", BERLIN)


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Europe"])
def test_what_is_no_time_zone(name: str) -> None:
    with pytest.raises(InputError, match="is no time zone"):
        timezone_of(name)


@pytest.mark.usefixtures("new_york")
def test_the_machines_zone_has_each_moments_own_offset() -> None:
    zone = timezone_of(None)
    winter, summer = datetime(2026, 12, 1, 17, tzinfo=UTC), datetime(2026, 7, 1, 17, tzinfo=UTC)
    assert f"{winter.astimezone(zone):%H:%M %Z}" == "12:00 EST"
    assert f"{summer.astimezone(zone):%H:%M %Z}" == "13:00 EDT"
    assert moment_of("2026-07-01T13:00", "--from", zone) == summer
