"""The timetable of a shift for one ISO week: every switch with its local and UTC time, and what happens then. A dry run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from stacks.domain.errors import InputError
from stacks.domain.findings import count_of
from stacks.domain.plan import Plan
from stacks.domain.shift_plan import ShiftPlan
from stacks.domain.windows import (
    DRAIN_SERVING,
    DRAIN_TRAINING,
    DWELL_MINUTES,
    MARGIN_DAYS,
    REPEATED,
    SERVE,
    SKIPPED,
    TRAIN,
    Moment,
    Phase,
    Span,
    moment,
    phase_among,
    phase_at,
    spans,
)
from stacks.domain.zones import zone

_WEEK = re.compile(r"^(\d{4})-W(\d{2})$")
_DAYS_AHEAD = 15
_NOTES = {
    SKIPPED: "the clock skips {meant} on this day: it happens at the first minute after; EventBridge Scheduler "
    "leaves the time out, so the controller's tick does it, at most 10 minutes later",
    REPEATED: "the clock shows {meant} twice on this day: it happens once, the first time",
}


@dataclass(frozen=True, slots=True)
class IsoWeek:
    year: int
    number: int

    @property
    def monday(self) -> date:
        return date.fromisocalendar(self.year, self.number, 1)

    def __str__(self) -> str:
        return f"{self.year}-W{self.number:02d}"


@dataclass(frozen=True, slots=True)
class Event:
    """From `utc` on, the state and what each side has. `note` is about the clock; empty on most days."""

    utc: datetime
    local: datetime
    """With the zone's offset."""
    state: str
    replicas: int
    """At most, as the file says; the floor while training has the capacity, or is about to get it."""
    replicas_whole: int
    """What the nodes hold for them: they start whole."""
    serving_nodes: int
    training_nodes: int
    note: str = ""

    @property
    def when(self) -> str:
        """In the shift's zone, and in UTC."""
        return f"{self.local:%a %Y-%m-%d %H:%M %z} = {self.utc:%a %H:%M} UTC"

    @property
    def what(self) -> str:
        return _WHAT[self.state]

    def as_dict(self) -> dict[str, Any]:
        return {
            "local": self.local.isoformat(timespec="minutes"),
            "utc": self.utc.strftime("%Y-%m-%dT%H:%MZ"),
            "state": self.state,
            "what": self.what,
            "replicas_maximum": self.replicas,
            "replicas_maximum_rounded": self.replicas_whole,
            "serving_nodes_maximum": self.serving_nodes,
            "training_nodes_maximum": self.training_nodes,
            "note": self.note,
        }


_WHAT = {
    TRAIN: "training is resumed as soon as the nodes are gone; stopped jobs go on from their newest checkpoints",
    DRAIN_TRAINING: "drain begins: no job starts, running jobs get SIGTERM, write a checkpoint and are stopped",
    SERVE: "serving is raised as soon as the jobs' nodes are gone",
    DRAIN_SERVING: "serving is lowered to the floor: streams end, nodes go",
}


@dataclass(frozen=True, slots=True)
class Timetable:
    shift: ShiftPlan
    week: IsoWeek
    before: Event
    """What has held until the week begins."""
    events: tuple[Event, ...]
    left_out: tuple[str, ...]
    """Windows that a change of the clocks leaves too short to be worth two switches."""

    @property
    def switches(self) -> int:
        """Times at which the capacity changes sides."""
        return sum(event.state in (SERVE, TRAIN) for event in self.events) - self._changes_in_windows

    @property
    def _changes_in_windows(self) -> int:
        states = [self.before.state, *(event.state for event in self.events)]
        return sum(a == b == SERVE for a, b in itertools.pairwise(states))

    def as_dict(self) -> dict[str, Any]:
        return {
            "shift": self.shift.name,
            "fleet": self.shift.fleet,
            "cluster": self.shift.cluster,
            "timezone": self.shift.timezone,
            "week": str(self.week),
            "switches": self.switches,
            "before": self.before.as_dict(),
            "events": [event.as_dict() for event in self.events],
            "left_out": list(self.left_out),
        }

    def text(self) -> str:
        shift = self.shift
        lines = [
            f"shift    {shift.name}: {shift.fleet} serves in windows, {shift.cluster} trains outside; {self.week} in "
            f"{shift.timezone} (a dry run: nothing is changed)",
            f"         {count_of(len(self.events), 'step')} in this week; by {self.switches} of them the capacity changes sides, "
            "the others are the drains before that, and windows that touch",
        ]
        lines += [f"         {state:14}  {what}" for state, what in _WHAT.items()]
        lines += [f"         until then: {self.before.state}, {_has(self.before)}"]
        lines += [line for event in self.events for line in _event_lines(event)]
        lines += [f"         left out: {sentence}" for sentence in self.left_out]
        return "\n".join(lines)


def _event_lines(event: Event) -> Iterator[str]:
    yield f"         {event.when}  {event.state:14}  {_has(event)}"
    if event.note:
        yield f"           {event.note}"


def _has(event: Event) -> str:
    rounded = (
        f" ({event.replicas} rounded up, as nodes start whole)"
        if event.replicas_whole != event.replicas
        else ""
    )
    return (
        f"at most {count_of(event.replicas_whole, 'replica')}{rounded} on {count_of(event.serving_nodes, 'node')}; "
        f"training on {count_of(event.training_nodes, 'node')}"
    )


