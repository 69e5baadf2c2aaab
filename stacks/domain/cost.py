"""What a plan costs, as a pure function of the plan and the bundled, dated prices. Unknown stays unknown, never 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from stacks.domain.catalog import Catalog
from stacks.domain.catalog.prices import ServiceItem
from stacks.domain.plan import ClusterPlan, Plan

HOURS_PER_DAY = 24
HOURS_PER_MONTH = 730
"""AWS's own convention for monthly prices."""


@dataclass(frozen=True, slots=True)
class CostLine:
    """`unit_usd` is for one unit and hour. None: unknown, and why in `source`. `while_nodes_run`: only then."""

    what: str
    quantity: float
    unit_usd: float | None
    source: str
    as_of: str | None
    while_nodes_run: bool

    @property
    def usd_per_hour(self) -> float | None:
        return None if self.unit_usd is None else self.quantity * self.unit_usd

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "usd_per_hour": _cents(self.usd_per_hour)}


@dataclass(frozen=True, slots=True)
class Cost:
    """`usd_per_hour` has every node running; totals hold what is known and are None when nothing is."""

    lines: tuple[CostLine, ...]
    lifetime_hours: int

    @property
    def unknown(self) -> tuple[str, ...]:
        return tuple(line.what for line in self.lines if line.unit_usd is None)

    @property
    def is_complete(self) -> bool:
        return not self.unknown

    @property
    def usd_per_hour(self) -> float | None:
        """None as soon as one line is unknown."""
        return self.known_usd_per_hour if self.is_complete else None

    @property
    def known_usd_per_hour(self) -> float:
        return sum(line.usd_per_hour or 0.0 for line in self.lines)

    @property
    def idle_usd_per_hour(self) -> float:
        """Known cost with no node running: what is paid between jobs."""
        return sum(line.usd_per_hour or 0.0 for line in self.lines if not line.while_nodes_run)

    @property
    def usd_lifetime(self) -> float | None:
        """With every node running from the first hour to the last: the most it can be."""
        return None if self.usd_per_hour is None else self.usd_per_hour * self.lifetime_hours

    def as_dict(self) -> dict[str, object]:
        return {
            "usd_per_hour": _cents(self.usd_per_hour),
            "usd_upfront": None if self._has_upfront else 0.0,
            "usd_lifetime": _cents(self.usd_lifetime),
            "usd_per_hour_known": _cents(self.known_usd_per_hour),
            "usd_per_hour_idle": _cents(self.idle_usd_per_hour),
            "lines": [line.as_dict() for line in self.lines],
            "unknown": list(self.unknown),
        }

    @property
    def _has_upfront(self) -> bool:
        return any("capacity-block" in line.what for line in self.lines)


def estimate(plan: Plan, catalog: Catalog) -> Cost:
    lines = [line for cluster in plan.clusters for line in _cluster_lines(plan, cluster, catalog)]
    lines += _network_lines(plan, catalog)
    return Cost(tuple(lines), plan.lifetime_days * HOURS_PER_DAY)


def _cluster_lines(plan: Plan, cluster: ClusterPlan, catalog: Catalog) -> Iterator[CostLine]:
    kind = cluster.capacity.kind
    listed_as = "on-demand" if kind == "reservation" else kind
    price = catalog.instance_types[cluster.instance_type].price(listed_as, plan.region)
    what = f"{cluster.name}: {cluster.nodes} x {cluster.instance_type}, {kind}"
    usable = price is not None and price.primary and kind != "capacity-block"
    if price is None:
        source = f"no {listed_as} price in {plan.region} in any source"
    elif usable:
        source = price.source
    else:
        source = (
            f"unknown until an offering names its fee; a third party quoted ${price.usd_per_hour:g} an hour"
        )
    # A reservation or block is paid whether nodes run or not.
    yield CostLine(
        what,
        cluster.nodes,
        price.usd_per_hour if usable and price else None,
        source,
        price.as_of if price else None,
        while_nodes_run=kind == "on-demand",
    )
    gib = cluster.nodes * cluster.root_volume_gib
    yield _service_line(
        plan,
        catalog,
        "ebs-gp3",
        f"{cluster.name}: {gib} GiB root volumes (gp3)",
        gib,
        monthly=True,
        nodes=True,
    )


def _network_lines(plan: Plan, catalog: Catalog) -> Iterator[CostLine]:
    yield _service_line(plan, catalog, "nat-gateway", "NAT gateway", 1)
    yield _service_line(plan, catalog, "public-ipv4", "public IPv4 address of the NAT gateway", 1)


def _service_line(
    plan: Plan,
    catalog: Catalog,
    price_name: ServiceItem,
    what: str,
    quantity: float,
    *,
    monthly: bool = False,
    nodes: bool = False,
) -> CostLine:
    price = catalog.service_price(price_name, plan.region)
    if price is None:
        return CostLine(what, quantity, None, "no dated price in any source", None, nodes)
    unit = price.usd / HOURS_PER_MONTH if monthly else price.usd
    return CostLine(what, quantity, unit, price.source, price.as_of, nodes)


def _cents(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 4)
