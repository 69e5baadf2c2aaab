"""Rows of the table in test_live_rules.py: a VPC, subnets and security group that the user brings."""

from __future__ import annotations

from typing import Any

from stacks.domain.live import AclEntry, CouldNotAsk, GroupRule, LiveStack, VpcDns
from tests.live_answers import (
    BALANCER_SUBNETS,
    BROUGHT,
    BROUGHT_FOR_FLEETS,
    DEFAULT_GROUP,
    GROUP,
    OPEN_EGRESS,
    SELF_RULES,
    SUBNET,
    VPC,
    acl,
    balancer_subnet,
    default_group,
    endpoints,
    entry,
    gateway,
    group,
    rule,
    subnet,
)
from tests.unit.domain import fleet_cases, slurm_cases
from tests.unit.domain.fleet_cases import ALONE, CERTIFICATE, GPU, JWT

Case = tuple[dict[str, Any], dict[str, Any]]
TYPE, NODES = "clusters.train.instance_type", "clusters.train.nodes"
HERE, ROUTE_OF = "network.subnet_id", "network.load_balancer_subnet_ids"
FIRST, SECOND = f"{ROUTE_OF}[0]", f"{ROUTE_OF}[1]"
ITS_GROUP = "network.security_group_id"

FLEET = {**BROUGHT_FOR_FLEETS, **ALONE, **fleet_cases.fleet()}
PUBLIC = {**FLEET, **fleet_cases.listener(public=True, certificate=CERTIFICATE, jwt=JWT)}
PRIVATE_WITH_TOKENS = {**FLEET, **fleet_cases.listener(certificate=CERTIFICATE, jwt=JWT)}
TWO_FLEETS = {**FLEET, "fleets.more": fleet_cases.fleet()["fleets.chat"]}
OUR_REPOSITORY = "111122223333.dkr.ecr.us-east-2.amazonaws.com/mine:1"
PRIVATE_IMAGE = {**FLEET, **fleet_cases.custom(image=OUR_REPOSITORY)}
ONE_NODE = {**BROUGHT, TYPE: "trn1.2xlarge", NODES: 1, "jobs": {}}
SLURM = {**ONE_NODE, **slurm_cases.slurm(ami="ami-0123456789abcdef0")}
SLURM_ON_LUSTRE = {**ONE_NODE, **slurm_cases.lustre(1200)}
SLURM_ON_FOUR = {**BROUGHT, **slurm_cases.slurm()}
PLAIN_TCP = {**BROUGHT, "clusters.train.efa": "off"}
PLAIN_SMALL = {**BROUGHT, TYPE: "trn1.2xlarge", NODES: 2, "jobs.smoke.nodes": 2}

