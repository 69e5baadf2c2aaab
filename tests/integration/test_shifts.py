"""A shift on the local cloud: its controller really runs, and `status` says what it recorded and what comes next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.environments import BASE, changed
from tests.integration.conftest import PilotFactory
from tests.integration.pilots import Pilot
from tests.unit.domain.shift_cases import day

pytestmark = [
    pytest.mark.local_cloud,
    pytest.mark.node,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("fleets"),
]
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DRAIN_MINUTES = 30


def window_around(now: datetime) -> tuple[dict[str, Any], datetime]:
    """From two hours ago on, in UTC; and when its drain begins."""
    start = now.replace(minute=0) - timedelta(hours=2)
    end = start + timedelta(hours=6)
    window = {
        "days": [DAYS[start.weekday()]],
        "start": f"{start:%H:%M}",
        "end": f"{end:%H:%M}",
        "replicas": 8,
    }
    return window, end - timedelta(minutes=DRAIN_MINUTES)


def tick(pilot: Pilot) -> Any:
    """What EventBridge Scheduler does every 10 minutes."""
    schedules = pilot.client("scheduler").list_schedules()["Schedules"]
    (name,) = (
        one["Name"]
        for one in schedules
        if one["Name"].startswith("pilot-shift-day-") and "Tick" in one["Name"]
    )
    where = {"account": pilot.account, "region": pilot.region, "name": name}
    return pilot.admin("POST", "schedules/fire", where)


def shift_of(pilot: Pilot) -> dict[str, Any]:
    (found,) = pilot.json("status")["shifts"]
    return dict(found)


def test_status_shows_what_a_shift_did_and_what_is_next(new_pilot: PilotFactory) -> None:
    pilot = replace(new_pilot(bootstrapped=False), region=str(BASE["region"]))
    now = datetime.now(UTC)
    window, drain = window_around(now)
    shift = day(windows=[window], timezone="UTC", drain_minutes=DRAIN_MINUTES)
    pilot.file.write_text(changed({**shift, "account": pilot.account, "region": pilot.region}))
    pilot.run("bootstrap")
    pilot.run("deploy", "--yes")
    before = shift_of(pilot)
    assert (before["state"], before["due"], before["controller"]) == ("unknown", "serve", None)
    assert "has left no record yet" in before["why"][0]

    assert tick(pilot)["error"] is None
    serving = shift_of(pilot)
    assert (serving["state"], serving["due"], serving["why"]) == ("serve", "serve", [])
    assert (serving["next_change"]["utc"], serving["next_change"]["state"]) == (
        f"{drain:%Y-%m-%dT%H:%MZ}",
        "drain-serving",
    )
    assert serving["controller"]["last"]["done"]

    until = (now + timedelta(days=1)).isoformat(timespec="seconds")
    pilot.run("override", "day", "train", "--until", until, "--reason", "a deadline")
    waiting = shift_of(pilot)
    assert (waiting["state"], waiting["due"]) == ("serve", "train")
    assert waiting["override"] == {"mode": "train", "until": until, "reason": "a deadline"}
    tick(pilot)
    assert shift_of(pilot)["state"] == "train"
    text = pilot.run("status").stdout
    assert "shift    day: train, capacity for cluster train" in text
    assert "(a deadline)" in text

    pilot.run("override", "day", "serve")
    denied = {
        "service": "application-autoscaling",
        "action": "RegisterScalableTarget",
        "error_code": "AccessDeniedException",
        "times": None,
    }
    pilot.admin("POST", "faults", denied)
    try:
        assert tick(pilot)["error"] == "Unhandled"
    finally:
        pilot.admin("DELETE", "faults")
    failed = shift_of(pilot)
    assert failed["state"] == "serve"
    assert "AccessDeniedException" in failed["controller"]["failed"][0]
    assert "failed: SetNodes: " in pilot.run("status").stdout

    assert pilot.json("destroy", "--yes")["leftovers"] == []
    assert shift_of(pilot)["state"] == "not deployed"
