"""From what is billed and the prices to lines. A line exists only for what there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from stacks.domain.catalog import Catalog
from stacks.domain.catalog.prices import ServiceItem
from stacks.domain.cost.fleet_inventory import FleetPart, NodeGroup
from stacks.domain.cost.inventory import Inventory, SlurmPart, inventory_of
from stacks.domain.cost.lines import HOURS_PER_DAY, Cost, CostLine, Paid, is_stale
from stacks.domain.plan import Plan
from stacks.domain.prices import BUNDLED, PriceKey, Prices, UnitPrice, service_key

ASSUMABLE: Final[Mapping[ServiceItem, str]] = {
    "nat-gateway-data": "GB through the NAT gateway over the lifetime",
    "s3-standard": "GB in the bucket, all the lifetime",
    "logs-ingestion": "GB of logs over the lifetime",
    "custom-metric": "metrics of nodes (their detailed monitoring), all the lifetime",
    "efs": "GB in the shared file systems on EFS (Slurm's, and the fleets' compiled graphs and models), all the lifetime",
    "ebs-snapshot": "GB in the snapshots of node images, all the lifetime",
    "image-build": "hours of building node images",
    "load-balancer-capacity": "hours times capacity units of the fleets' load balancers",
    "lambda": "GB-seconds of the fleets' functions",
}
"""Quantities that only the user can assume."""

_CONTROLLERS: Final[Mapping[str, ServiceItem]] = {
    "SMALL": "pcs-controller-small",
    "MEDIUM": "pcs-controller-medium",
    "LARGE": "pcs-controller-large",
}


BALANCER_ZONES = 2


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
    keys += [PriceKey("on-demand", part.login_instance_type) for part in inventory.slurm]
    return tuple(dict.fromkeys(keys))


def _node_key(group: NodeGroup) -> PriceKey:
    if group.capacity_kind == "capacity-block":
        return PriceKey("capacity", group.capacity_name)
    # A reservation is billed at the on-demand price, used or not.
    return PriceKey("spot" if group.capacity_kind == "spot" else "on-demand", group.instance_type)


def _with_nodes(group: NodeGroup) -> Paid:
    return Paid.ALWAYS if group.runs_always else Paid.WHILE_NODES_RUN


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
    for part in inventory.slurm:
        yield _CONTROLLERS[part.controller_size], part.clusters
        yield "pcs-node", part.clusters
        yield "pcs-accounting", int(part.accounting)
        yield "efs", int(part.storage_kind == "efs")
        yield "lustre", part.lustre_gib
    yield "image-build", inventory.node_images
    yield "ebs-snapshot", inventory.node_images
    yield "load-balancer", len(inventory.fleets)
    yield "load-balancer-capacity", len(inventory.fleets)
    yield "public-ipv4", sum(part.public for part in inventory.fleets)
    yield "efs", sum(part.shares_files for part in inventory.fleets)
    yield "lambda", sum(part.functions for part in inventory.fleets)


def _of_logs(inventory: Inventory) -> str:
    others = inventory.log_groups - len(inventory.fleets)
    whose = " and ".join((*(["jobs"] if others else []), *(["fleets"] if inventory.fleets else [])))
    return f"logs of {whose} (CloudWatch Logs, ingestion)"


@dataclass(frozen=True, slots=True)
class _Writer:
    inventory: Inventory
    catalog: Catalog
    basis: Basis

    def lines(self) -> Iterator[CostLine]:
        yield from self._node_lines()
        yield from self._block_lines()
        yield from self._fixed_lines()
        for part in self.inventory.slurm:
            yield from self._slurm_lines(part)
        for fleet in self.inventory.fleets:
            yield from self._fleet_lines(fleet)
        yield from self._use_lines()

    def _node_lines(self) -> Iterator[CostLine]:
        for group in self.inventory.node_groups:
            if group.capacity_kind != "capacity-block":
                is_always = group.runs_always or group.capacity_kind == "reservation"
                paid = Paid.ALWAYS if is_always else Paid.WHILE_NODES_RUN
                what = f"{group.name}: {group.nodes} x {group.instance_type}, {group.capacity_kind}"
                yield self._line(what, group.nodes, _node_key(group), paid)
            gib = group.nodes * group.root_volume_gib
            what = f"{group.name}: {gib:,} GiB root volumes (gp3)"
            yield self._line(what, gib, service_key("ebs-gp3"), _with_nodes(group))

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

    def _slurm_lines(self, part: SlurmPart) -> Iterator[CostLine]:
        """The nodes' fee is paid with the nodes; everything else as long as the cluster is there."""
        number, login = part.clusters, part.login_instance_type
        always: list[tuple[str, int, PriceKey]] = [
            (f"AWS PCS controller, {part.controller_size}", number, service_key(_CONTROLLERS[part.controller_size])),
            (f"login node, {login}", number, PriceKey("on-demand", login)),
            (f"{part.login_volume_gib * number:,} GiB root volume of the login node (gp3)", part.login_volume_gib * number, service_key("ebs-gp3")),
            ("AWS PCS's fee for the login node", number, service_key("pcs-node")),
            ("Slurm accounting", number if part.accounting else 0, service_key("pcs-accounting")),
            (f"{part.lustre_gib:,} GiB of FSx for Lustre", part.lustre_gib, service_key("lustre")),
        ]  # fmt: skip
        for what, quantity, key in always:
            if quantity:
                yield self._line(f"{part.name}: {what}", quantity, key, Paid.ALWAYS)
        for group in self.inventory.node_groups:
            if group.name == part.name:
                what = f"{part.name}: AWS PCS's fee for {group.nodes} nodes"
                yield self._line(what, group.nodes, service_key("pcs-node"), _with_nodes(group))

    def _fleet_lines(self, part: FleetPart) -> Iterator[CostLine]:
        name = f"fleet {part.name}"
        yield self._line(
            f"{name}: load balancer, without its use", 1, service_key("load-balancer"), Paid.ALWAYS
        )
        if part.public:
            what = f"{name}: public IPv4 addresses of the load balancer"
            yield self._line(what, BALANCER_ZONES, service_key("public-ipv4"), Paid.ALWAYS)
        what = f"{name}: the kit's own metrics (CloudWatch), while replicas run"
        yield self._line(what, part.metrics, service_key("custom-metric"), Paid.BY_USE)

    def _use_lines(self) -> Iterator[CostLine]:
        found = self.inventory
        efs = sum(part.storage_kind == "efs" for part in found.slurm)
        efs += sum(part.shares_files for part in found.fleets)
        nodes = sum(group.nodes for group in found.node_groups)
        rows: tuple[tuple[str, int, ServiceItem], ...] = (
            ("data through the NAT gateway", found.nat_gateways, "nat-gateway-data"),
            ("data in the bucket (S3 Standard)", found.buckets, "s3-standard"),
            (_of_logs(found), found.log_groups, "logs-ingestion"),
            ("detailed monitoring of nodes (CloudWatch metrics)", nodes, "custom-metric"),
            ("data in the shared file system (EFS)", efs, "efs"),
            ("instances that build node images (EC2 Image Builder)", found.node_images, "image-build"),
            ("snapshots of node images (EBS)", found.node_images, "ebs-snapshot"),
            ("use of the load balancers (capacity units)", len(found.fleets), "load-balancer-capacity"),
            ("wakers and controllers (Lambda)", sum(part.functions for part in found.fleets), "lambda"),
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
