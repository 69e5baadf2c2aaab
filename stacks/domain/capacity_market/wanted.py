"""What a file needs of a capacity block, and the two shapes in which EC2 is asked for it: by instance or by UltraServer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from stacks.domain.capacity_market.durations import sold_hours
from stacks.domain.catalog import Catalog, UltraServer
from stacks.domain.environment import Capacity, Cluster, Environment
from stacks.domain.errors import InputError
from stacks.domain.findings import closest, one_of
from stacks.domain.reservations import CAPACITY_BLOCK
from stacks.domain.unlisted_types import ultraserver_of

INSTANCES_MAX = 64
"""botocore 1.44.8, DescribeCapacityBlockOfferings.InstanceCount."""
START_WEEKS_MAX = 8
"""EC2 user guide, ec2-capacity-blocks."""

Unit = Literal["auto", "instances", "ultraservers"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user wants otherwise than the file says."""

    cluster: str | None = None
    instance_type: str | None = None
    nodes: int | None = None
    unit: Unit = "auto"
    ultraserver_type: str | None = None
    ultraservers: int | None = None
    hours: Decimal | None = None
    start_from: datetime | None = None
    until: datetime | None = None

    @property
    def of_the_files_size(self) -> Options:
        """What a purchase takes: its type and numbers are the file's."""
        return replace(self, instance_type=None, nodes=None, ultraservers=None)

    @property
    def names_hardware(self) -> bool:
        return any((self.instance_type, self.nodes, self.ultraserver_type, self.ultraservers))


@dataclass(frozen=True, slots=True)
class Wanted:
    """One block, or several of the same size, for one entry under `capacity`.

    By UltraServer where `ultraserver_type` is set: then `nodes` is what those of a block hold.
    """

    capacity: str
    clusters: tuple[str, ...]
    region: str
    zone_id: str
    instance_type: str
    nodes: int | None
    ultraserver_type: str
    ultraservers: int
    hours: int
    start_from: datetime | None
    until: datetime | None
    budget_usd: Decimal
    notes: tuple[str, ...] = ()
    blocks: int = 1
    """Several for UltraServers under Slurm: PCS takes one reservation for the node group of each."""

    @property
    def is_ultraserver(self) -> bool:
        return bool(self.ultraserver_type)

    def parameters(self) -> dict[str, Any]:
        """Of DescribeCapacityBlockOfferings: an UltraServer is never asked for by InstanceType."""
        if self.is_ultraserver:
            asked: dict[str, Any] = {
                "UltraserverType": self.ultraserver_type,
                "UltraserverCount": self.ultraservers,
            }
        else:
            asked = {"InstanceType": self.instance_type, "InstanceCount": self.nodes}
        asked["CapacityDurationHours"] = self.hours
        if self.start_from is not None:
            asked["StartDateRange"] = self.start_from
        if self.until is not None:
            asked["EndDateRange"] = self.until
        return asked

    def text(self) -> str:
        """ "4 x TYPE for 7 days", "2 blocks of 1 x TYPE for 7 days"."""
        what = (
            f"{self.ultraservers} x {self.ultraserver_type}"
            if self.is_ultraserver
            else f"{self.nodes} x {self.instance_type}"
        )
        if self.blocks > 1:
            what = f"{self.blocks} blocks of {what}"
        days = self.hours // 24
        dates = "".join(
            f" {word} {moment:%Y-%m-%d %H:%M %Z}"
            for word, moment in (("from", self.start_from), ("until", self.until))
            if moment is not None
        )
        return f"{what} for {days} day{'s' if days != 1 else ''}{dates}"

    def in_region(self, region: str) -> Wanted:
        return replace(self, region=region)


def wanted_of(
    environment: Environment, catalog: Catalog, options: Options, as_of: datetime
) -> tuple[Wanted, ...]:
    """One for each capacity block of the file, or for the cluster that the options name. Raises InputError."""
    entries = _entries(environment, options)
    if len(entries) > 1 and options.names_hardware:
        raise InputError(
            f"the file has {len(entries)} capacity blocks ({', '.join(entries)}): for which is that meant?",
            "name one of its clusters with --cluster",
        )
    wanted = [
        _wanted(environment, catalog, options, capacity, clusters) for capacity, clusters in entries.items()
    ]
    for one in wanted:
        _check_dates(one, as_of)
    return tuple(wanted)


