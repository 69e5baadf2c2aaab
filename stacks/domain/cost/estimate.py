"""From what is billed and the prices to lines. A line exists only for what there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from stacks.domain.catalog import Catalog
from stacks.domain.catalog.prices import ServiceItem
from stacks.domain.cost.inventory import Inventory, NodeGroup, inventory_of
from stacks.domain.cost.lines import HOURS_PER_DAY, Cost, CostLine, Paid, is_stale
from stacks.domain.plan import Plan
from stacks.domain.prices import BUNDLED, PriceKey, Prices, UnitPrice, service_key

ASSUMABLE: Final[Mapping[ServiceItem, str]] = {
    "nat-gateway-data": "GB through the NAT gateway over the lifetime",
    "s3-standard": "GB in the bucket, all the lifetime",
    "logs-ingestion": "GB of logs over the lifetime",
    "custom-metric": "metrics of nodes (their detailed monitoring), all the lifetime",
}
"""Quantities that only the user can assume."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a cost depends on besides the plan and the catalog."""

    prices: Prices = BUNDLED
    as_of: date | None = None
    """The day at which a price is called old; None: none is."""
    assumed: Mapping[ServiceItem, float] = field(default_factory=dict)
    """Quantities of ASSUMABLE, in place of use that no plan can know."""


def estimate(plan: Plan, catalog: Catalog, basis: Basis | None = None) -> Cost:
    return cost_of(inventory_of(plan), plan.lifetime_days, catalog, basis)


def cost_of(inventory: Inventory, lifetime_days: int, catalog: Catalog, basis: Basis | None = None) -> Cost:
    basis = basis or Basis()
    lines = tuple(_Writer(inventory, catalog, basis).lines())
    return Cost(lines, lifetime_days * HOURS_PER_DAY, basis.as_of)


def price_keys(inventory: Inventory) -> tuple[PriceKey, ...]:
    """Every price that an estimate of it looks up, once."""
    keys = [key for group in inventory.node_groups for key in (_node_key(group),)]
    keys += [service_key(item) for item, number in _services(inventory) if number]
    return tuple(dict.fromkeys(keys))


def _node_key(group: NodeGroup) -> PriceKey:
    if group.capacity_kind == "capacity-block":
        return PriceKey("capacity", group.capacity_name)
    # A reservation is billed at the on-demand price, used or not.
    return PriceKey("spot" if group.capacity_kind == "spot" else "on-demand", group.instance_type)


def _services(inventory: Inventory) -> Iterator[tuple[ServiceItem, int]]:
    nodes = sum(group.nodes for group in inventory.node_groups)
    yield "ebs-gp3", nodes
    yield "custom-metric", nodes
    yield "nat-gateway", inventory.nat_gateways
    yield "nat-gateway-data", inventory.nat_gateways
    yield "public-ipv4", inventory.public_addresses
    yield "dashboard", inventory.dashboards
    yield "logs-ingestion", inventory.log_groups
    yield "s3-standard", inventory.buckets


@dataclass(frozen=True, slots=True)
class _Writer:
    inventory: Inventory
    catalog: Catalog
    basis: Basis

    def lines(self) -> Iterator[CostLine]:
        yield from self._node_lines()
        yield from self._block_lines()
        yield from self._fixed_lines()
        yield from self._use_lines()

    def _node_lines(self) -> Iterator[CostLine]:
        for group in self.inventory.node_groups:
            if group.capacity_kind != "capacity-block":
                paid = Paid.ALWAYS if group.capacity_kind == "reservation" else Paid.WHILE_NODES_RUN
                what = f"{group.name}: {group.nodes} x {group.instance_type}, {group.capacity_kind}"
                yield self._line(what, group.nodes, _node_key(group), paid)
            gib = group.nodes * group.root_volume_gib
            what = f"{group.name}: {gib:,} GiB root volumes (gp3)"
            yield self._line(what, gib, service_key("ebs-gp3"), Paid.WHILE_NODES_RUN)

    def _block_lines(self) -> Iterator[CostLine]:
        """One fee a block, however many clusters are on it."""
        blocks: dict[str, list[NodeGroup]] = {}
        for group in self.inventory.node_groups:
            if group.capacity_kind == "capacity-block":
                blocks.setdefault(group.capacity_name, []).append(group)
        for name, groups in blocks.items():
            nodes = " + ".join(f"{group.nodes} x {group.instance_type}" for group in groups)
            what = f"capacity {name}: the fee of a block for {nodes}"
            yield self._line(what, 1, PriceKey("capacity", name), Paid.UP_FRONT)

    def _fixed_lines(self) -> Iterator[CostLine]:
        found = self.inventory
        rows: tuple[tuple[str, int, ServiceItem], ...] = (
            ("NAT gateway", found.nat_gateways, "nat-gateway"),
            ("public IPv4 address of the NAT gateway", found.public_addresses, "public-ipv4"),
            ("CloudWatch dashboard", found.dashboards, "dashboard"),
        )
        for what, number, item in rows:
            if number:
                yield self._line(what, number, service_key(item), Paid.ALWAYS)

    def _use_lines(self) -> Iterator[CostLine]:
        found = self.inventory
        nodes = sum(group.nodes for group in found.node_groups)
        rows: tuple[tuple[str, int, ServiceItem], ...] = (
            ("data through the NAT gateway", found.nat_gateways, "nat-gateway-data"),
            ("data in the bucket (S3 Standard)", found.buckets, "s3-standard"),
            ("logs of jobs (CloudWatch Logs, ingestion)", found.log_groups, "logs-ingestion"),
            ("detailed monitoring of nodes (CloudWatch metrics)", nodes, "custom-metric"),
        )
        for what, number, item in rows:
            if number:
                yield self._line(what, self.basis.assumed.get(item), service_key(item), Paid.BY_USE)

    def _line(self, what: str, quantity: float | None, key: PriceKey, paid: Paid) -> CostLine:
        price: UnitPrice = self.basis.prices.find(key, self.catalog, self.inventory.region)
        return CostLine(
            what=what,
            quantity=quantity,
            unit=price.unit,
            unit_usd=price.usd,
            region=self.inventory.region,
            source=price.source,
            as_of=price.as_of,
            paid=paid,
            note=price.note,
            not_asked=price.not_asked,
            block_hours=price.hours,
            is_stale=is_stale(price.as_of, self.basis.as_of),
        )
