"""Where in a network a fleet is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stacks.constructs.routed_subnet import ANYWHERE

PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
"""RFC 1918 and RFC 6598: all that a client inside a VPC, or beyond a VPN or peering, can have."""


@dataclass(frozen=True, slots=True)
class FleetPlace:
    vpc_id: str
    vpc_cidr: str | None
    """None in a network that the user brought."""
    node_subnet_id: str
    balancer_subnet_ids: Sequence[str]
    brought_security_group_id: str | None
    """Of the user's network: nodes are in it too, so that its rules hold for them."""

    def clients(self, *, public: bool) -> tuple[str, ...]:
        """The ranges from which requests may come."""
        if public:
            return (ANYWHERE,)
        return (self.vpc_cidr,) if self.vpc_cidr else PRIVATE_RANGES
