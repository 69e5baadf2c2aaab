"""Shifts: capacity that serves in windows and trains outside."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from stacks.domain.environment import Shift
from stacks.domain.findings import Severity, closest, one_of
from stacks.domain.fleet_plan import start_of
from stacks.domain.rules.node_blocks import fleet_type
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.shift_plan import minute_of_day, weekly_windows, windows_by_day
from stacks.domain.windows import DWELL_MINUTES, WEEK_MINUTES, WeeklyWindow, chains, gaps, overlapping
from stacks.domain.zones import zone, zone_names

SCHEDULER_SOURCE = "EventBridge Scheduler user guide, schedule-types"
MOVE_SOURCE = "ECS developer guide, cluster-auto-scaling: a group belongs to one capacity provider; AWS Batch owns its own"
DESIGN_SOURCE = "this kit: design; kubernetes-sigs/kueue#8654, kedacore/keda#3609"
WEEKDAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_RISKY_FROM, _RISKY_UNTIL = 60, 180
_YEARS = range(2026, 2036)


def fleet_exists(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        yield from _unknown(name, "fleet", shift.fleet, list(facts.environment.fleets))


def cluster_exists(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        yield from _unknown(name, "cluster", shift.cluster, list(facts.environment.clusters))


def _unknown(name: str, field: str, given: str, known: list[str]) -> Iterator[Problem]:
    if given not in known:
        near = closest(given, known)
        fix = f"did you mean {near!r}?" if near else "" if known else f"add it under {field}s"
        yield Problem(
            ("shifts", name, field), repr(given), one_of(known), f"no such entry under {field}s", fix
        )


def cluster_is_under_batch(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        cluster = facts.environment.clusters.get(shift.cluster)
        if cluster is not None and (cluster.scheduler != "batch" or facts.is_projected(shift.cluster)):
            announced = facts.is_projected(shift.cluster)
            yield Problem(
                ("shifts", name, "cluster"),
                f"{shift.cluster!r}, {'of a chip that is only announced' if announced else 'under ' + cluster.scheduler}",
                "a cluster with scheduler: batch",
                "the controller stops and resubmits jobs of AWS Batch; under Slurm this is not supported yet",
                "take a cluster under batch, or leave the shift out",
            )


def time_zone_is_known(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        if shift.timezone not in zone_names():
            near = _nearest_zone(shift.timezone)
            yield Problem(
                ("shifts", name, "timezone"),
                repr(shift.timezone),
                "a name of the IANA time zone database, such as Europe/Berlin, America/New_York or UTC",
                "unknown time zone",
                f"did you mean {near!r}?" if near else "",
            )


def _nearest_zone(given: str) -> str | None:
    """By the whole name, or by the city alone."""
    lower = {name.lower(): name for name in zone_names()}
    cities = {name.rpartition("/")[2].lower(): name for name in zone_names()}
    found = closest(given.replace(" ", "_"), lower)
    if found is not None:
        return lower[found]
    city = closest(given.rpartition("/")[2].replace(" ", "_"), cities)
    return cities[city] if city else None


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
    for name, shift, windows in _sound(facts):
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
    for name, shift, windows in _sound(facts):
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
    for name, _, windows in _sound(facts):
        if not gaps(windows):
            yield Problem(
                ("shifts", name, "windows"),
                "windows for every hour of the week",
                "windows with time between them",
                "the cluster never has the capacity",
                "leave time between windows, or leave the shift out",
            )


def replicas_fit_the_fleet(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        fleet = facts.environment.fleets.get(shift.fleet)
        for index, window in enumerate(shift.windows):
            if fleet is not None and window.replicas > fleet.replicas.maximum:
                yield Problem(
                    ("shifts", name, "windows", index, "replicas"),
                    str(window.replicas),
                    f"{fleet.replicas.maximum} at most: replicas.maximum of {shift.fleet}",
                    "more replicas than the fleet may have",
                    f"lower it, or raise fleets.{shift.fleet}.replicas.maximum",
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


def floor_holds_the_fleets_minimum(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        fleet = facts.environment.fleets.get(shift.fleet)
        if fleet is not None and shift.replicas_floor < fleet.replicas.minimum:
            yield Problem(
                ("shifts", name, "replicas_floor"),
                str(shift.replicas_floor),
                f"{fleet.replicas.minimum} or more: replicas.minimum of {shift.fleet}",
                "the fleet promises more replicas at every hour than the shift leaves it",
                f"raise it, or lower fleets.{shift.fleet}.replicas.minimum",
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


def both_sides_can_have_the_capacity(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        fleet = facts.environment.fleets.get(shift.fleet)
        cluster = facts.environment.clusters.get(shift.cluster)
        if fleet is None or cluster is None or fleet.capacity == cluster.capacity:
            continue
        kinds = [facts.environment.capacity[c].kind for c in (fleet.capacity, cluster.capacity) if c in facts.environment.capacity]  # fmt: skip
        if len(kinds) == 2 and kinds != ["on-demand", "on-demand"]:
            yield Problem(
                ("shifts", name, "cluster"),
                f"{shift.fleet} has capacity {fleet.capacity}, {shift.cluster} has {cluster.capacity}",
                "one entry under `capacity` for both, or on-demand for both",
                "nothing can move between them: each has a reservation or a kind of its own",
                "name the same capacity in both",
            )


def both_sides_have_one_type(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        fleet = facts.environment.fleets.get(shift.fleet)
        cluster = facts.environment.clusters.get(shift.cluster)
        if fleet is None or cluster is None or fleet.instance_type == cluster.instance_type:
            continue
        capacity = facts.environment.capacity.get(fleet.capacity)
        if (
            fleet.capacity == cluster.capacity
            and capacity is not None
            and capacity.kind not in ("on-demand", "spot")
        ):
            yield Problem(
                ("shifts", name, "cluster"),
                f"{shift.fleet} on {fleet.instance_type}, {shift.cluster} on {cluster.instance_type}",
                "one instance type for both",
                f"a {capacity.kind} is of one instance type: only one side can use it",
                "take the same type in both",
            )


def both_sides_share_a_quota(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        fleet = facts.environment.fleets.get(shift.fleet)
        cluster = facts.environment.clusters.get(shift.cluster)
        if fleet is None or cluster is None:
            continue
        serving, training = fleet_type(facts, shift.fleet), facts.instance_type(shift.cluster)
        if serving is None or training is None or facts.capacity_kind(shift.cluster) != "on-demand":
            continue
        if serving.quota_code_on_demand != training.quota_code_on_demand:
            yield Problem(
                ("shifts", name, "cluster"),
                f"{fleet.instance_type} under quota {serving.quota_code_on_demand}, {cluster.instance_type} under "
                f"{training.quota_code_on_demand}",
                "types of one quota",
                "each side has a quota of its own: what one gives up, the other cannot take",
                "without a shift, both could run at all hours; keep it only to save money",
            )


def a_block_has_an_end(facts: Facts) -> Iterator[Problem]:
    for name, shift in facts.environment.shifts.items():
        if (
            shift.cluster in facts.environment.clusters
            and facts.capacity_kind(shift.cluster) == "capacity-block"
        ):
            yield Problem(
                ("shifts", name, "cluster"),
                f"{shift.cluster!r} in a capacity block",
                "capacity that lasts as long as the shift",
                "a block ends, and the shift does not know: from then on neither side gets nodes, and the floor is gone",
                "`neuronkit capacity status` says when it ends; extend it, or remove the shift before",
            )


def each_side_is_in_one_shift(facts: Facts) -> Iterator[Problem]:
    seen: dict[tuple[str, str], str] = {}
    for name, shift in facts.environment.shifts.items():
        for field, value in (("fleet", shift.fleet), ("cluster", shift.cluster)):
            other = seen.setdefault((field, value), name)
            if other != name:
                yield Problem(
                    ("shifts", name, field),
                    repr(value),
                    f"a {field} that no other shift names",
                    f"shift {other} moves this {field} as well: two controllers would undo each other's work",
                    "put all windows into one shift",
                )


def jobs_save_their_work(facts: Facts) -> Iterator[Problem]:
    for _, shift, windows in _sound(facts):
        trains = max((minutes for _, minutes in gaps(windows)), default=0) - shift.drain_minutes
        for name, job in facts.environment.jobs.items():
            if job.cluster != shift.cluster or trains <= 0:
                continue
            saves = job.checkpoint_minutes
            if saves is None or saves >= trains:
                yield Problem(
                    ("jobs", name, "checkpoint_minutes"),
                    "null" if saves is None else str(saves),
                    f"less than the {trains} minutes for which {shift.cluster} has the capacity at most",
                    "the job is stopped at every switch, and begins again from its newest checkpoint",
                    "say how often it saves, or let it save on SIGTERM",
                )


def _sound(facts: Facts) -> Iterator[tuple[str, Shift, tuple[WeeklyWindow, ...]]]:
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
    Rule("NK770", Severity.ERROR, "unknown fleet", "a shift moves capacity of a fleet", DESIGN_SOURCE, fleet_exists),
    Rule("NK771", Severity.ERROR, "unknown cluster", "a shift moves capacity of a cluster", DESIGN_SOURCE, cluster_exists),
    Rule("NK772", Severity.ERROR, "a shift needs a cluster under Batch", "jobs are stopped and resubmitted there", DESIGN_SOURCE, cluster_is_under_batch),
    Rule("NK773", Severity.ERROR, "unknown time zone", "AWS stores it, and nothing fires", "IANA time zone database (tzdata)", time_zone_is_known),
    Rule("NK774", Severity.ERROR, "windows overlap", "one time, one number of replicas", DESIGN_SOURCE, windows_do_not_overlap),
    Rule("NK775", Severity.ERROR, "window too short", "a start takes longer than what is left of it", DESIGN_SOURCE, windows_are_long_enough),
    Rule("NK776", Severity.ERROR, "too little time between windows", "capacity that flaps serves nobody", DESIGN_SOURCE, training_gets_long_enough),
    Rule("NK777", Severity.ERROR, "no time for training", "the shift would never switch", DESIGN_SOURCE, training_gets_time_at_all),
    Rule("NK778", Severity.ERROR, "replicas above the fleet's maximum", "the Auto Scaling group ends there", DESIGN_SOURCE, replicas_fit_the_fleet),
    Rule("NK779", Severity.ERROR, "window below the floor", "the floor holds at every hour", DESIGN_SOURCE, windows_hold_the_floor),
    Rule("NK780", Severity.ERROR, "floor below the fleet's minimum", "the minimum holds at every hour", DESIGN_SOURCE, floor_holds_the_fleets_minimum),
    Rule("NK781", Severity.WARNING, "start and end are the same", "24 hours or nothing: people mean either", DESIGN_SOURCE, a_whole_day_is_meant),
    Rule("NK782", Severity.WARNING, "switch while clocks change", "EventBridge Scheduler leaves out times that do not exist, and runs repeated ones once", SCHEDULER_SOURCE, switches_keep_out_of_changing_clocks),
    Rule("NK783", Severity.ERROR, "no shared capacity", "instances cannot move; a reservation or a quota is what both share", MOVE_SOURCE, both_sides_can_have_the_capacity),
    Rule("NK784", Severity.ERROR, "two instance types in one reservation", "a reservation is of one type", "EC2 user guide, capacity reservations", both_sides_have_one_type),
    Rule("NK785", Severity.WARNING, "two quotas", "nothing is freed for the other side", "EC2 service quotas: vCPUs by family", both_sides_share_a_quota),
    Rule("NK786", Severity.WARNING, "a shift in a capacity block", "a block ends", "EC2 user guide, capacity-blocks-using", a_block_has_an_end),
    Rule("NK787", Severity.ERROR, "two shifts on one side", "two controllers undo each other's work", DESIGN_SOURCE, each_side_is_in_one_shift),
    Rule("NK788", Severity.WARNING, "a job that does not save", "each switch stops it", DESIGN_SOURCE, jobs_save_their_work),
)  # fmt: skip
