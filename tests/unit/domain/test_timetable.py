"""Windows in a time zone, and the timetable of a week: over changes of the clocks, and for windows of any kind."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stacks.domain.errors import InputError
from stacks.domain.shift_plan import ShiftPlan
from stacks.domain.timetable import Event, IsoWeek, event_at, next_event, parse_week, timetable
from stacks.domain.windows import (
    DAY_MINUTES,
    DRAIN_SERVING,
    DRAIN_TRAINING,
    DWELL_MINUTES,
    REPEATED,
    SERVE,
    SKIPPED,
    STATES,
    TRAIN,
    WEEK_MINUTES,
    WeeklyWindow,
    moment,
    overlapping,
    phase_at,
)
from stacks.domain.zones import zone, zone_names

BERLIN = "Europe/Berlin"
# Weeks in which clocks change, with zones whose changes are unlike: half an hour, at midnight, southern, whole days of rules.
CHANGES = [
    (BERLIN, "2026-W13"), (BERLIN, "2026-W43"), ("America/New_York", "2026-W10"), ("America/New_York", "2026-W44"),
    ("Australia/Lord_Howe", "2026-W14"), ("Australia/Lord_Howe", "2026-W40"), ("America/Santiago", "2026-W36"),
    ("Africa/Casablanca", "2026-W07"), ("Africa/Cairo", "2026-W17"), ("Asia/Kolkata", "2026-W50"), ("Pacific/Apia", "2011-W52"),
    ("Europe/Dublin", "2027-W12"), (BERLIN, "2026-W53"), ("UTC", "2026-W01"),
]  # fmt: skip


def shift(windows: Sequence[WeeklyWindow], **more: Any) -> ShiftPlan:
    values: dict[str, Any] = {
        "name": "day", "fleet": "chat", "cluster": "train", "timezone": BERLIN, "windows": tuple(windows),
        "replicas_floor": 1, "replicas_per_node": 4, "training_nodes": 16, "drain_minutes": 30,
    }  # fmt: skip
    return ShiftPlan(**{**values, **more})


def every_day(
    start: int, minutes: int, replicas: int = 8, days: Sequence[int] = range(7)
) -> list[WeeklyWindow]:
    return [WeeklyWindow(day, start, minutes, replicas) for day in days]


def at(events: Sequence[Event], state: str) -> list[str]:
    return [event.utc.strftime("%a %H:%M") for event in events if event.state == state]


@st.composite
def weeks_of_windows(draw: st.DrawFn) -> tuple[list[WeeklyWindow], int]:
    """Windows that a rule lets pass: none overlaps, none is too short, and training gets long enough between them."""
    drain = draw(st.sampled_from([1, 15, 30, 120]))
    shortest = drain + DWELL_MINUTES
    windows: list[WeeklyWindow] = []
    minute = first = draw(st.integers(0, 600))
    while minute < WEEK_MINUTES:
        length = draw(st.integers(shortest, DAY_MINUTES))
        end = minute + length
        if end > WEEK_MINUTES + first - shortest:
            break
        windows.append(
            WeeklyWindow(minute // DAY_MINUTES, minute % DAY_MINUTES, length, draw(st.integers(1, 20)))
        )
        minute = end + draw(st.one_of(st.just(0), st.integers(shortest, 2 * DAY_MINUTES)))
    return windows or every_day(480, 600), drain


@given(weeks_of_windows(), st.sampled_from(CHANGES), st.integers(0, 6))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_at_every_minute_there_is_exactly_one_state_and_the_floor_holds(
    windows_and_drain: tuple[list[WeeklyWindow], int], place: tuple[str, str], floor: int
) -> None:
    """And what the timetable says is what the controller works out at that minute."""
    windows, drain = windows_and_drain
    assert overlapping(windows) is None
    zone_name, week = place
    floor = min(floor, *(window.replicas for window in windows))
    plan = shift(windows, timezone=zone_name, drain_minutes=drain, replicas_floor=floor)
    table = timetable(plan, parse_week(week))
    chain = [table.before, *table.events]
    assert [event.utc for event in chain] == sorted(event.utc for event in chain)
    assert len({event.utc for event in table.events}) == len(table.events)
    for event, following in itertools.pairwise(chain):
        if following.utc == event.utc:
            continue  # the week begins with an event
        for utc in {
            event.utc,
            event.utc + (following.utc - event.utc) // 2,
            following.utc - timedelta(minutes=1),
        }:
            phase = phase_at(windows, zone(zone_name), drain, max(utc, event.utc))
            assert (phase.state, phase.replicas) == (
                event.state,
                event.replicas if event.state == SERVE else None,
            )
        assert event.state in STATES
        assert floor <= event.replicas <= max(floor, plan.replicas_maximum)
        assert not (event.training_nodes and event.replicas > floor), "never both sides at once"


@given(weeks_of_windows(), st.sampled_from(CHANGES))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_consecutive_weeks_join_without_a_gap(
    windows_and_drain: tuple[list[WeeklyWindow], int], place: tuple[str, str]
) -> None:
    windows, drain = windows_and_drain
    plan = shift(windows, timezone=place[0], drain_minutes=drain)
    this = timetable(plan, parse_week(place[1]))
    year, number, _ = (parse_week(place[1]).monday + timedelta(days=7)).isocalendar()
    following = timetable(plan, IsoWeek(year, number))
    last = this.events[-1] if this.events else this.before
    assert last.utc < following.before.utc
    assert (last.state, last.replicas) == (following.before.state, following.before.replicas)


@given(weeks_of_windows(), st.sampled_from(CHANGES), st.integers(0, 14 * DAY_MINUTES))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_until_the_next_event_nothing_changes_and_at_it_something_does(
    windows: tuple[list[WeeklyWindow], int], change: tuple[str, str], minutes: int
) -> None:
    """As the controller's own function says it."""
    of = shift(windows[0], drain_minutes=windows[1], timezone=change[0])
    monday = parse_week(change[1]).monday
    now = datetime(monday.year, monday.month, monday.day, tzinfo=UTC) + timedelta(minutes=minutes)

    def state(utc: datetime) -> tuple[str, int]:
        event = event_at(of, utc)
        return event.state, event.replicas

    phase = phase_at(of.windows, zone(of.timezone), of.drain_minutes, now)
    assert state(now)[0] == phase.state
    following = next_event(of, now)
    end = now + timedelta(days=15) if following is None else following.utc
    steps = [now + (end - now) * part / 7 for part in range(1, 7)]
    assert {state(utc) for utc in [*steps, end - timedelta(seconds=1)]} == {state(now)}
    if following is not None:
        assert following.utc > now
        assert state(following.utc) == (following.state, following.replicas) != state(now)


