"""Weekly windows in a time zone, worked out to moments. Pure; the plan's timetable and the controller on AWS share it.

A local time that exists twice (clocks put back) means the first of the two, as EventBridge Scheduler runs it once.
One that does not exist (clocks put forward) means the first moment after the gap. Both keep the order of local times,
so windows that do not overlap on the clock do not overlap in time, and adjacent ones stay adjacent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo

DAY_MINUTES = 24 * 60
WEEK_MINUTES = 7 * DAY_MINUTES
DWELL_MINUTES = 30
"""Besides the drain: neither side gets the capacity for less, which would cost more than it brings."""
MARGIN_DAYS = 3
"""How far a window that touches a moment can lie from it: its own day, the day over midnight, and a drain."""

TRAIN = "train"
DRAIN_TRAINING = "drain-training"
SERVE = "serve"
DRAIN_SERVING = "drain-serving"
STATES = (TRAIN, DRAIN_TRAINING, SERVE, DRAIN_SERVING)

EXISTS = "exists"
SKIPPED = "skipped"
REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class WeeklyWindow:
    """On one weekday; a window of several days is several of these."""

    weekday: int
    """0: Monday."""
    start_minute: int
    """Of the day, on the clock."""
    minutes: int
    """On the clock: 1 to 1440. It may end on the next day."""
    replicas: int

    @property
    def week_start(self) -> int:
        """Minutes after Monday 00:00, on the clock."""
        return self.weekday * DAY_MINUTES + self.start_minute

    @property
    def week_end(self) -> int:
        """The same; above WEEK_MINUTES when a window of Sunday ends on Monday."""
        return self.week_start + self.minutes


@dataclass(frozen=True, slots=True)
class Moment:
    """What a time on the clock means. `kind` says whether it exists once, twice or not at all."""

    utc: datetime
    local: datetime
    """As the clock of the zone shows it at `utc`, without a zone."""
    meant: datetime
    kind: str


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which the fleet has the capacity: windows that touch are one span with several parts."""

    start: Moment
    end: Moment
    parts: tuple[tuple[Moment, int], ...]
    """From when, how many replicas at most; the first begins at `start`."""

    @property
    def minutes(self) -> float:
        return (self.end.utc - self.start.utc) / timedelta(minutes=1)

    def replicas_at(self, utc: datetime) -> int:
        return [replicas for moment, replicas in self.parts if moment.utc <= utc][-1]


@dataclass(frozen=True, slots=True)
class Phase:
    """What holds at a moment. `replicas` is None outside of a window: then the floor holds."""

    state: str
    since: datetime
    replicas: int | None


def moment(meant: datetime, zone: tzinfo) -> Moment:
    """Of a time on the clock, which has no zone."""
    first = meant.replace(tzinfo=zone, fold=0).astimezone(UTC)
    second = meant.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first == second:
        return Moment(first, meant, meant, EXISTS)
    if first < second:
        return Moment(first, meant, meant, REPEATED)
    after = _end_of_gap(second, first, zone)
    return Moment(after, _on_the_clock(after, zone), meant, SKIPPED)


