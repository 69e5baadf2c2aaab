"""A VPC's subnets that the user brings: there, in the right place, with room."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from stacks.domain.environment import Environment, Path
from stacks.domain.findings import Severity
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.live import LiveSubnet, known
from stacks.domain.network_interfaces import ip_addresses_per_node
from stacks.domain.plan import ClusterPlan
from stacks.domain.rules.network import (
    LOAD_BALANCER_ADDRESSES,
    SLURM_CLUSTER_ADDRESSES,
    TASK_INTERFACES_PER_NODE,
)
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

NETWORK_SOURCE = "EC2 API, DescribeSubnets, DescribeRouteTables and DescribeSecurityGroups"
ROOM_SOURCE = (
    "EC2 API, DescribeSubnets; Elastic Load Balancing user guide, application-load-balancers: subnets"
)
SUBNET, GROUP = ("network", "subnet_id"), ("network", "security_group_id")
BALANCER_SUBNETS = ("network", "load_balancer_subnet_ids")
BALANCER_PREFIX_MAX = 27


def brought_subnets(environment: Environment) -> Iterator[tuple[Path, str]]:
    """The nodes' first, then those of the fleets' load balancers, each where the file names it."""
    network = environment.network
    if network.vpc != "new" and network.subnet_id is not None:
        yield SUBNET, network.subnet_id
    yield from balancer_subnets(environment)


def balancer_subnets(environment: Environment) -> Iterator[tuple[Path, str]]:
    network = environment.network
    if network.vpc != "new" and environment.fleets:
        for index, id_ in enumerate(network.load_balancer_subnet_ids):
            yield (*BALANCER_SUBNETS, index), id_


def subnet_ids(environment: Environment) -> tuple[str, ...]:
    """Each once."""
    return tuple(dict.fromkeys(id_ for _, id_ in brought_subnets(environment)))


def subnets_and_group_exist(facts: Facts) -> Iterator[Problem]:
    network, live = facts.environment.network, facts.live
    where = f"in {facts.environment.region} for this account"
    for path, id_ in brought_subnets(facts.environment):
        if live.of(live.subnets, id_) is None:
            yield Problem(path, repr(id_), message=f"there is no such subnet {where}")
    if network.security_group_id and live.of(live.security_groups, network.security_group_id) is None:
        yield Problem(
            GROUP, repr(network.security_group_id), message=f"there is no such security group {where}"
        )


def they_belong_together(facts: Facts) -> Iterator[Problem]:
    network, live = facts.environment.network, facts.live
    subnet = node_subnet(facts)
    if subnet and subnet.zone_id and subnet.zone_id != network.zone_id:
        yield Problem(
            SUBNET,
            repr(subnet.id),
            message=f"it is in zone {subnet.zone_id}, the file says {network.zone_id}",
            fix=f"write zone_id: {subnet.zone_id}, or take another subnet",
        )
    group = known(live.of(live.security_groups, network.security_group_id or ""), None)
    places = [(path, found.id, found.vpc_id) for path, found in found_subnets(facts)]
    for path, id_, vpc_id in [*places, *([(GROUP, group.id, group.vpc_id)] if group else [])]:
        if vpc_id != network.vpc:
            yield Problem(path, repr(id_), message=f"it belongs to {vpc_id}, the file says {network.vpc}")


def subnets_have_room(facts: Facts) -> Iterator[Problem]:
    """What runs already has its addresses; a load balancer that is there has taken its own."""
    balancers = {id_ for _, id_ in balancer_subnets(facts.environment)}
    done: set[str] = set()
    for path, subnet in found_subnets(facts):
        if subnet.id in done:
            continue
        done.add(subnet.id)
        of_nodes = _addresses_of_nodes(facts) if path == SUBNET else 0
        of_balancers = _new_fleets(facts) * LOAD_BALANCER_ADDRESSES if subnet.id in balancers else 0
        missing = of_nodes + of_balancers - subnet.free_addresses - (subnet.own_addresses if of_nodes else 0)
        if missing > 0:
            yield Problem(
                path,
                repr(subnet.id),
                message=f"{_needs(of_nodes, of_balancers)}, it has {subnet.free_addresses:,} free: short by {missing:,}",
                fix="take a larger subnet, or fewer nodes" if of_nodes else "take a larger subnet",
            )
        elif subnet.id in balancers and _is_small(subnet):
            yield Problem(
                path,
                f"{subnet.id}, {subnet.cidr}",
                f"a range of /{BALANCER_PREFIX_MAX} or larger",
                "too small for a load balancer, whatever is free",
                "take a larger subnet",
            )


def _needs(of_nodes: int, of_balancers: int) -> str:
    words = (
        *((f"the nodes need {of_nodes:,} addresses",) if of_nodes else ()),
        *((f"load balancers want {of_balancers:,} free ones",) if of_balancers else ()),
    )
    return " and ".join(words)


def _is_small(subnet: LiveSubnet) -> bool:
    return bool(subnet.cidr) and ipaddress.ip_network(subnet.cidr).prefixlen > BALANCER_PREFIX_MAX


def _addresses_of_nodes(facts: Facts) -> int:
    clusters, fleets = (facts.plan.clusters, facts.plan.fleets) if facts.plan else ((), ())
    return sum(_of_cluster(facts, cluster) for cluster in clusters) + sum(
        _of_fleet(facts, fleet) for fleet in fleets
    )


def _of_cluster(facts: Facts, cluster: ClusterPlan) -> int:
    is_new = facts.plan is not None and not _is_there(facts, facts.plan.stacks.of_cluster(cluster.name))
    shared = SLURM_CLUSTER_ADDRESSES if cluster.slurm and is_new else 0
    return cluster.nodes * addresses_per_node(cluster) + shared


def _of_fleet(facts: Facts, fleet: FleetPlan) -> int:
    """With Managed Instances a replica has an interface of its own, beside its node's."""
    is_new = facts.plan is not None and not _is_there(facts, facts.plan.stacks.of_fleet(fleet.name))
    of_tasks = fleet.nodes_maximum if fleet.settings.runs_on == "managed-instances" else 0
    of_fallback = fleet.fallback.nodes_maximum if fleet.fallback else 0
    mount_target = 1 if fleet.settings.artifacts != "none" and is_new else 0
    return fleet.nodes_maximum + of_tasks + of_fallback + mount_target


