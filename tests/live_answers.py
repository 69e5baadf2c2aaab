"""Live facts for tests: an account in which everything that the small file asks for is in order, and changes to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from stacks.domain.catalog import load_catalog
from stacks.domain.live import (
    AclEntry,
    BlockHealth,
    GroupRule,
    LambdaConcurrency,
    LiveAcl,
    LiveAmi,
    LiveEndpoint,
    LiveFacts,
    LiveInstanceType,
    LiveSecurityGroup,
    LiveSubnet,
    LiveZone,
    QuotaLimit,
    VpcDns,
)
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.quotas import needed_vcpus
from stacks.domain.reservations import Reservation
from stacks.domain.rules.live_functions import controllers
from stacks.domain.rules.live_types import unlisted_clusters

AS_OF = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RESERVATION_ID = "cr-0123456789abcdef0"
BLOCK = {"capacity.hourly": {"kind": "capacity-block", "id": RESERVATION_ID}}
RESERVED = {"capacity.hourly": {"kind": "reservation", "id": RESERVATION_ID}}
VPC, SUBNET, GROUP, DEFAULT_GROUP = (
    "vpc-0123456789abcdef0",
    "subnet-0123456789abcdef0",
    "sg-0123456789abcdef0",
    "sg-00000000000000def",
)
ROUTE_TABLE = "rtb-0123456789abcdef0"
BALANCER_SUBNETS = ["subnet-0123456789abcdef1", "subnet-0123456789abcdef2"]
BROUGHT = {"network": {"vpc": VPC, "subnet_id": SUBNET, "security_group_id": GROUP, "zone_id": "use2-az3"}}
BROUGHT_FOR_FLEETS = {"network": {**BROUGHT["network"], "load_balancer_subnet_ids": BALANCER_SUBNETS}}


def reservation(**more: Any) -> Reservation:
    """Four trn1.32xlarge in use2-az3, as the small file's cluster wants them."""
    values: dict[str, Any] = {
        "id": RESERVATION_ID,
        "kind": "default",
        "instance_type": "trn1.32xlarge",
        "zone_id": "use2-az3",
        "total": 4,
        "available": 4,
        "state": "active",
        "tenancy": "default",
        "platform": "Linux/UNIX",
    }
    return Reservation(**{**values, **more})


def block(**more: Any) -> Reservation:
    values: dict[str, Any] = {
        "kind": "capacity-block",
        "start": AS_OF - timedelta(days=1),
        "end": AS_OF + timedelta(days=1),
        "block_id": "cb-0123456789abcdef0",
    }
    return reservation(**{**values, **more})


def subnet(**more: Any) -> LiveSubnet:
    values: dict[str, Any] = {
        "id": SUBNET,
        "zone_id": "use2-az3",
        "vpc_id": VPC,
        "cidr": "10.0.0.0/24",
        "free_addresses": 250,
        "own_addresses": 0,
        "gives_public_addresses": False,
        "route_table_id": ROUTE_TABLE,
        "default_route_target": "nat-0123456789abcdef0",
    }
    return LiveSubnet(**{**values, **more})


def balancer_subnet(number: int, **more: Any) -> LiveSubnet:
    """The first one is in the nodes' zone, the second in another."""
    place = {"id": BALANCER_SUBNETS[number], "zone_id": ("use2-az3", "use2-az1")[number]}
    return subnet(**{**place, "cidr": f"10.0.{number + 1}.0/24", **more})


def entry(
    cidr: str = "0.0.0.0/0",
    *,
    egress: bool,
    allows: bool = True,
    protocol: str = "-1",
    ports: tuple[int, int] | None = None,
) -> AclEntry:
    first, last = ports or (None, None)
    return AclEntry(egress, allows, protocol, first, last, cidr)


def acl(*entries: AclEntry) -> LiveAcl:
    """EC2's own one for a VPC, unless others are given; the last ones are in every ACL."""
    own = (entry(egress=True), entry(egress=False))
    rest = (entry(egress=True, allows=False), entry(egress=False, allows=False))
    return LiveAcl("acl-0123456789abcdef0", (*(entries or own), *rest))


