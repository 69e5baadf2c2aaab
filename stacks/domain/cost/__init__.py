"""What a plan costs, as a pure function of the plan, the prices and a date. Unknown stays unknown, never 0."""

from stacks.domain.cost.estimate import ASSUMABLE, Basis, cost_of, estimate, price_keys
from stacks.domain.cost.fleet_inventory import FleetPart, NodeGroup
from stacks.domain.cost.inventory import Inventory, SlurmPart, inventory_of
from stacks.domain.cost.lines import HOURS_PER_DAY, HOURS_PER_MONTH, STALE_AFTER_DAYS, Cost, CostLine, Paid
from stacks.domain.cost.shared_nodes import Sharing, counted_once

__all__ = [
    "ASSUMABLE",
    "HOURS_PER_DAY",
    "HOURS_PER_MONTH",
    "STALE_AFTER_DAYS",
    "Basis",
    "Cost",
    "CostLine",
    "FleetPart",
    "Inventory",
    "NodeGroup",
    "Paid",
    "Sharing",
    "SlurmPart",
    "cost_of",
    "counted_once",
    "estimate",
    "inventory_of",
    "price_keys",
]
