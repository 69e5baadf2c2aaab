"""What a plan may say and nothing can build yet: chips that are only announced, clusters of several cells."""

from __future__ import annotations

import ipaddress

from stacks.domain.errors import InputError
from stacks.domain.plan import Plan
from stacks.domain.sizing import PUBLIC_BALANCER_PREFIX_MAX

BALANCER_ZONES = 2
RESERVED_BY_ECS = ("aws", "ecs", "fargate")


def refuse_projected(plan: Plan) -> None:
    """For whatever writes files or asks AWS about nodes. Raises InputError."""
    if plan.projected:
        names = ", ".join(cluster.name for cluster in plan.projected)
        chip = plan.projected[0].chip
        raise InputError(
            f"{chip.name} is only announced ({names}): there is no type, no image and no driver for it",
            "`neuronkit check` and `neuronkit plan` work; take the cluster out for everything else",
        )


def refuse_unbuildable(plan: Plan) -> None:
    """For whatever makes stacks. Raises InputError."""
    refuse_projected(plan)
    if plan.fleets:
        _refuse_balancers_without_place(plan)
        _refuse_names_of_ecs(plan)
    several = [cluster for cluster in plan.clusters if cluster.cells > 1]
    if several:
        first = several[0]
        raise InputError(
            f"cluster {first.name} has {first.cells} cells: one file makes the stacks of one cell",
            f"write one file a cell, each with its own `name` and `cells: 1`, and {first.nodes_per_cell} nodes in it; "
            "`neuronkit check` and `neuronkit plan` work on the whole",
        )


def _refuse_names_of_ecs(plan: Plan) -> None:
    """CloudFormation names a capacity provider after its stack, and its stack is named after the environment."""
    prefix = next((each for each in RESERVED_BY_ECS if plan.name.startswith(each)), None)
    if prefix is not None:
        raise InputError(
            f"ECS refuses capacity providers whose names begin with {prefix}, as those of {plan.name} would",
            "give an environment with fleets another name",
        )


def _refuse_balancers_without_place(plan: Plan) -> None:
    """An Application Load Balancer takes subnets in two zones."""
    brought, cidr = plan.brought_network, plan.vpc_cidr
    if brought is not None:
        if len(set(brought.load_balancer_subnet_ids)) < BALANCER_ZONES:
            raise InputError(
                f"{brought.vpc_id} is yours, and a fleet's load balancer needs subnets in two of its zones",
                "add network.load_balancer_subnet_ids: [subnet-…, subnet-…]; public ones for a public listener",
            )
        return
    if plan.second_zone_id is None:
        raise InputError(
            f"the catalog knows no second zone in {plan.region}: a fleet's load balancer needs two",
            "bring a network with load_balancer_subnet_ids in two zones",
        )
    public = any(fleet.settings.listener.public for fleet in plan.fleets)
    if public and cidr and ipaddress.IPv4Network(cidr).prefixlen > PUBLIC_BALANCER_PREFIX_MAX:
        raise InputError(
            f"network.cidr {cidr} has no room for public load balancers in two zones",
            f"take a range of /{PUBLIC_BALANCER_PREFIX_MAX} or larger, such as 10.42.0.0/16",
        )
