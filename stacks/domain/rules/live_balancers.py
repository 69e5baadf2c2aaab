"""Subnets that the user brings for the load balancers of fleets: the zones in which replicas are seen, and ways out."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.live import LiveSubnet, known
from stacks.domain.rules.live_network import BALANCER_SUBNETS, balancer_subnets
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

ZONES_SOURCE = (
    "botocore 1.44.8 elbv2, TargetHealth.Reason (Target.NotInUse) and CreateLoadBalancer.Subnets: one subnet of a zone, two "
    "zones or more"
)
WAYS_SOURCE = (
    "AWS re:Post, elb-configure-authentication-alb (an internet gateway for internet-facing ones, NAT for internal ones); "
    "Elastic Load Balancing user guide, listener-verify-jwt: the JWKS endpoint is public"
)
LEADS_IN = ("igw-", "vpce-")
"""An internet gateway, or the firewall before it."""


def replicas_zone_is_enabled(facts: Facts) -> Iterator[Problem]:
    """One subnet of a zone, and one of the nodes' zone."""
    first_in: dict[str, str] = {}
    for index, subnet in _found(facts):
        other = first_in.setdefault(subnet.zone_id, subnet.id)
        if other != subnet.id:
            yield Problem(
                (*BALANCER_SUBNETS, index),
                repr(subnet.id),
                message=f"it is in {subnet.zone_id}, as {other} is: a load balancer takes one subnet of a zone",
                fix="take one of another zone",
            )
    zone = facts.environment.network.zone_id
    if first_in and zone not in first_in and all(first_in) and not _is_incomplete(facts):
        yield Problem(
            BALANCER_SUBNETS,
            f"subnets in {' and '.join(sorted(first_in))}",
            f"one of them in {zone}, where the nodes are",
            "load balancers see no target in a zone that they are not in: replicas stay unused (Target.NotInUse), nothing is "
            "served, and nodes are paid",
            f"put a subnet of {zone} in the place of one",
        )


def balancers_have_a_way_out(facts: Facts) -> Iterator[Problem]:
    for index, subnet in _found(facts):
        for name, problem in _wrong_ways(facts, subnet):
            yield Problem(
                (*BALANCER_SUBNETS, index),
                f"{subnet.id}, {_way_of(subnet)}",
                message=f"fleet {name}: {problem}",
                fix="take another subnet, or another route for 0.0.0.0/0",
            )


def _wrong_ways(facts: Facts, subnet: LiveSubnet) -> Iterator[tuple[str, str]]:
    """The first fleet that it does not suit."""
    target = subnet.default_route_target
    for name, fleet in facts.environment.fleets.items():
        if fleet.listener.public and not target.startswith(LEADS_IN):
            yield name, "its load balancer is public, and clients come in through an internet gateway only"
            return
        if fleet.listener.jwt and not fleet.listener.public and (not target or target.startswith("igw-")):
            yield (
                name,
                "its load balancer fetches the token issuer's keys, has no public address, and finds no NAT gateway: every "
                "request is refused",
            )
            return


def _way_of(subnet: LiveSubnet) -> str:
    target = subnet.default_route_target
    return f"whose 0.0.0.0/0 goes to {target}" if target else "without a route for 0.0.0.0/0"


def _found(facts: Facts) -> Iterator[tuple[int, LiveSubnet]]:
    for index, (_, id_) in enumerate(balancer_subnets(facts.environment)):
        found = known(facts.live.of(facts.live.subnets, id_), None)
        if found is not None:
            yield index, found


def _is_incomplete(facts: Facts) -> bool:
    """One that is not there, or was not answered, may be the one in the nodes' zone."""
    return len(list(_found(facts))) < len(list(balancer_subnets(facts.environment)))


def _answers(facts: Facts) -> Iterator[object]:
    for _, id_ in balancer_subnets(facts.environment):
        yield facts.live.of(facts.live.subnets, id_)


SUBNETS = Need("the load balancers' subnets that the file names", _answers)

RULES = (
    Rule("NK377", Severity.ERROR, "load balancers in other zones than the nodes", "a fleet that never serves, with nodes that are paid", ZONES_SOURCE, replicas_zone_is_enabled, SUBNETS),
    Rule("NK378", Severity.ERROR, "load balancer without the route that it needs", "no client reaches it, or no token is accepted", WAYS_SOURCE, balancers_have_a_way_out, SUBNETS, can_be_forced=True),
)  # fmt: skip
