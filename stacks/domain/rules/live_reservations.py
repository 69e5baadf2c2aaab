"""Reservations and capacity blocks that the file names, as EC2 describes them now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from stacks.domain.capacity_plan import CapacityPlan
from stacks.domain.environment import Path
from stacks.domain.findings import Severity
from stacks.domain.live import BlockHealth, CouldNotAsk, known
from stacks.domain.plan import Plan
from stacks.domain.reservations import (
    BEFORE_ITS_TIME,
    CAPACITY_BLOCK,
    RECLAIM_SOURCE,
    Reservation,
    reclaim_window,
)
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

RESERVATION_SOURCE = "EC2 API, DescribeCapacityReservations (botocore 1.44.8)"
BLOCK_SOURCE = "EC2 API, DescribeCapacityBlockStatus (botocore 1.44.8)"
MATCH_SOURCE = "EC2 user guide, capacity-reservations-using and capacity-blocks-using: type, zone, platform and tenancy must match"
LINUX = "Linux/UNIX"
SHARED_TENANCY = "default"


@dataclass(frozen=True, slots=True)
class User:
    """A cluster, a fleet or a fleet's GPU group, whose nodes run in a reservation."""

    words: str
    cluster: str | None
    """Its name; None of a fleet."""
    instance_type: str
    nodes: int
    capacity: CapacityPlan
    groups: tuple[int, ...] = ()
    """The nodes of each UltraServer, where each has its reservation."""


@dataclass(frozen=True, slots=True)
class Named:
    """One reservation that the plan names, and who shall run in it: all of them, or of one cluster one UltraServer."""

    capacity: str
    kind: str
    """The file's word: reservation or capacity-block."""
    id: str
    users: tuple[User, ...]
    zone_id: str
    nodes: int
    index: int | None = None
    """In the file's `ids`; None: it is the `id`."""


Judge = Callable[[Named, Reservation], Iterator[str]]


def is_usable(_: Named, found: Reservation) -> Iterator[str]:
    if found.is_over or found.state == "unavailable":
        yield f"it is {found.state}"
    elif found.launch_status == "unlaunchable":
        yield "EC2 says that nothing can be launched in it"


def is_in_the_zone(named: Named, found: Reservation) -> Iterator[str]:
    if found.zone_id and found.zone_id != named.zone_id:
        yield f"it is in zone {found.zone_id}, the nodes' subnet in {named.zone_id}"


def is_of_the_type(named: Named, found: Reservation) -> Iterator[str]:
    for user in named.users:
        if found.instance_type and found.instance_type != user.instance_type:
            yield f"it is of {found.instance_type}, {user.words} of {user.instance_type}"


def is_large_enough(named: Named, found: Reservation) -> Iterator[str]:
    if named.nodes > found.total:
        yield f"it has {found.total} instances, what shall run on it wants {named.nodes}"


def is_of_the_kind(named: Named, found: Reservation) -> Iterator[str]:
    wants_block = named.kind == CAPACITY_BLOCK
    if found.kind and found.is_block != wants_block:
        is_now = "a capacity block" if found.is_block else "an on-demand reservation"
        yield f"it is {is_now}: nodes that ask for it as a {named.kind} do not start"


def matches_the_nodes(_: Named, found: Reservation) -> Iterator[str]:
    if found.platform and found.platform != LINUX:
        yield f"it is for {found.platform}, the nodes run {LINUX}"
    if found.tenancy and found.tenancy != SHARED_TENANCY:
        yield f"it has tenancy {found.tenancy}, the nodes have {SHARED_TENANCY}"


MISFITS: tuple[Judge, ...] = (is_usable, is_in_the_zone, is_of_the_type, is_large_enough, is_of_the_kind, matches_the_nodes)  # fmt: skip
"""Everything for which nodes would not start in a reservation, each in words."""


def fits(named: Named, found: Reservation) -> bool:
    return not any(True for judge in MISFITS for _ in judge(named, found))


def reservation_exists(facts: Facts) -> Iterator[Problem]:
    for named in _named(facts):
        if facts.live.of(facts.live.reservations, named.id) is None:
            yield _problem(
                named, f"there is no such reservation in {facts.environment.region} for this account"
            )


def _rule_of(judge: Judge, fix: str) -> Callable[[Facts], Iterator[Problem]]:
    def check(facts: Facts) -> Iterator[Problem]:
        for named, found in _found(facts):
            for words in judge(named, found):
                yield _problem(named, words, fix)

    return check