def gateway(service: str = "s3", *route_table_ids: str) -> LiveEndpoint:
    """Of the nodes' subnet, unless others are given."""
    return LiveEndpoint(service, True, frozenset(route_table_ids or (ROUTE_TABLE,)), False)


def endpoints(*services: str) -> tuple[LiveEndpoint, ...]:
    return tuple(LiveEndpoint(service, False, frozenset(), True) for service in services)


def rule(peer: str, *, egress: bool, protocol: str = "-1", ports: tuple[int, int] | None = None) -> GroupRule:
    first, last = ports or (None, None)
    return GroupRule(egress, protocol, first, last, peer)


SELF_RULES = (rule(GROUP, egress=False), rule(GROUP, egress=True))
OPEN_EGRESS = rule("0.0.0.0/0", egress=True)


def group(*rules: GroupRule, id_: str = GROUP, vpc: str = VPC) -> LiveSecurityGroup:
    return LiveSecurityGroup(id_, "nodes", vpc, rules or (*SELF_RULES, OPEN_EGRESS))


def default_group(*rules: GroupRule) -> LiveSecurityGroup:
    """With EC2's own rules for a default group, unless others are given."""
    own = (rule(DEFAULT_GROUP, egress=False), OPEN_EGRESS)
    return LiveSecurityGroup(DEFAULT_GROUP, "default", VPC, rules or own)


def in_order(plan: Plan, **changes: Any) -> LiveFacts:
    """Every answer that the plan needs is there and good; `changes` replace fields."""
    of_fleets = [f.capacity.id for f in plan.fleets]
    ids = [id_ for c in plan.clusters for id_ in (c.capacity.id, *c.capacity.ids) if id_]
    ids += [id_ for id_ in of_fleets if id_]
    kinds = {*(c.capacity.kind for c in plan.clusters), *(f.capacity.kind for f in plan.fleets)}
    is_block = "capacity-block" in kinds
    nodes = (*plan.clusters, *plan.fleets)
    facts = LiveFacts(
        as_of=AS_OF,
        zones=(LiveZone("use2-az1", "available"), LiveZone("use2-az3", "available")),
        offered_zone_ids={n.instance_type: frozenset({plan.zone_id}) for n in nodes},
        instance_types={c.instance_type: as_assumed(c) for c in unlisted_clusters(plan)},
        quota_limits={code: QuotaLimit(100_000, False) for code in needed_vcpus(plan, load_catalog())},
        running=(),
        unused_reservations=(),
        amis={n.ami.reference: ami(root_device_name=n.ami.root_device_name) for n in nodes if n.ami},
        reservations={id_: block() if is_block else reservation() for id_ in ids},
        blocks={id_: BlockHealth("ok", 0) for id_ in ids},
        stacks=(),
        bootstrap_version=30,
        service_roles={"AWSServiceRoleForBatch": True, "AWSServiceRoleForPCS": True},
        lambda_concurrency=LambdaConcurrency(1_000, 1_000),
        controllers={c.stack: False for c in controllers(plan)},
        subnets={SUBNET: subnet(), **{s.id: s for s in (balancer_subnet(0), balancer_subnet(1))}},
        security_groups={GROUP: group(), VPC: default_group()},
        acls={id_: acl() for id_ in (SUBNET, *BALANCER_SUBNETS)},
        endpoints=(),
        vpc_dns=VpcDns(support=True, hostnames=True),
    )
    return replace(facts, **changes)


def as_assumed(cluster: ClusterPlan, **more: Any) -> LiveInstanceType:
    """EC2's description of a type that only the file names, as its shape gives it: one network card a chip."""
    values: dict[str, Any] = {
        "name": cluster.instance_type,
        "vcpus": cluster.vcpus_per_node,
        "memory_gib": cluster.memory_gib_per_node,
        "network_cards": cluster.chips_per_node,
        "efa_interfaces": cluster.chips_per_node,
    }
    return LiveInstanceType(**{**values, **more})


def ami(**more: Any) -> LiveAmi:
    values: dict[str, Any] = {
        "id": "ami-0123456789abcdef0",
        "state": "available",
        "architecture": "x86_64",
        "root_device_name": "/dev/xvda",
        "root_snapshot_gib": 30,
    }
    return LiveAmi(**{**values, **more})
