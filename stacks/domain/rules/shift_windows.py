"""The windows of a shift: their times, and what the fleet gains in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

from stacks.domain.environment import Shift
from stacks.domain.findings import Severity, count_of
from stacks.domain.fleet_plan import start_of
from stacks.domain.rules.node_blocks import replicas_per_node
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.shift_plan import minute_of_day, weekly_windows, windows_by_day
from stacks.domain.windows import DWELL_MINUTES, WEEK_MINUTES, WeeklyWindow, chains, gaps, overlapping
from stacks.domain.zones import zone, zone_names

SCHEDULER_SOURCE = "EventBridge Scheduler user guide, schedule-types"
DESIGN_SOURCE = "this kit: design; kubernetes-sigs/kueue#8654, kedacore/keda#3609"
WEEKDAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_RISKY_FROM, _RISKY_UNTIL = 60, 180
_YEARS = range(2026, 2036)


def windows_do_not_overlap(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        by_window = [
            (index, one) for index, window in enumerate(shift.windows) for one in windows_by_day(window)
        ]
        found = overlapping([one for _, one in by_window])
        if found is not None:
            (first, a), (second, b) = (by_window[index] for index in found)
            yield Problem(
                ("shifts", name, "windows", max(first, second)),
                f"{_in_words(a)} and {_in_words(b)}",
                "windows of which no two hold at once",
                "windows overlap: two numbers of replicas at one time",
                "end one where the other starts; windows that touch are one",
            )


def windows_are_long_enough(facts: Facts) -> Iterator[Problem]:
    for name, shift, windows in sound_shifts(facts):
        needed = shift.drain_minutes + max(DWELL_MINUTES, _start_minutes(facts, shift))
        short = ((start, minutes) for start, minutes in chains(windows) if minutes < needed)
        found = {_index_of(shift, start): (start, minutes) for start, minutes in short}
        for index, (start, minutes) in found.items():
            yield Problem(
                ("shifts", name, "windows", index),
                f"{minutes} minutes from {_clock(start)}",
                f"{needed} minutes or more: {shift.drain_minutes} of drain_minutes, and "
                f"{needed - shift.drain_minutes} for a start and {DWELL_MINUTES} of serving at least",
                "the window ends before the fleet has served in it",
                "make it longer, or join it with its neighbour",
            )


def training_gets_long_enough(facts: Facts) -> Iterator[Problem]:
    for name, shift, windows in sound_shifts(facts):
        needed = shift.drain_minutes + DWELL_MINUTES
        short = ((start, minutes) for start, minutes in gaps(windows) if minutes < needed)
        found = {_index_of(shift, start + minutes): (start, minutes) for start, minutes in short}
        for index, (start, minutes) in found.items():
            yield Problem(
                ("shifts", name, "windows", index),
                f"{minutes} minutes between windows from {_clock(start)}",
                f"none, or {needed} minutes or more: drain_minutes and {DWELL_MINUTES} of training at least",
                "capacity would change sides and back at once: nodes that start twice and do nothing in between",
                "let the windows touch, or leave more time between them",
            )


def training_gets_time_at_all(facts: Facts) -> Iterator[Problem]:
    for name, _, windows in sound_shifts(facts):
        if not gaps(windows):
            yield Problem(
                ("shifts", name, "windows"),
                "windows for every hour of the week",
                "windows with time between them",
                "the cluster never has the capacity",
                "leave time between windows, or leave the shift out",
            )


def windows_gain_a_node(facts: Facts) -> Iterator[Problem]:
    """Windows that touch are looked at together: training comes back after the last of them."""
    for name, shift, windows in sound_shifts(facts):
        each = replicas_per_node(facts, shift.fleet) if shift.fleet in facts.environment.fleets else 0
        if not each:
            continue
        floor_nodes = math.ceil(shift.replicas_floor / each)
        nodes_from = {
            start: max(
                math.ceil(window.replicas / each)
                for window in windows
                if (window.week_start - start) % WEEK_MINUTES < minutes
            )
            for start, minutes in chains(windows)
        }
        found = {
            _index_of(shift, start): nodes for start, nodes in nodes_from.items() if nodes <= floor_nodes
        }
        for index, nodes in found.items():
            yield Problem(
                ("shifts", name, "windows", index, "replicas"),
                f"{count_of(shift.windows[index].replicas, 'replica')} on {count_of(nodes, 'node')}",
                f"more than {floor_nodes * each}: a node has {count_of(each, 'replica')} and is started whole, so "
                f"replicas_floor {shift.replicas_floor} has {count_of(floor_nodes, 'node')} at every hour",
                "training would be stopped and the fleet would gain no node",
                f"write {floor_nodes * each + 1} or more, or take the window out",
            )


def windows_hold_the_floor(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        for index, window in enumerate(shift.windows):
            if window.replicas < shift.replicas_floor:
                yield Problem(
                    ("shifts", name, "windows", index, "replicas"),
                    str(window.replicas),
                    f"{shift.replicas_floor} or more: replicas_floor",
                    "fewer replicas in the window than at every hour",
                    "raise it, or lower replicas_floor",
                )


def a_whole_day_is_meant(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        for index, window in enumerate(shift.windows):
            if window.start == window.end != "00:00":
                yield Problem(
                    ("shifts", name, "windows", index, "end"),
                    f"start and end {window.end}",
                    "an end that is not the start, or 00:00 for both: a whole day",
                    "read as a window of 24 hours, not as none",
                    "write another end, or start and end 00:00",
                )


def switches_keep_out_of_changing_clocks(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        if shift.timezone not in zone_names() or not _changes_clocks(shift.timezone):
            continue
        for index, window in enumerate(shift.windows):
            for field, time in (("start", window.start), ("end", window.end)):
                if _RISKY_FROM <= minute_of_day(time) < _RISKY_UNTIL:
                    yield Problem(
                        ("shifts", name, "windows", index, field),
                        f"{time} in {shift.timezone}",
                        "a time before 01:00, or 03:00 and later",
                        "on two days of the year the clock skips such a time or shows it twice: the switch happens once, "
                        "at the first minute after the skip or the first time",
                        "`neuronkit plan FILE --timetable WEEK` shows it; take another time if it matters",
                    )


def _changes_clocks(name: str) -> bool:
    offsets = {
        datetime(year, month, 1, 12, tzinfo=UTC).astimezone(zone(name)).utcoffset()
        for year in _YEARS
        for month in range(1, 13)
    }
    return len(offsets) > 1


def sound_shifts(facts: Facts) -> Iterator[tuple[str, Shift, tuple[WeeklyWindow, ...]]]:
    """The shifts whose windows do not overlap: of the others nothing more can be said."""
    for name, shift in facts.environment.shifts.items():
        windows = weekly_windows(shift.windows)
        if overlapping(windows) is None:
            yield name, shift, windows


def _start_minutes(facts: Facts, shift: Shift) -> int:
    fleet = facts.environment.fleets.get(shift.fleet)
    return -(-sum(part.high_seconds for part in start_of(fleet)) // 60) if fleet else 0


def _index_of(shift: Shift, minute: int) -> int:
    """The window that begins at this minute of the week."""
    for index, window in enumerate(shift.windows):
        if any(one.week_start == minute % WEEK_MINUTES for one in windows_by_day(window)):
            return index
    raise AssertionError("chains and gaps begin and end with windows")


def _in_words(window: WeeklyWindow) -> str:
    return f"{_clock(window.week_start)} to {_clock(window.week_end)}"


def _clock(minute: int) -> str:
    day, of_day = divmod(minute % WEEK_MINUTES, 24 * 60)
    return f"{WEEKDAY_NAMES[day]} {of_day // 60:02d}:{of_day % 60:02d}"


RULES = (
    Rule("NK774", Severity.ERROR, "windows overlap", "one time, one number of replicas", DESIGN_SOURCE, windows_do_not_overlap),
    Rule("NK775", Severity.ERROR, "window too short", "a start takes longer than what is left of it", DESIGN_SOURCE, windows_are_long_enough),
    Rule("NK776", Severity.ERROR, "too little time between windows", "capacity that flaps serves nobody", DESIGN_SOURCE, training_gets_long_enough),
    Rule("NK777", Severity.ERROR, "no time for training", "the shift would never switch", DESIGN_SOURCE, training_gets_time_at_all),
    Rule("NK779", Severity.ERROR, "window below the floor", "the floor holds at every hour", DESIGN_SOURCE, windows_hold_the_floor),
    Rule("NK781", Severity.WARNING, "start and end are the same", "24 hours or nothing: people mean either", DESIGN_SOURCE, a_whole_day_is_meant),
    Rule("NK782", Severity.WARNING, "switch while clocks change", "EventBridge Scheduler leaves out times that do not exist, and runs repeated ones once", SCHEDULER_SOURCE, switches_keep_out_of_changing_clocks),
    Rule("NK789", Severity.ERROR, "window that gains no node", "training stops, its nodes are gone, and the fleet has what it had", DESIGN_SOURCE, windows_gain_a_node, can_be_forced=True),
)  # fmt: skip