def parse_week(text: str) -> IsoWeek:
    """Of 2026-W50. Raises InputError."""
    match = _WEEK.match(text)
    hint = "write a year and an ISO week such as 2026-W50"
    if match is None:
        raise InputError(f"{text!r} is no ISO week", hint)
    week = IsoWeek(int(match[1]), int(match[2]))
    if not 1971 <= week.year <= 9990:
        raise InputError(f"no timetable for the year {week.year}", hint)
    try:
        week.monday  # noqa: B018 (raises)
    except ValueError:
        raise InputError(f"{week.year} has no week {week.number}", "an ISO year has 52 or 53 weeks") from None
    return week


def timetables_of(plan: Plan, week: IsoWeek) -> tuple[Timetable, ...]:
    """Of every shift. Raises InputError where there is none."""
    if not plan.shifts:
        raise InputError("the file has no shifts", "add one under `shifts`, or leave --timetable out")
    return tuple(timetable(shift, week) for shift in plan.shifts)


def timetable(shift: ShiftPlan, week: IsoWeek) -> Timetable:
    time_zone = zone(shift.timezone)
    begins, ends = (_midnight(week.monday + timedelta(days=days), time_zone) for days in (0, 7))
    margin = timedelta(days=MARGIN_DAYS)
    first, last = week.monday - margin, week.monday + timedelta(days=6) + margin
    found = spans(shift.windows, time_zone, first, last, shift.drain_minutes)
    events = [event for event in _events(shift, found, time_zone) if begins <= event.utc < ends]
    return Timetable(
        shift=shift,
        week=week,
        before=_state_before(shift, found, begins, time_zone),
        events=tuple(events),
        left_out=tuple(_left_out(shift, found, week.monday, time_zone)),
    )


def event_at(shift: ShiftPlan, utc: datetime) -> Event:
    """What holds at that moment, by the windows alone."""
    time_zone = zone(shift.timezone)
    phase = phase_at(shift.windows, time_zone, shift.drain_minutes, utc)
    return _event_of(shift, phase, utc, time_zone)


def next_event(shift: ShiftPlan, utc: datetime) -> Event | None:
    """None: the windows fill the week, or every window of the next two weeks is left out."""
    time_zone = zone(shift.timezone)
    today = utc.astimezone(time_zone).date()
    margin = timedelta(days=MARGIN_DAYS)
    last = today + timedelta(days=_DAYS_AHEAD) + margin
    found = spans(shift.windows, time_zone, today - margin, last, shift.drain_minutes)
    # A span may be cut where the days end: what lies beyond says nothing.
    end = utc + timedelta(days=_DAYS_AHEAD)
    return next((event for event in _events(shift, found, time_zone) if utc < event.utc <= end), None)


def _midnight(day: date, time_zone: tzinfo) -> datetime:
    return moment(datetime(day.year, day.month, day.day), time_zone).utc


def _events(shift: ShiftPlan, found: Sequence[Span], time_zone: tzinfo) -> Iterator[Event]:
    drain = timedelta(minutes=shift.drain_minutes)
    floor = shift.replicas_floor
    for span in found:
        start, end = span.start, span.end
        yield _event(shift, DRAIN_TRAINING, start.utc - drain, floor, time_zone)
        for begins, replicas in span.parts:
            if begins.utc < end.utc - drain:
                yield _event(shift, SERVE, begins.utc, replicas, time_zone, _note(begins))
        yield _event(shift, DRAIN_SERVING, end.utc - drain, floor, time_zone)
        yield _event(shift, TRAIN, end.utc, floor, time_zone, _note(end))


def _state_before(shift: ShiftPlan, found: Sequence[Span], utc: datetime, time_zone: tzinfo) -> Event:
    phase = phase_among(found, shift.drain_minutes, utc - timedelta(seconds=1))
    return _event_of(shift, phase, utc, time_zone)


def _event_of(shift: ShiftPlan, phase: Phase, utc: datetime, time_zone: tzinfo) -> Event:
    replicas = shift.replicas_floor if phase.replicas is None else phase.replicas
    return _event(shift, phase.state, utc, replicas, time_zone)


def _event(
    shift: ShiftPlan, state: str, utc: datetime, replicas: int, time_zone: tzinfo, note: str = ""
) -> Event:
    return Event(
        utc=utc.astimezone(UTC),
        local=utc.astimezone(time_zone),
        state=state,
        replicas=replicas,
        replicas_whole=shift.whole(replicas),
        serving_nodes=shift.nodes_for(replicas),
        training_nodes=shift.training_nodes if state == TRAIN else 0,
        note=note,
    )


def _note(of: Moment) -> str:
    return _NOTES[of.kind].format(meant=f"{of.meant:%H:%M}") if of.kind in _NOTES else ""


def _left_out(shift: ShiftPlan, found: Sequence[Span], monday: date, time_zone: tzinfo) -> Iterator[str]:
    """Said for windows that begin in this week."""
    for number in range(7):
        day = monday + timedelta(days=number)
        for window in shift.windows:
            if window.weekday != number:
                continue
            midnight = datetime(day.year, day.month, day.day)
            start = moment(midnight + timedelta(minutes=window.start_minute), time_zone)
            if not any(span.start.utc <= start.utc < span.end.utc for span in found):
                yield (
                    f"the window of {day:%a %Y-%m-%d} at {start.meant:%H:%M}: on this day the clock leaves it less than "
                    f"drain_minutes and {DWELL_MINUTES} minutes, and it is not worth two switches"
                )