def wanted_as_filed(
    environment: Environment, catalog: Catalog, options: Options, wanted: Wanted, as_of: datetime
) -> Wanted | None:
    """As `wanted`, with the type and the numbers that the file has; None where they cannot be asked for with these options."""
    try:
        by_file = wanted_of(environment, catalog, options.of_the_files_size, as_of)
    except InputError:
        return None
    return next(one for one in by_file if one.capacity == wanted.capacity)


def wanted_to_buy(environment: Environment, every_wanted: tuple[Wanted, ...]) -> Wanted:
    """What the file lacks for one entry. Raises InputError when it lacks something for several."""
    lacking = [one for one in every_wanted if not _names_ids(environment.capacity[one.capacity])]
    if len(lacking) > 1:
        names = ", ".join(one.capacity for one in lacking)
        raise InputError(f"the file has several blocks to buy: {names}", "name one's cluster with --cluster")
    wanted = (lacking or every_wanted)[0]
    kind = environment.capacity[wanted.capacity].kind
    if kind != CAPACITY_BLOCK:
        raise InputError(
            f"capacity {wanted.capacity} is of kind {kind}", "write `kind: capacity-block` there first"
        )
    return wanted


def regions_that_offer(instance_type: str, catalog: Catalog, first: str) -> tuple[str, ...]:
    """Every region in which the catalog lists the type; `first`, the file's, always and first."""
    found = catalog.get(instance_type)
    others = tuple(region for region in (found.regions if found else ()) if region != first)
    return (first, *others)


def _names_ids(capacity: Capacity) -> bool:
    return capacity.id is not None or bool(capacity.ids)


def _entries(environment: Environment, options: Options) -> dict[str, tuple[str, ...]]:
    """Clusters by the capacity that they use."""
    by_capacity: dict[str, list[str]] = {}
    for name, cluster in environment.clusters.items():
        by_capacity.setdefault(cluster.capacity, []).append(name)
    if options.cluster is not None:
        cluster = _known_cluster(environment, options.cluster)
        return {cluster.capacity: tuple(by_capacity[cluster.capacity])}
    blocks = {
        name: tuple(by_capacity[name])
        for name, capacity in environment.capacity.items()
        if capacity.kind == CAPACITY_BLOCK and name in by_capacity
    }
    if not blocks:
        raise InputError(
            "no cluster of the file is on capacity of kind capacity-block",
            "name the cluster to search for with --cluster, or write `kind: capacity-block` under its capacity",
        )
    return blocks


def _known_cluster(environment: Environment, name: str) -> Cluster:
    if name not in environment.clusters:
        near = closest(name, environment.clusters)
        raise InputError(
            f"the file has no cluster {name!r}; it has {one_of(environment.clusters)}",
            f"did you mean {near!r}?" if near else "",
        )
    return environment.clusters[name]


def _wanted(
    environment: Environment, catalog: Catalog, options: Options, capacity: str, clusters: tuple[str, ...]
) -> Wanted:
    members = [environment.clusters[name] for name in clusters]
    types = sorted({cluster.instance_type for cluster in members})
    if len(types) > 1:
        raise InputError(
            f"capacity {capacity} serves clusters of {one_of(types)}: a block has one type",
            "give each cluster its own capacity",
        )
    hours, rounded = sold_hours(options.hours or Decimal(environment.lifetime_days * 24))
    named = options.instance_type or types[0]
    nodes = options.nodes or sum(c.nodes * c.cells for c in members)
    asked = _by_group(_hardware(catalog, options, named, nodes), catalog, members, nodes)
    notes = (*([rounded] if rounded else []), *asked.notes, *_unlisted(catalog, named))
    if not asked.ultraserver_type and any(catalog.ultraserver_of_shape(c.shape) for c in members):
        notes += (
            f"what EC2 calls UltraServers of {named} is not published: --ultraserver-type asks for them",
        )
    return Wanted(
        capacity=capacity,
        clusters=clusters,
        region=environment.region,
        zone_id=environment.network.zone_id,
        instance_type=named,
        nodes=asked.nodes,
        ultraserver_type=asked.ultraserver_type,
        ultraservers=asked.ultraservers,
        hours=hours,
        start_from=options.start_from,
        until=options.until,
        budget_usd=Decimal(str(environment.budget_usd)),
        notes=notes,
        blocks=asked.blocks,
    )


