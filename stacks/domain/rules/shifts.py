"""Shifts: capacity that serves in windows and trains outside."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity, closest, one_of
from stacks.domain.rules.node_blocks import fleet_type
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.rules.shift_windows import DESIGN_SOURCE, sound_shifts
from stacks.domain.windows import gaps
from stacks.domain.zones import zone_names

MOVE_SOURCE = "ECS developer guide, cluster-auto-scaling: a group belongs to one capacity provider; AWS Batch owns its own"


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
    for _, shift, windows in sound_shifts(facts):
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


RULES = (
    Rule("NK770", Severity.ERROR, "unknown fleet", "a shift moves capacity of a fleet", DESIGN_SOURCE, fleet_exists),
    Rule("NK771", Severity.ERROR, "unknown cluster", "a shift moves capacity of a cluster", DESIGN_SOURCE, cluster_exists),
    Rule("NK772", Severity.ERROR, "a shift needs a cluster under Batch", "jobs are stopped and resubmitted there", DESIGN_SOURCE, cluster_is_under_batch),
    Rule("NK773", Severity.ERROR, "unknown time zone", "AWS stores it, and nothing fires", "IANA time zone database (tzdata)", time_zone_is_known),
    Rule("NK778", Severity.ERROR, "replicas above the fleet's maximum", "the Auto Scaling group ends there", DESIGN_SOURCE, replicas_fit_the_fleet),
    Rule("NK780", Severity.ERROR, "floor below the fleet's minimum", "the minimum holds at every hour", DESIGN_SOURCE, floor_holds_the_fleets_minimum),
    Rule("NK783", Severity.ERROR, "no shared capacity", "instances cannot move; a reservation or a quota is what both share", MOVE_SOURCE, both_sides_can_have_the_capacity),
    Rule("NK784", Severity.ERROR, "two instance types in one reservation", "a reservation is of one type", "EC2 user guide, capacity reservations", both_sides_have_one_type),
    Rule("NK785", Severity.WARNING, "two quotas", "nothing is freed for the other side", "EC2 service quotas: vCPUs by family", both_sides_share_a_quota),
    Rule("NK786", Severity.WARNING, "a shift in a capacity block", "a block ends", "EC2 user guide, capacity-blocks-using", a_block_has_an_end),
    Rule("NK787", Severity.ERROR, "two shifts on one side", "two controllers undo each other's work", DESIGN_SOURCE, each_side_is_in_one_shift),
    Rule("NK788", Severity.WARNING, "a job that does not save", "each switch stops it", DESIGN_SOURCE, jobs_save_their_work),
)  # fmt: skip
