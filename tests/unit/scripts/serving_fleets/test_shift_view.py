"""How a shift is, in words and as a document: by its controller's record, and by override and timetable now."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from scripts.serving_fleets.shift_view import ShiftStatus, look_at_shift
from stacks.domain import names
from tests.unit.domain.test_timetable import every_day, shift
from tests.unit.scripts.fakes import a_stack
from tests.unit.scripts.serving_fleets.world import World

OVERRIDE, STATE = (
    names.shift_parameter("pilot", "day"),
    names.shift_state_parameter("pilot", "day"),
)
SHIFT = shift(every_day(7 * 60, 13 * 60, days=range(5)))
"""In Berlin; the drain is 30 minutes."""
STACK = a_stack("pilot-shift-day", outputs={names.OUTPUT_SHIFT_FUNCTION: "pilot-shift-day-F"})
MORNING, NIGHT = "2026-12-07T08:20:00+00:00", "2026-12-07T22:00:00+00:00"
"""Of a Monday."""
TIMETABLE = {
    "zone": "Europe/Berlin",
    "drain_minutes": 30,
    "windows": [[day, 420, 780, 8] for day in range(5)],
}


def record(**more: Any) -> dict[str, Any]:
    return {
        "version": 1, "checked_at": MORNING, "state": "serve", "since": "2026-12-07T06:00:00+00:00",
        "why": "timetable in Europe/Berlin", "nodes_maximum": 2, "override": None, "waits": [], "late": False, "failed": [],
        "timetable": TIMETABLE, "last": {"at": "2026-12-07T06:10:00+00:00", "done": ["slice-0: 1 to 2 nodes, 1 wanted now"]},
        **more,
    }  # fmt: skip


@pytest.fixture
def world() -> World:
    made = World()
    made.parameters = {OVERRIDE: {"mode": "auto", "until": None, "reason": ""}, STATE: record()}
    return made


def look(world: World, now: str = MORNING) -> ShiftStatus:
    return look_at_shift(world, "pilot", SHIFT, STACK, datetime.fromisoformat(now))  # type: ignore[arg-type]


def test_by_day_its_fleet_serves_and_the_evening_is_next(world: World) -> None:
    status = look(world)
    assert status.lines() == [
        "shift    day: serve, capacity for fleet chat, since Mon 2026-12-07 07:00 +0100 = Mon 06:00 UTC",
        "         next: Mon 2026-12-07 19:30 +0100 = Mon 18:30 UTC  drain-serving: serving is lowered to the floor: streams end, nodes go",
        "         controller, Mon 2026-12-07 09:20 +0100 = Mon 08:20 UTC: serve (timetable in Europe/Berlin)",
        "         did last, Mon 2026-12-07 07:10 +0100 = Mon 06:10 UTC: slice-0: 1 to 2 nodes, 1 wanted now",
    ]
    body = json.loads(json.dumps(status.as_dict()))
    assert (body["state"], body["due"], body["override"], body["why"]) == ("serve", "serve", None, [])
    assert (body["next_change"]["local"], body["next_change"]["utc"]) == (
        "2026-12-07T19:30+01:00",
        "2026-12-07T18:30Z",
    )
    assert body["next_change"]["state"] == "drain-serving"
    assert body["controller"]["last"]["at"] == "2026-12-07T06:10:00+00:00"


def test_an_override_is_due_until_the_controller_has_acted_and_its_end_is_next(world: World) -> None:
    world.parameters[OVERRIDE] = {"mode": "train", "until": "2026-12-07T18:45:00Z", "reason": "a deadline"}
    status = look(world)
    assert (status.state, status.due) == ("serve", "train")
    text = "\n".join(status.lines())
    assert "due now: train; the controller acts at its next call, within 10 minutes" in text
    assert "override: train until Mon 2026-12-07 19:45 +0100 = Mon 18:45 UTC (a deadline)" in text
    assert "next: Mon 2026-12-07 19:45 +0100 = Mon 18:45 UTC  drain-serving" in text
    world.parameters[STATE] = record(state="train")
    assert "due now" not in "\n".join(look(world).lines())


def test_an_override_without_an_end_has_nothing_next(world: World) -> None:
    world.parameters[OVERRIDE] = {"mode": "serve", "until": None, "reason": ""}
    status = look(world)
    assert status.next_change is None
    assert "override: serve, without an end" in "\n".join(status.lines())


def test_an_override_that_is_over_is_none(world: World) -> None:
    world.parameters[OVERRIDE] = {"mode": "train", "until": "2026-12-07T08:00:00Z", "reason": ""}
    status = look(world)
    assert (status.override, status.due) == (None, "serve")


def test_what_failed_and_what_it_waits_for_is_said(world: World) -> None:
    world.parameters[STATE] = record(waits=["2 nodes are not gone yet"], late=True, failed=["Close: no"])
    text = "\n".join(look(world).lines())
    assert "waits: late: 2 nodes are not gone yet" in text
    assert "failed: Close: no" in text


def test_a_silent_controller_is_said(world: World) -> None:
    (why,) = look(world, NIGHT).why
    assert "is silent" in why
    assert "pilot-shift-day-F" in why
    assert look(world, "2026-12-07T08:40:00+00:00").why == ()


def test_before_the_first_call_the_timetable_alone_speaks(world: World) -> None:
    world.parameters[STATE] = {}
    status = look(world)
    assert (status.state, status.due, status.controller) == ("unknown", "serve", None)
    assert "has left no record yet" in status.why[0]


def test_the_deployed_windows_count_and_that_they_differ_is_said(world: World) -> None:
    windows = [[day, 420, 600, 8] for day in range(5)]
    world.parameters[STATE] = record(timetable={**TIMETABLE, "windows": windows})
    status = look(world)
    assert status.next_change is not None
    assert f"{status.next_change.local:%H:%M}" == "16:30"
    assert "is not the file's" in status.why[0]


@pytest.mark.parametrize("broken", ["{not json", "[]", '{"version": 2, "state": "serve"}', '"serve"'])
def test_garbage_in_the_record_is_no_traceback(
    world: World, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scripts.aws import ssm

    texts = {OVERRIDE: "{not json", STATE: broken}
    monkeypatch.setattr(ssm, "find_parameter", lambda _, name: texts[name])
    status = look(world)
    assert status.state == "unknown"
    assert "the override is not JSON: the timetable holds" in status.why
    assert any(STATE in words for words in status.why)
    json.dumps(status.as_dict())


def test_a_refusal_is_said_and_is_no_complaint_about_the_override(world: World) -> None:
    world.refused = {"get_parameter": "AccessDenied"}
    status = look(world)
    assert status.state == "unknown"
    assert all("could not be asked" in words for words in status.why)
    assert len(status.why) == 2


def test_without_a_stack_it_is_not_deployed(world: World) -> None:
    now = datetime.fromisoformat(MORNING)
    status = look_at_shift(world, "pilot", SHIFT, None, now)  # type: ignore[arg-type]
    assert status.lines() == ["shift    day: not deployed"]
