"""What the nodes of a fleet's replicas cost in an hour, as the plan prices them."""

from __future__ import annotations

import math

from scripts.serving_bench.report import Price
from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Basis, Inventory, NodeGroup, cost_of
from stacks.domain.errors import InputError
from stacks.domain.findings import closest
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.plan import Plan


def find_fleet(plan: Plan, name: str | None) -> FleetPlan:
    """The only one where no name is given. Raises InputError."""
    fleets = {fleet.name: fleet for fleet in plan.fleets}
    if name is None and len(fleets) == 1:
        return next(iter(fleets.values()))
    if name in fleets:
        return fleets[name]
    if not fleets:
        raise InputError(f"{plan.name} has no fleets", "name a file with fleets, or give --usd-per-hour")
    near = closest(name or "", tuple(fleets))
    hint = f"did you mean {near}?" if near else f"give --fleet with one of {', '.join(fleets)}"
    raise InputError(f"no fleet {name}" if name else f"{plan.name} has {len(fleets)} fleets", hint)


def fleet_price(plan: Plan, fleet: FleetPlan, replicas: int, basis: Basis | None = None) -> Price:
    """Of the whole nodes that so many replicas take, with their volumes. Not of the load balancer or the network."""
    nodes = math.ceil(replicas / fleet.replicas_per_node)
    group = NodeGroup(
        name=fleet.name,
        instance_type=fleet.instance_type,
        nodes=nodes,
        root_volume_gib=fleet.settings.root_volume_gib,
        capacity_name=fleet.capacity.name,
        capacity_kind=fleet.capacity.kind,
    )
    inventory = Inventory(
        region=plan.region,
        node_groups=(group,),
        nat_gateways=0,
        public_addresses=0,
        dashboards=0,
        log_groups=0,
        buckets=0,
    )
    cost = cost_of(inventory, plan.lifetime_days, load_catalog(), basis)
    what = f"{nodes} x {fleet.instance_type}, {fleet.capacity.kind}, for {replicas} replicas of fleet {fleet.name}"
    if cost.usd_per_hour is None:
        return Price(None, f"no price is known of {', '.join(cost.unknown_prices)}")
    return Price(cost.usd_per_hour, f"nodes and their volumes: {what}")
