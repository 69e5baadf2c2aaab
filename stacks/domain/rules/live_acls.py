"""Network ACLs of subnets that the user brings: they keep no state, so that answers need an entry of their own."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from stacks.domain.environment import Path
from stacks.domain.findings import Severity
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.live import AclEntry, LiveAcl, LiveSubnet, known
from stacks.domain.rules.live_network import SUBNET, found_subnets, node_subnet, subnet_ids
from stacks.domain.rules.ports import Ports, in_words, without
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

SOURCE = (
    "Amazon VPC user guide, nacl-rules (the first entry that fits decides; ephemeral ports); Elastic Load Balancing user guide, "
    "elb-vpc-network-acls"
)
ANYWHERE = "0.0.0.0/0"
ALL_PROTOCOLS, TCP = "-1", "6"
HTTPS: Ports = (443, 443)
ANSWERS_TO_LINUX: Ports = (32768, 60999)
ANSWERS: Ports = (1024, 65535)
"""To a load balancer, and to clients of any system."""


@dataclass(frozen=True, slots=True)
class Flow:
    what: str
    is_egress: bool
    ports: Ports
    cidr: str


def acls_let_traffic_pass(facts: Facts) -> Iterator[Problem]:
    done: set[str] = set()
    for path, subnet in found_subnets(facts):
        acl = known(facts.live.of(facts.live.acls, subnet.id), None)
        if acl is None or subnet.id in done:
            continue
        done.add(subnet.id)
        stopped = [words for flow in _flows(facts, path, subnet) if (words := _stopped(acl, flow))]
        if stopped:
            yield Problem(
                path,
                repr(subnet.id),
                message=f"its network ACL {acl.id} stops {'; '.join(dict.fromkeys(stopped))}",
                fix="allow it there: an ACL keeps no state, so answers need an entry, too",
            )


def _flows(facts: Facts, path: Path, subnet: LiveSubnet) -> Iterator[Flow]:
    if path == SUBNET:
        if subnet.default_route_target:
            yield Flow("calls of nodes", True, HTTPS, ANYWHERE)
            yield Flow("answers to nodes", False, ANSWERS_TO_LINUX, ANYWHERE)
        for other in _others(facts, subnet):
            yield from _requests(facts, to=other, inward=True)
        return
    nodes = node_subnet(facts)
    if nodes is not None and nodes.id != subnet.id:
        yield from _requests(facts, to=nodes, inward=False)
    for fleet in _fleets(facts):
        if fleet.settings.listener.public:
            port = 443 if fleet.settings.listener.certificate else 80
            yield Flow("clients' requests", False, (port, port), ANYWHERE)
            yield Flow("answers to clients", True, ANSWERS, ANYWHERE)


def _requests(facts: Facts, *, to: LiveSubnet, inward: bool) -> Iterator[Flow]:
    """Between a load balancer and the replicas' ports; `to` is the other side's subnet."""
    for fleet in _fleets(facts):
        ports = (fleet.slices[0].port, fleet.slices[-1].port)
        yield Flow("load balancers' requests", not inward, ports, to.cidr)
        yield Flow("replicas' answers", inward, ANSWERS, to.cidr)


def _stopped(acl: LiveAcl, flow: Flow) -> str:
    """The flow and its ports that no entry lets pass; "" where all do. Entries for a part of its addresses are passed over."""
    undecided: tuple[Ports, ...] = (flow.ports,)
    allowed: list[Ports] = []
    for entry in acl.entries:
        if entry.is_egress is flow.is_egress and _fits(entry, flow.cidr):
            if entry.allows:
                allowed += _within(undecided, _ports(entry))
            undecided = without(undecided, [_ports(entry)])
    closed = without((flow.ports,), allowed)
    direction = "to" if flow.is_egress else "from"
    return f"{flow.what} (TCP {in_words(closed)} {direction} {flow.cidr})" if closed else ""


def _within(ports: tuple[Ports, ...], range_: Ports) -> list[Ports]:
    parts = ((max(low, range_[0]), min(high, range_[1])) for low, high in ports)
    return [part for part in parts if part[0] <= part[1]]


def _fits(entry: AclEntry, cidr: str) -> bool:
    if entry.protocol not in (ALL_PROTOCOLS, TCP):
        return False
    return ipaddress.IPv4Network(cidr).subnet_of(ipaddress.IPv4Network(entry.cidr, strict=False))


def _ports(entry: AclEntry) -> Ports:
    if entry.protocol == ALL_PROTOCOLS:
        return 0, 65535
    return entry.from_port or 0, 65535 if entry.to_port is None else entry.to_port


def _others(facts: Facts, subnet: LiveSubnet) -> Iterator[LiveSubnet]:
    """Inside one subnet no ACL is asked."""
    return (found for path, found in found_subnets(facts) if path != SUBNET and found.id != subnet.id)


def _fleets(facts: Facts) -> tuple[FleetPlan, ...]:
    return facts.plan.fleets if facts.plan else ()


def _answers(facts: Facts) -> Iterator[object]:
    for id_ in subnet_ids(facts.environment):
        yield facts.live.of(facts.live.acls, id_)


ACLS = Need("the network ACLs of the subnets that the file names", _answers)

RULES = (
    Rule("NK381", Severity.WARNING, "a network ACL stops traffic", "nodes never register, or a fleet never answers, though every group allows it", SOURCE, acls_let_traffic_pass, ACLS),
)  # fmt: skip