OF_ECS = ("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "logs")
OF_PCS = ("pcs", "ssm", "ssmmessages")
SLURM_PORTS = [(6817, 6818), (6819, 6819), (60001, 63000)]


def at(subnets: dict[int, Any] | None = None, **of_nodes: Any) -> dict[str, Any]:
    """`of_nodes` changes the nodes' subnet; `subnets` gives changes to a load balancer's, by its number."""
    changed = {BALANCER_SUBNETS[n]: balancer_subnet(n, **(subnets or {}).get(n, {})) for n in (0, 1)}
    return {"subnets": {SUBNET: subnet(**of_nodes), **changed}}


def both(**changes: Any) -> dict[str, Any]:
    return at({0: changes, 1: changes})


def there(*names: str) -> dict[str, Any]:
    return {"stacks": tuple(LiveStack(name, "CREATE_COMPLETE", "pilot") for name in names)}


def acls(*of_nodes: AclEntry, **of_balancers: tuple[AclEntry, ...]) -> dict[str, Any]:
    """By the number of a load balancer's subnet."""
    others = {id_: acl(*of_balancers.get(str(n), ())) for n, id_ in enumerate(BALANCER_SUBNETS)}
    return {"acls": {SUBNET: acl(*of_nodes), **others}}


def groups(brought: Any = None, default: Any = None) -> dict[str, Any]:
    return {"security_groups": {GROUP: brought or group(), VPC: default or default_group()}}


def tcp(*ports: tuple[int, int], peer: str = GROUP) -> tuple[GroupRule, ...]:
    """In and out."""
    return tuple(
        rule(peer, egress=egress, protocol="tcp", ports=each) for each in ports for egress in (False, True)
    )


def closed_but(*rules: GroupRule) -> dict[str, Any]:
    return groups(group(*rules, rule("0.0.0.0/0", egress=True, protocol="tcp", ports=(443, 443))))


WITHOUT_OUT = {"default_route_target": ""}
INWARD, OUTWARD = (entry(egress=False),), (entry(egress=True),)
IGW = {"default_route_target": "igw-0123456789abcdef0"}

LIVE_CASES: dict[str, tuple[list[tuple[Case, str]], list[Case]]] = {
    "NK370": (
        [
            ((BROUGHT, {"subnets": {SUBNET: None}}), HERE),
            ((BROUGHT, {"security_groups": {GROUP: None, VPC: default_group()}}), ITS_GROUP),
            ((FLEET, {"subnets": {**at()["subnets"], BALANCER_SUBNETS[1]: None}}), SECOND),
        ],
        [(BROUGHT, {}), ({}, {"subnets": {}}), (FLEET, {}), (BROUGHT_FOR_FLEETS, {"subnets": {SUBNET: subnet()}})],
    ),
    "NK371": (
        [
            ((BROUGHT, at(zone_id="use2-az1")), HERE),
            ((BROUGHT, at(vpc_id="vpc-00000000000000002")), HERE),
            ((BROUGHT, groups(group(vpc="vpc-00000000000000002"))), ITS_GROUP),
            ((FLEET, at({1: {"vpc_id": "vpc-00000000000000002"}})), SECOND),
        ],
        [(BROUGHT, {}), (FLEET, {})],
    ),
    "NK372": (
        [
            ((BROUGHT, at(free_addresses=7)), HERE),
            (({**BROUGHT, NODES: 126}, {}), HERE),
            ((BROUGHT, at(free_addresses=4, own_addresses=3)), HERE),
            ((SLURM, at(free_addresses=3)), HERE),
            ((FLEET, at(free_addresses=1)), HERE),
            (({**FLEET, **fleet_cases.fleet(fallback={**GPU, "replicas_maximum": 3})}, at(free_addresses=4)), HERE),
            (({**FLEET, **fleet_cases.fleet(runs_on="managed-instances")}, at(free_addresses=2)), HERE),
            ((FLEET, at({1: {"free_addresses": 7}})), SECOND),
            ((TWO_FLEETS, at({0: {"free_addresses": 15}})), FIRST),
            ((FLEET, at({0: {"cidr": "10.0.1.0/28", "free_addresses": 11}})), FIRST),
            (({**FLEET, "network": {**FLEET["network"], "load_balancer_subnet_ids": [SUBNET, BALANCER_SUBNETS[1]]}}, at(free_addresses=9)), HERE),
        ],
        [
            (BROUGHT, at(free_addresses=8)),
            ({**BROUGHT, NODES: 125}, {}),
            (BROUGHT, at(free_addresses=4, own_addresses=4)),
            (SLURM, at(free_addresses=4)),
            (SLURM, {**at(free_addresses=1), **there("pilot-cluster-train")}),
            (FLEET, at(free_addresses=2)),
            (FLEET, {**at({0: {"free_addresses": 7}}, free_addresses=1), **there("pilot-fleet-chat")}),
            (FLEET, both(free_addresses=8)),
            (TWO_FLEETS, {**at({0: {"free_addresses": 8}}), **there("pilot-fleet-more")}),
            (FLEET, both(cidr="10.0.1.0/27", free_addresses=27)),
        ],
    ),
    "NK373": (
        [
            *(((BROUGHT, at(default_route_target=target)), HERE) for target in ("igw-1", "")),
            ((BROUGHT, at(**IGW, gives_public_addresses=True)), HERE),
            ((BROUGHT, {**at(**WITHOUT_OUT), "endpoints": (gateway(), *endpoints(*OF_ECS))}), HERE),
            ((SLURM, at(**WITHOUT_OUT)), HERE),
            ((SLURM, at(**IGW)), HERE),
            *(((SLURM, {**at(**WITHOUT_OUT), "endpoints": (gateway(), *endpoints(*set(OF_PCS) - {one}))}), HERE) for one in OF_PCS),
            ((SLURM, {**at(**WITHOUT_OUT), "endpoints": (gateway("s3", "rtb-00000000000000009"), *endpoints(*OF_PCS))}), HERE),
            (({**SLURM, **slurm_cases.slurm()}, {**at(**WITHOUT_OUT), "endpoints": (gateway(), *endpoints(*OF_PCS))}), HERE),
            ((PRIVATE_IMAGE, {**at(**IGW, gives_public_addresses=True), "endpoints": (gateway(), *endpoints(*OF_ECS[:-1]))}), HERE),
            ((FLEET, {**at(**WITHOUT_OUT), "endpoints": (gateway(), *endpoints(*OF_ECS))}), HERE),
            ((FLEET, {**at(**WITHOUT_OUT), "endpoints": CouldNotAsk("no")}), HERE),
        ],
        [
            (BROUGHT, {}),
            (BROUGHT, at(default_route_target="tgw-1")),
            (SLURM, {**at(**WITHOUT_OUT), "endpoints": (gateway(), *endpoints(*OF_PCS))}),
            (SLURM, at(**IGW, gives_public_addresses=True)),
            (SLURM_ON_LUSTRE, at(**IGW, gives_public_addresses=True)),
            (SLURM, {**at(**WITHOUT_OUT), "endpoints": CouldNotAsk("no")}),
            (PRIVATE_IMAGE, {**at(**WITHOUT_OUT), "endpoints": (gateway(), *endpoints(*OF_ECS))}),
        ],
    ),
    "NK374": (
        [
            ((BROUGHT, groups(group(OPEN_EGRESS))), ITS_GROUP),
            ((BROUGHT, groups(group(SELF_RULES[0], OPEN_EGRESS))), ITS_GROUP),
            ((BROUGHT, groups(group(SELF_RULES[1], OPEN_EGRESS, rule("10.0.0.0/8", egress=False)))), ITS_GROUP),
            ((BROUGHT, groups(group(rule(GROUP, egress=False, protocol="tcp", ports=(0, 65535)), SELF_RULES[1], OPEN_EGRESS))), ITS_GROUP),
            ((BROUGHT, groups(group(rule("sg-00000000000000009", egress=False), SELF_RULES[1], OPEN_EGRESS))), ITS_GROUP),
        ],
        [(BROUGHT, {}), ({**BROUGHT, NODES: 1}, groups(group(OPEN_EGRESS))), (PLAIN_TCP, groups(group(OPEN_EGRESS)))],
    ),
    "NK375": (
        [
            ((BROUGHT, groups(group(*SELF_RULES))), ITS_GROUP),
            ((BROUGHT, groups(group(*SELF_RULES, rule("0.0.0.0/0", egress=True, protocol="tcp", ports=(80, 80))))), ITS_GROUP),
            ((BROUGHT, groups(group(*SELF_RULES, rule("0.0.0.0/0", egress=True, protocol="udp", ports=(0, 65535))))), ITS_GROUP),
            ((SLURM, groups(group(*SELF_RULES))), ITS_GROUP),
        ],
        [
            (BROUGHT, groups(group(*SELF_RULES, rule("0.0.0.0/0", egress=True, protocol="tcp", ports=(443, 443))))),
            (BROUGHT, groups(group(*SELF_RULES, rule("pl-1", egress=True, protocol="6", ports=(1, 1024))))),
            (FLEET, groups(group(*SELF_RULES))),
        ],
    ),
    "NK376": (
        [
            ((BROUGHT, groups(default=default_group(OPEN_EGRESS))), "network.vpc"),
            ((BROUGHT, groups(default=default_group(rule(DEFAULT_GROUP, egress=False)))), "network.vpc"),
            ((BROUGHT, groups(default=default_group(rule(DEFAULT_GROUP, egress=False, protocol="tcp", ports=(22, 22)), OPEN_EGRESS))), "network.vpc"),
            ((BROUGHT, groups(default=default_group(rule("::/0", egress=False), OPEN_EGRESS))), "network.vpc"),
        ],
        [
            (BROUGHT, {}),
            (BROUGHT, groups(default=default_group(rule(DEFAULT_GROUP, egress=False, protocol="tcp", ports=(0, 65535)), rule(DEFAULT_GROUP, egress=True)))),
            (BROUGHT, groups(default=default_group(rule("10.0.0.0/16", egress=False), OPEN_EGRESS))),
            ({**BROUGHT, NODES: 1, "jobs": {}}, groups(default=default_group(OPEN_EGRESS))),
            (SLURM_ON_FOUR, groups(default=default_group(OPEN_EGRESS))),
            (PLAIN_SMALL, groups(default=default_group(OPEN_EGRESS))),
        ],
    ),
    "NK377": (
        [
            ((FLEET, at({0: {"zone_id": "use2-az2"}})), ROUTE_OF),
            ((FLEET, at({1: {"zone_id": "use2-az3"}})), SECOND),
        ],
        [(FLEET, {}), (BROUGHT_FOR_FLEETS, both(zone_id="use2-az2")), (FLEET, {"subnets": {**at()["subnets"], BALANCER_SUBNETS[0]: None}})],
    ),
    "NK378": (
        [
            ((PUBLIC, at({0: IGW})), SECOND),
            ((PUBLIC, at({1: IGW, 0: WITHOUT_OUT})), FIRST),
            ((PRIVATE_WITH_TOKENS, at({0: WITHOUT_OUT})), FIRST),
            ((PRIVATE_WITH_TOKENS, at({1: IGW})), SECOND),
        ],
        [
            (PUBLIC, both(**IGW)),
            (PUBLIC, both(default_route_target="vpce-0123456789abcdef0")),
            (PRIVATE_WITH_TOKENS, {}),
            (PRIVATE_WITH_TOKENS, both(default_route_target="tgw-0123456789abcdef0")),
            (FLEET, both(**WITHOUT_OUT)),
            (FLEET, both(**IGW)),
        ],
    ),
    "NK379": (
        [
            ((SLURM, closed_but()), ITS_GROUP),
            ((SLURM, groups(group(OPEN_EGRESS))), ITS_GROUP),
            ((SLURM, groups(group(SELF_RULES[0], rule("0.0.0.0/0", egress=True, protocol="tcp", ports=(443, 443))))), ITS_GROUP),
            ((SLURM, closed_but(*tcp(*SLURM_PORTS))), ITS_GROUP),
            ((SLURM, closed_but(*tcp(*SLURM_PORTS[:1], *SLURM_PORTS[2:], (2049, 2049)))), ITS_GROUP),
            ((SLURM, closed_but(*tcp(*SLURM_PORTS, (2049, 2049), peer="sg-00000000000000009"))), ITS_GROUP),
            ((SLURM, closed_but(*tcp((1, 65535), peer="10.1.0.0/16"))), ITS_GROUP),
            *(((SLURM, closed_but(*tcp((1, 65535), peer=peer))), ITS_GROUP) for peer in ("::/0", "::ffff:10.0.0.0/104")),
            ((SLURM_ON_LUSTRE, closed_but(*tcp(*SLURM_PORTS, (2049, 2049), (988, 988)))), ITS_GROUP),
            (({**SLURM_ON_FOUR, "clusters.train.efa": "off"}, closed_but(*tcp(*SLURM_PORTS, (2049, 2049)))), ITS_GROUP),
            ((PLAIN_SMALL, groups(group(OPEN_EGRESS))), ITS_GROUP),
        ],
        [
            (SLURM, {}),
            (SLURM, closed_but(*SELF_RULES)),
            (SLURM, closed_but(*tcp(*SLURM_PORTS, (2049, 2049)))),
            (SLURM, closed_but(*tcp((1, 65535), peer="10.0.0.0/16"))),
            (SLURM, closed_but(*tcp((1, 65535), peer="0.0.0.0/0"))),
            (SLURM, closed_but(*tcp((1, 65535), peer="pl-0123456789abcdef0"))),
            (SLURM_ON_LUSTRE, closed_but(*tcp(*SLURM_PORTS, (988, 988), (1018, 1023)))),
            (SLURM_ON_FOUR, {}),
            (SLURM_ON_FOUR, closed_but()),
            ({**SLURM_ON_FOUR, "clusters.train.efa": "off"}, closed_but(*tcp((1, 65535)))),
            (PLAIN_SMALL, groups(group(*tcp((0, 65535)), OPEN_EGRESS))),
            ({**BROUGHT, NODES: 1, "jobs": {}}, groups(group(OPEN_EGRESS))),
            (FLEET, closed_but()),
        ],
    ),
    "NK381": (
        [
            ((BROUGHT, acls(entry(egress=True))), HERE),
            ((BROUGHT, acls(entry(egress=False))), HERE),
            ((BROUGHT, acls(*INWARD, entry("10.0.0.0/8", egress=True))), HERE),
            ((BROUGHT, acls(*INWARD, entry(egress=True, protocol="17"))), HERE),
            ((BROUGHT, acls(*INWARD, entry(egress=True, allows=False, protocol="6", ports=(443, 443)), entry(egress=True))), HERE),
            ((BROUGHT, acls(*OUTWARD, entry(egress=False, protocol="6", ports=(443, 50000)))), HERE),
            ((FLEET, acls(*OUTWARD, entry(egress=False, protocol="6", ports=(32768, 65535)))), HERE),
            ((FLEET, acls(**{"1": (*INWARD, entry(egress=True, protocol="6", ports=(443, 443)))})), SECOND),
            ((FLEET, acls(**{"0": (entry("10.0.0.0/25", egress=False), *OUTWARD)})), FIRST),
            ((PUBLIC, {**both(**IGW), **acls(**{"0": (entry("10.0.0.0/8", egress=False), *OUTWARD)})}), FIRST),
        ],
        [
            (BROUGHT, {}),
            (PUBLIC, both(**IGW)),
            (BROUGHT, acls(entry(egress=True, protocol="6", ports=(443, 443)), entry(egress=False, protocol="6", ports=(1024, 65535)))),
            (BROUGHT, acls(entry("198.51.100.0/24", egress=True, allows=False), *OUTWARD, *INWARD)),
            (BROUGHT, acls(*INWARD, entry(egress=True, protocol="6", ports=(1, 443)), entry(egress=True, allows=False))),
            (BROUGHT, {**at(default_route_target=""), **acls(entry("10.0.0.0/8", egress=True), entry("10.0.0.0/8", egress=False))}),
            (FLEET, acls(**{"0": (entry("10.0.0.0/8", egress=True), entry("10.0.0.0/8", egress=False))})),
            (BROUGHT_FOR_FLEETS, acls(**{"0": (entry(egress=True),)})),
        ],
    ),
    "NK380": (
        [
            ((SLURM, {"vpc_dns": VpcDns(support=True, hostnames=False)}), "network.vpc"),
            ((SLURM, {"vpc_dns": VpcDns(support=False, hostnames=True)}), "network.vpc"),
            ((FLEET, {"vpc_dns": VpcDns(support=True, hostnames=False)}), "network.vpc"),
        ],
        [
            (SLURM, {}),
            (FLEET, {}),
            (SLURM_ON_LUSTRE, {"vpc_dns": VpcDns(support=True, hostnames=False)}),
            (BROUGHT, {"vpc_dns": VpcDns(support=False, hostnames=False)}),
            ({**FLEET, **fleet_cases.fleet(artifacts="none")}, {"vpc_dns": VpcDns(support=False, hostnames=False)}),
        ],
    ),
}  # fmt: skip