def addresses_per_node(cluster: ClusterPlan) -> int:
    """The instance's own, and under AWS Batch one for the task that it starts."""
    of_tasks = TASK_INTERFACES_PER_NODE if cluster.scheduler == "batch" else 0
    return ip_addresses_per_node(cluster.network_interfaces) + of_tasks


def _new_fleets(facts: Facts) -> int:
    plan = facts.plan
    return sum(not _is_there(facts, plan.stacks.of_fleet(fleet.name)) for fleet in plan.fleets) if plan else 0


def _is_there(facts: Facts, stack: str) -> bool:
    return any(found.name == stack for found in known(facts.live.stacks, ()))


def found_subnets(facts: Facts) -> Iterator[tuple[Path, LiveSubnet]]:
    for path, id_ in brought_subnets(facts.environment):
        found = known(facts.live.of(facts.live.subnets, id_), None)
        if found is not None:
            yield path, found


def node_subnet(facts: Facts) -> LiveSubnet | None:
    return next((found for path, found in found_subnets(facts) if path == SUBNET), None)


def subnet_answers(facts: Facts) -> Iterator[object]:
    for id_ in subnet_ids(facts.environment):
        yield facts.live.of(facts.live.subnets, id_)


def group_answers(facts: Facts) -> Iterator[object]:
    id_ = facts.environment.network.security_group_id
    if id_:
        yield facts.live.of(facts.live.security_groups, id_)


def both_answers(facts: Facts) -> Iterator[object]:
    yield from subnet_answers(facts)
    yield from group_answers(facts)


THE_SUBNETS = Need("the subnets that the file names", subnet_answers)
BOTH = Need("the subnets and the security group that the file names", both_answers)

RULES = (
    Rule("NK370", Severity.ERROR, "no such subnet or group", "nodes never start, a load balancer is not made", NETWORK_SOURCE, subnets_and_group_exist, BOTH),
    Rule("NK371", Severity.ERROR, "subnets, group, zone and VPC do not match", "RunInstances and CreateLoadBalancer refuse the mix", NETWORK_SOURCE, they_belong_together, BOTH),
    Rule("NK372", Severity.ERROR, "too few free addresses", "every `interface`, every `efa` and every task takes one; a load balancer is not made with fewer than 8", ROOM_SOURCE, subnets_have_room, THE_SUBNETS),
)  # fmt: skip