def has_begun(facts: Facts) -> Iterator[Problem]:
    for named, found in _found(facts):
        if found.state in BEFORE_ITS_TIME:
            when = f", and starts at {_utc(found.start)}" if found.start else ""
            yield _problem(named, f"it is {found.state}{when}: jobs wait until it is active", "launch later")


def has_a_known_state(facts: Facts) -> Iterator[Problem]:
    for named, found in _found(facts):
        if not found.is_known_state:
            yield _problem(
                named, f"EC2 says that it is {found.state!r}, which this kit does not know", "ask AWS"
            )


def interconnect_is_well(facts: Facts) -> Iterator[Problem]:
    for named, health in _blocks(facts):
        if health.interconnect == "impaired":
            yield _problem(
                named,
                "EC2 says that its interconnect is impaired: collectives would hang or crawl",
                "open a case with AWS Support before you start a job",
            )


def block_is_whole(facts: Facts) -> Iterator[Problem]:
    for named, found in _found(facts):
        for other, health in _blocks(facts):
            missing = health.unavailable or 0
            if other.id == named.id and missing and named.nodes > found.total - missing:
                message = f"EC2 cannot give {missing} of its {found.total} instances now, what shall run on it wants {named.nodes}"
                yield _problem(named, message, "lower `nodes`, or open a case with AWS Support")


def lasts_long_enough(facts: Facts) -> Iterator[Problem]:
    for named, found in _found(facts):
        as_of = facts.live.as_of
        if found.end is None or as_of is None or facts.plan is None or found.is_over:
            continue
        left = last_minute(found) - max(as_of, found.start or as_of)
        for job in facts.plan.jobs:
            longest = timedelta(seconds=job.time_limit_seconds)
            if job.cluster in {user.cluster for user in named.users} and longest > left:
                yield _problem(
                    named,
                    f"{_hours(left)} are left until EC2 takes nodes back ({_utc(last_minute(found))}), job {job.name} may run {_hours(longest)}",
                    "lower its time_limit_minutes, save checkpoints, or extend the block",
                )


def is_free(facts: Facts) -> Iterator[Problem]:
    for named, found in _found(facts):
        if found.state == "active" and found.available < named.nodes <= found.total:
            yield _problem(
                named,
                f"{found.used} of its {found.total} instances are in use now, what shall run on it wants {named.nodes}",
                "see what runs in it: jobs get only what is free",
            )


def last_minute(found: Reservation) -> datetime:
    """When EC2 begins to take nodes back; only a reservation with an end has one."""
    assert found.end is not None
    return found.end - (
        reclaim_window(is_ultraserver=found.is_ultraserver) if found.is_block else timedelta()
    )


def _named(facts: Facts) -> Iterator[Named]:
    if facts.plan is None:
        return
    by_capacity: dict[str, list[User]] = {}
    for user in capacity_users(facts.plan):
        by_capacity.setdefault(user.capacity.name, []).append(user)
    for name, users in by_capacity.items():
        capacity, zone = users[0].capacity, facts.plan.zone_id
        if capacity.id is not None:
            nodes = sum(user.nodes for user in users)
            yield Named(name, capacity.kind, capacity.id, tuple(users), zone, nodes)
        for index, (id_, nodes) in enumerate(zip(capacity.ids, users[0].groups, strict=False)):
            yield Named(name, capacity.kind, id_, tuple(users), zone, nodes, index)


def capacity_users(plan: Plan) -> Iterator[User]:
    for cluster in plan.clusters:
        groups = tuple(group.nodes_max for group in cluster.slurm.node_groups) if cluster.slurm else ()
        words = f"cluster {cluster.name}"
        yield User(words, cluster.name, cluster.instance_type, cluster.nodes, cluster.capacity, groups)
    for fleet in plan.fleets:
        yield User(f"fleet {fleet.name}", None, fleet.instance_type, fleet.nodes_maximum, fleet.capacity)
        gpu = fleet.fallback
        if gpu is not None:
            words = f"the GPU group of fleet {fleet.name}"
            yield User(words, None, gpu.instance_type, gpu.nodes_maximum, gpu.capacity)