@given(
    st.sampled_from(CHANGES),
    st.integers(0, DAY_MINUTES - 1),
    st.integers(200, DAY_MINUTES - 200),
    st.sets(st.integers(0, 6), min_size=1),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_two_switches_for_each_day_with_a_window(
    place: tuple[str, str], start: int, minutes: int, days: set[int]
) -> None:
    """Over a week and its neighbours, so that a window over midnight is counted whole."""
    if place[0] == "Pacific/Apia":
        return  # a day that did not exist has no window
    plan = shift(every_day(start, minutes, days=sorted(days)), timezone=place[0])
    monday = parse_week(place[1]).monday
    weeks = [monday + timedelta(days=7 * number) for number in (-1, 0, 1)]
    tables = [timetable(plan, IsoWeek(*day.isocalendar()[:2])) for day in weeks]
    assert not any(table.left_out for table in tables)
    total = sum(table.switches for table in tables)
    assert abs(total - 2 * len(days) * 3) <= 1
    assert tables[1].switches in range(2 * len(days) - 1, 2 * len(days) + 2)


@given(weeks_of_windows(), st.sampled_from(CHANGES))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_flaps(windows_and_drain: tuple[list[WeeklyWindow], int], place: tuple[str, str]) -> None:
    """Whoever gets the capacity has it for DWELL_MINUTES at least, on days with a change of the clocks as well."""
    windows, drain = windows_and_drain
    table = timetable(shift(windows, timezone=place[0], drain_minutes=drain), parse_week(place[1]))
    shortest = timedelta(minutes=DWELL_MINUTES)
    for event, following in itertools.pairwise(table.events):
        if event.state == TRAIN:
            assert following.utc - event.utc >= shortest
        if event.state == DRAIN_TRAINING:
            ends = [e.utc for e in table.events if e.utc > event.utc and e.state == DRAIN_SERVING]
            assert all(end - following.utc >= shortest for end in ends)


def test_the_order_of_states() -> None:
    table = timetable(shift(every_day(480, 600)), parse_week("2026-W50"))
    assert [event.state for event in table.events] == [DRAIN_TRAINING, SERVE, DRAIN_SERVING, TRAIN] * 7
    assert at(table.events, DRAIN_TRAINING)[0] == "Mon 06:30"
    assert at(table.events, SERVE)[0] == "Mon 07:00"
    assert at(table.events, DRAIN_SERVING)[0] == "Mon 16:30"
    assert at(table.events, TRAIN)[0] == "Mon 17:00"
    first = table.events[1]
    assert (first.serving_nodes, first.training_nodes, first.replicas) == (2, 0, 8)
    assert table.before.training_nodes == 16
    assert table.before.serving_nodes == 1


def test_a_start_that_the_clock_skips_happens_at_the_first_minute_after() -> None:
    """Berlin, 29 March 2026: 02:00 is 03:00."""
    table = timetable(shift(every_day(150, 600)), parse_week("2026-W13"))
    sunday = [event for event in table.events if event.local.date() == date(2026, 3, 29)]
    (start,) = [event for event in sunday if event.state == SERVE]
    assert start.local.isoformat() == "2026-03-29T03:00:00+02:00"
    assert start.utc == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert "skips 02:30" in start.note
    assert all(not event.note for event in table.events if event.local.date() != date(2026, 3, 29))


def test_a_start_that_the_clock_shows_twice_happens_once_the_first_time() -> None:
    """Berlin, 25 October 2026: 03:00 is 02:00 again."""
    table = timetable(shift(every_day(150, 600)), parse_week("2026-W43"))
    sunday = [event for event in table.events if event.local.date() == date(2026, 10, 25)]
    (start,) = [event for event in sunday if event.state == SERVE]
    assert start.utc == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert "02:30 twice" in start.note


def test_a_window_that_the_clock_swallows_is_left_out_and_said() -> None:
    table = timetable(shift(every_day(120, 70)), parse_week("2026-W13"))
    assert table.switches == 12
    assert ["Sun 2026-03-29" in sentence for sentence in table.left_out] == [True]


def test_windows_that_touch_are_one() -> None:
    """A change of the replicas in between is an event, not a switch."""
    windows = [WeeklyWindow(0, 480, 120, 4), WeeklyWindow(0, 600, 120, 8), WeeklyWindow(0, 720, 120, 8)]
    table = timetable(shift(windows), parse_week("2026-W50"))
    assert [event.state for event in table.events] == [DRAIN_TRAINING, SERVE, SERVE, DRAIN_SERVING, TRAIN]
    assert [event.replicas for event in table.events if event.state == SERVE] == [4, 8]
    assert table.switches == 2


def test_a_window_over_midnight_and_over_the_end_of_the_week() -> None:
    table = timetable(shift(every_day(22 * 60, 8 * 60, days=[6])), parse_week("2026-W50"))
    assert table.before.state == SERVE
    assert at(table.events, TRAIN) == ["Mon 05:00"]
    assert at(table.events, SERVE) == ["Sun 21:00"]
    assert table.switches == 2


def test_windows_of_all_hours_never_switch() -> None:
    table = timetable(shift(every_day(0, DAY_MINUTES)), parse_week("2026-W13"))
    assert (table.before.state, table.events, table.switches) == (SERVE, (), 0)


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([WeeklyWindow(0, 480, 120, 1), WeeklyWindow(0, 599, 60, 1)], (0, 1)),
        ([WeeklyWindow(0, 480, 120, 1), WeeklyWindow(0, 600, 60, 1)], None),
        ([WeeklyWindow(6, 1380, 120, 1), WeeklyWindow(0, 0, 60, 1)], (0, 1)),
        ([WeeklyWindow(6, 1380, 60, 1), WeeklyWindow(0, 0, 60, 1)], None),
        ([WeeklyWindow(0, 480, 60, 1), WeeklyWindow(0, 480, 60, 1)], (0, 1)),
        ([WeeklyWindow(0, 0, DAY_MINUTES, 1)], None),
    ],
)
def test_overlaps(windows: list[WeeklyWindow], expected: tuple[int, int] | None) -> None:
    assert overlapping(windows) == expected