@dataclass(frozen=True, slots=True)
class _Hardware:
    nodes: int | None
    ultraserver_type: str = ""
    ultraservers: int = 0
    notes: tuple[str, ...] = ()
    blocks: int = 1


def _by_group(whole: _Hardware, catalog: Catalog, clusters: list[Cluster], nodes: int) -> _Hardware:
    """One block for each UltraServer of a Slurm cluster; else what it is."""
    cluster = clusters[0]
    instance_type = catalog.get(cluster.instance_type)
    if len(clusters) > 1 or cluster.scheduler != "slurm" or instance_type is None:
        return whole
    ultraserver = ultraserver_of(instance_type, cluster.shape, catalog)
    members = ultraserver.members if ultraserver else None
    if members is None or nodes <= members:
        return whole
    blocks = -(-nodes // members)
    note = f"PCS takes one reservation for each UltraServer: {blocks} blocks of {members} nodes, which have to run at the same time"
    return replace(
        whole,
        nodes=members,
        ultraservers=min(whole.ultraservers, 1),
        blocks=blocks,
        notes=(*whole.notes, note),
    )


def _hardware(catalog: Catalog, options: Options, instance_type: str, nodes: int) -> _Hardware:
    ultraserver = _ultraserver(catalog, options, instance_type)
    by_name = options.ultraserver_type or (ultraserver.ultraserver_type if ultraserver else None)
    by_ultraserver = (
        options.unit == "ultraservers"
        or bool(options.ultraservers or options.ultraserver_type)
        or (ultraserver is not None and options.unit == "auto")
    )
    if not by_ultraserver or options.unit == "instances":
        if nodes > INSTANCES_MAX:
            raise InputError(
                f"{nodes} instances: a capacity block has at most {INSTANCES_MAX}",
                "use several clusters, each with its block",
            )
        return _Hardware(nodes)
    if by_name is None:
        raise InputError(
            f"no UltraServer type is known that is made of {instance_type}",
            "name it with --ultraserver-type, or ask --by instances",
        )
    return _by_ultraserver(ultraserver, by_name, options.ultraservers, nodes)


def _by_ultraserver(ultraserver: UltraServer | None, name: str, asked: int | None, nodes: int) -> _Hardware:
    members = ultraserver.members if ultraserver else None
    if asked is None and members is None:
        raise InputError(f"how many nodes {name} has is not known", "say how many you want: --ultraservers")
    count = asked or -(-nodes // (members or 1))
    held = count * members if members else None
    notes = [
        f"the type name {name} is unverified: {ultraserver.note}"
        if ultraserver
        else f"{name}: your word for it"
    ]
    if held is not None and held != nodes:
        notes.append(f"{nodes} nodes: {count} UltraServer{'s' if count > 1 else ''} of {members} hold {held}")
    return _Hardware(held, name, count, tuple(notes))


def _ultraserver(catalog: Catalog, options: Options, instance_type: str) -> UltraServer | None:
    if options.ultraserver_type is not None:
        return catalog.ultraserver(options.ultraserver_type)
    buyable = (one for one in catalog.ultraservers if one.ultraserver_type is not None)
    return next((one for one in buyable if one.member_type == instance_type), None)


def _unlisted(catalog: Catalog, instance_type: str) -> Iterator[str]:
    found = catalog.get(instance_type)
    if found is None:
        near = catalog.closest(instance_type)
        yield f"{instance_type} is not in the catalog{f' (nearest: {near})' if near else ''}: EC2 is asked nevertheless"
    elif CAPACITY_BLOCK not in found.purchase_options:
        yield f"EC2 did not list {instance_type} as sold in capacity blocks ({found.as_of}): it is asked nevertheless"


def _check_dates(wanted: Wanted, as_of: datetime) -> None:
    start, until = wanted.start_from, wanted.until
    if start is not None and start > as_of + timedelta(weeks=START_WEEKS_MAX):
        raise InputError(
            f"--from {start:%Y-%m-%d %H:%M %Z}: EC2 sells blocks that begin within {START_WEEKS_MAX} weeks",
            "choose an earlier date",
        )
    if until is None:
        return
    earliest = max(as_of, start or as_of)
    if until - earliest < timedelta(hours=wanted.hours):
        raise InputError(
            f"no block of {wanted.hours} hours fits between {earliest:%Y-%m-%d %H:%M %Z} and "
            f"--until {until:%Y-%m-%d %H:%M %Z}, the latest end",
            "allow more time, or ask for fewer --days",
        )