def _found(facts: Facts) -> Iterator[tuple[Named, Reservation]]:
    for named in _named(facts):
        found = known(facts.live.of(facts.live.reservations, named.id), None)
        if found is not None:
            yield named, found


def _problem(named: Named, message: str, fix: str = "") -> Problem:
    place: Path = ("capacity", named.capacity, "id")
    if named.index is not None:
        place = ("capacity", named.capacity, "ids", named.index)
    return Problem(place, repr(named.id), message=message, fix=fix)


def _utc(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "an unknown time"


def _hours(span: timedelta) -> str:
    return f"{max(span, timedelta()).total_seconds() / 3600:,.1f} hours"


def _answers(facts: Facts) -> Iterator[object]:
    for named in _named(facts):
        yield facts.live.of(facts.live.reservations, named.id)


def _blocks(facts: Facts) -> Iterator[tuple[Named, BlockHealth]]:
    for named in _named(facts):
        health = facts.live.of(facts.live.blocks, named.id)
        if named.kind == CAPACITY_BLOCK and isinstance(health, BlockHealth):
            yield named, health


def _block_answers(facts: Facts) -> Iterator[object]:
    for named in _named(facts):
        if named.kind == CAPACITY_BLOCK:
            yield facts.live.of(facts.live.blocks, named.id)


def _interconnect_answers(facts: Facts) -> Iterator[object]:
    for answer in _block_answers(facts):
        if isinstance(answer, BlockHealth) and answer.interconnect not in ("ok", "impaired"):
            yield CouldNotAsk(f"EC2 says {answer.interconnect or 'nothing'} of it")
        else:
            yield answer


RESERVATIONS = Need("the reservations and blocks that the file names", _answers)
BLOCKS = Need("what EC2 can give of the blocks", _block_answers)
INTERCONNECTS = Need("the health of the blocks' interconnect", _interconnect_answers)

RULES = (
    Rule("NK320", Severity.ERROR, "no such reservation", "nodes never start", RESERVATION_SOURCE, reservation_exists, RESERVATIONS),
    Rule("NK321", Severity.ERROR, "reservation cannot be used", "nothing starts in what is over, failed, not paid or not available", RESERVATION_SOURCE, _rule_of(is_usable, "buy or make another, and write its id"), RESERVATIONS),
    Rule("NK322", Severity.WARNING, "reservation has not begun", "jobs wait", RESERVATION_SOURCE, has_begun, RESERVATIONS),
    Rule("NK323", Severity.ERROR, "reservation in another zone", "an opaque failure of every node", MATCH_SOURCE, _rule_of(is_in_the_zone, "write the reservation's zone into network.zone_id"), RESERVATIONS),
    Rule("NK324", Severity.ERROR, "reservation of another type", "an opaque failure of every node", MATCH_SOURCE, _rule_of(is_of_the_type, "change the cluster's instance_type, or the id"), RESERVATIONS),
    Rule("NK325", Severity.ERROR, "reservation too small", "the rest of the nodes never starts", RESERVATION_SOURCE, _rule_of(is_large_enough, "lower `nodes`, or buy more"), RESERVATIONS),
    Rule("NK326", Severity.ERROR, "reservation of another kind", "a block starts only with its market type, a reservation only without", MATCH_SOURCE, _rule_of(is_of_the_kind, "change the kind, or the id"), RESERVATIONS),
    Rule("NK327", Severity.ERROR, "platform or tenancy does not match", "an opaque failure of every node", MATCH_SOURCE, _rule_of(matches_the_nodes, "take another reservation"), RESERVATIONS),
    Rule("NK328", Severity.ERROR, "interconnect impaired", "collectives hang in paid time", BLOCK_SOURCE, interconnect_is_well, INTERCONNECTS),
    Rule("NK329", Severity.WARNING, "unknown state", "AWS adds words", RESERVATION_SOURCE, has_a_known_state, RESERVATIONS),
    Rule("NK330", Severity.WARNING, "not enough time left", "EC2 terminates what runs before the end", RECLAIM_SOURCE, lasts_long_enough, RESERVATIONS),
    Rule("NK331", Severity.INFO, "partly in use", "jobs wait for what others use", RESERVATION_SOURCE, is_free, RESERVATIONS),
    Rule("NK332", Severity.ERROR, "block not whole", "the rest of the nodes never starts", BLOCK_SOURCE, block_is_whole, BLOCKS),
)  # fmt: skip