def _end_of_gap(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The clock jumps somewhere in (before, after]."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def _on_the_clock(utc: datetime, zone: tzinfo) -> datetime:
    return utc.astimezone(zone).replace(tzinfo=None)


def overlapping(windows: Sequence[WeeklyWindow]) -> tuple[int, int] | None:
    """The indexes of two windows that overlap on the clock, also over the end of the week. None: no two do."""
    order = sorted(range(len(windows)), key=lambda index: windows[index].week_start)
    for this, following in zip(order, [*order[1:], order[0]], strict=True):
        later = windows[following].week_start + (WEEK_MINUTES if following == order[0] else 0)
        if windows[this].week_end > later:
            return this, following
    return None


def spans(
    windows: Iterable[WeeklyWindow], zone: tzinfo, first: date, last: date, drain_minutes: int
) -> tuple[Span, ...]:
    """Of the windows that begin on the days first to last: joined where they touch or nearly touch, none too short.

    At the edges a span may be cut; ask for MARGIN_DAYS more than you use.
    """
    single = sorted(_single_spans(windows, zone, first, last), key=lambda span: span.start.utc)
    shortest = timedelta(minutes=drain_minutes + DWELL_MINUTES)
    joined = _joined(single, timedelta())
    return _joined([span for span in joined if span.end.utc - span.start.utc >= shortest], shortest)


def _single_spans(windows: Iterable[WeeklyWindow], zone: tzinfo, first: date, last: date) -> Iterable[Span]:
    by_day: dict[int, list[WeeklyWindow]] = {}
    for window in windows:
        by_day.setdefault(window.weekday, []).append(window)
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        midnight = datetime(day.year, day.month, day.day)
        for window in by_day.get(day.weekday(), ()):
            begins = midnight + timedelta(minutes=window.start_minute)
            start = moment(begins, zone)
            end = moment(begins + timedelta(minutes=window.minutes), zone)
            if start.utc < end.utc:
                yield Span(start, end, ((start, window.replicas),))


def _joined(ordered: Iterable[Span], shortest_gap: timedelta) -> tuple[Span, ...]:
    """Spans less than `shortest_gap` apart are one: over the gap, what the first of them has stays."""
    result: list[Span] = []
    for span in ordered:
        before = result[-1] if result else None
        if before is None:
            result.append(span)
            continue
        gap = span.start.utc - before.end.utc
        if gap <= timedelta() or gap < shortest_gap:
            result[-1] = replace(before, end=span.end, parts=_parts(before, span))
        else:
            result.append(span)
    return tuple(result)


def _parts(before: Span, span: Span) -> tuple[tuple[Moment, int], ...]:
    """A part with as many replicas as the one before it changes nothing."""
    parts = list(before.parts)
    for part in span.parts:
        if part[1] != parts[-1][1]:
            parts.append(part)
    return tuple(parts)


def phase_at(windows: Iterable[WeeklyWindow], zone: tzinfo, drain_minutes: int, utc: datetime) -> Phase:
    today = _on_the_clock(utc, zone).date()
    margin = timedelta(days=MARGIN_DAYS)
    found = spans(windows, zone, today - margin, today + margin, drain_minutes)
    return phase_among(found, drain_minutes, utc)


def phase_among(found: Iterable[Span], drain_minutes: int, utc: datetime) -> Phase:
    drain = timedelta(minutes=drain_minutes)
    ended = datetime.min.replace(tzinfo=UTC)
    for span in found:
        start, end = span.start.utc, span.end.utc
        if utc < start - drain:
            break
        if utc < start:
            return Phase(DRAIN_TRAINING, start - drain, None)
        if utc < end - drain:
            since = max(moment_.utc for moment_, _ in span.parts if moment_.utc <= utc)
            return Phase(SERVE, since, span.replicas_at(utc))
        if utc < end:
            return Phase(DRAIN_SERVING, end - drain, None)
        ended = end
    return Phase(TRAIN, ended, None)


def chains(windows: Sequence[WeeklyWindow]) -> tuple[tuple[int, int], ...]:
    """Windows that touch, as one: first minute of the week on the clock, and minutes. They do not overlap."""
    result: list[tuple[int, int]] = []
    for window in sorted(windows, key=lambda window: window.week_start):
        if result and sum(result[-1]) == window.week_start:
            result[-1] = (result[-1][0], result[-1][1] + window.minutes)
        else:
            result.append((window.week_start, window.minutes))
    if len(result) > 1 and sum(result[-1]) == result[0][0] + WEEK_MINUTES:
        start, minutes = result.pop()
        result[0] = (start, minutes + result[0][1])
    return tuple(sorted(result))


def gaps(windows: Sequence[WeeklyWindow]) -> tuple[tuple[int, int], ...]:
    """Between chains: first minute of the week on the clock, and minutes. Empty when windows fill the week."""
    found = chains(windows)
    following = [*found[1:], (found[0][0] + WEEK_MINUTES, 0)]
    between = [(sum(this), later - sum(this)) for this, (later, _) in zip(found, following, strict=True)]
    return tuple((start % WEEK_MINUTES, minutes) for start, minutes in between if minutes)