@given(
    st.sampled_from(zone_names()),
    st.datetimes(datetime(2020, 1, 1), datetime(2050, 1, 1)),
    st.integers(0, 300),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_moments_keep_the_order_of_the_clock(name: str, meant: datetime, minutes: int) -> None:
    meant = meant.replace(second=0, microsecond=0)
    this, later = (moment(meant + timedelta(minutes=m), zone(name)) for m in (0, minutes))
    assert this.utc <= later.utc
    if this.kind == SKIPPED:
        assert this.local > meant
    else:
        assert this.local == meant
        if this.kind == REPEATED:
            again = meant.replace(tzinfo=zone(name), fold=1).astimezone(UTC)
            assert this.utc < again


@pytest.mark.parametrize("text", ["2026-W54", "2025-W53", "2026-W00", "2026-50", "2026W50", "", "W50", "0000-W01", "2026-W5", " 2026-W50"])  # fmt: skip
def test_malformed_weeks(text: str) -> None:
    with pytest.raises(InputError):
        parse_week(text)


def test_one_replica_on_one_node_is_not_many() -> None:
    text = timetable(
        shift(every_day(480, 600, 1), replicas_per_node=1, training_nodes=1), parse_week("2026-W50")
    ).text()
    assert "at most 1 replica on 1 node; training on 1 node" in text
    assert "28 steps in this week; by 14 of them" in text


def test_the_document_has_what_the_text_says() -> None:
    table = timetable(shift(every_day(480, 600, days=[0])), parse_week("2026-W50"))
    document = table.as_dict()
    assert (document["week"], document["switches"], document["timezone"]) == ("2026-W50", 2, BERLIN)
    assert document["events"][1] == {
        "local": "2026-12-07T08:00+01:00", "utc": "2026-12-07T07:00Z", "state": "serve",
        "what": "serving is raised as soon as the jobs' nodes are gone", "replicas_maximum": 8,
        "replicas_maximum_rounded": 8, "serving_nodes_maximum": 2, "training_nodes_maximum": 0, "note": "",
    }  # fmt: skip
    text = table.text()
    assert "Mon 2026-12-07 08:00 +0100 = Mon 07:00 UTC" in text
    assert "4 steps in this week; by 2 of them the capacity changes sides" in text
    assert sum("  Mon 2026-12-07 " in line for line in text.splitlines()) == 4
    assert (
        "until then: train, at most 4 replicas (1 rounded up, as nodes start whole) on 1 node; training on 16 nodes"
        in text
    )
    assert "serve           at most 8 replicas on 2 nodes; training on 0 nodes" in text
    assert "dry run" in text
