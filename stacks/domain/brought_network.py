"""A network that the user brought: used, and never changed or deleted."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.environment import Environment


@dataclass(frozen=True, slots=True)
class BroughtNetwork:
    vpc_id: str
    subnet_id: str
    security_group_id: str
    load_balancer_subnet_ids: tuple[str, ...] = ()
    """In two zones, where there are fleets."""


def brought_network(environment: Environment) -> BroughtNetwork | None:
    """None where the kit makes one. Expects an environment in which no rule found an error."""
    network = environment.network
    if network.vpc == "new":
        return None
    assert network.subnet_id is not None, "a rule asks for it"
    assert network.security_group_id is not None, "a rule asks for it"
    return BroughtNetwork(
        network.vpc, network.subnet_id, network.security_group_id, network.load_balancer_subnet_ids
    )
