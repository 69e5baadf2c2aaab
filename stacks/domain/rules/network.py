"""Addresses and interfaces."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from stacks.domain.findings import Severity, one_of
from stacks.domain.network_interfaces import ip_addresses_per_node
from stacks.domain.rules.node_blocks import node_blocks, nodes_maximum_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.sizing import interfaces_of, node_subnet_cidr

USABLE_RANGES = tuple(
    ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
"""RFC 1918 and RFC 6598. Others are public, or mean something else to every host (loopback, link-local, multicast)."""
DOCKER_RANGE = ipaddress.IPv4Network("172.17.0.0/16")
NETWORK_SOURCE = "`neuronkit schema`"
CIDR_SOURCE = "Amazon VPC user guide, vpc-cidr-blocks"
EFA_SOURCE = "EC2 user guide, efa-acc-inst-types; AWS Batch user guide, efa"
ADDRESSES_RESERVED_PER_SUBNET = 5
TASK_INTERFACES_PER_NODE = 1
"""Of AWS Batch."""
LOAD_BALANCER_ADDRESSES = 8
"""Free ones in each of its subnets (Elastic Load Balancing user guide, application-load-balancers: subnets)."""
SLURM_CLUSTER_ADDRESSES = 3
"""The controller's, the login node's, and one of the shared file system, which may take more (a count of the kit's own parts)."""


def brought_network_is_whole(facts: Facts) -> Iterator[Problem]:
    network = facts.environment.network
    if network.vpc == "new":
        return
    for key, example in (("subnet_id", "subnet-…"), ("security_group_id", "sg-…")):
        if getattr(network, key) is None:
            yield Problem(
                ("network", key),
                "null",
                f"{example} in {network.vpc}",
                f"a VPC of yours comes with your {key}",
                f"add {key}: {example}, or write vpc: new",
            )


def own_network_names_no_ids(facts: Facts) -> Iterator[Problem]:
    network = facts.environment.network
    if network.vpc != "new":
        return
    for key in ("subnet_id", "security_group_id"):
        given = getattr(network, key)
        if given is not None:
            yield Problem(
                ("network", key),
                repr(given),
                "null",
                "with vpc: new the kit makes its own: this one would not be used",
                "write vpc: vpc-… as well, or remove it",
            )


def brought_network_has_its_range(facts: Facts) -> Iterator[Problem]:
    network = facts.environment.network
    if network.vpc != "new" and "cidr" in network.model_fields_set:
        yield Problem(
            ("network", "cidr"),
            repr(network.cidr),
            "no key cidr",
            f"{network.vpc} has its range already: this one would not be used",
            "remove it",
            at_key=True,
        )


def cidr_is_valid(facts: Facts) -> Iterator[Problem]:
    if facts.environment.network.vpc != "new":
        return
    cidr = facts.environment.network.cidr
    try:
        network = ipaddress.IPv4Network(cidr)
    except ValueError as error:
        yield Problem(("network", "cidr"), repr(cidr), "an IPv4 range such as 10.42.0.0/16", str(error))
        return
    if not 16 <= network.prefixlen <= 24:
        yield Problem(
            ("network", "cidr"),
            repr(cidr),
            "a range of /16 to /24",
            "no size that a VPC with two subnets can have",
        )
    elif str(network) != cidr:
        yield Problem(("network", "cidr"), repr(cidr), f"{network}, in this form", fix=f"write {network}")
    elif not any(network.subnet_of(usable) for usable in USABLE_RANGES):
        yield Problem(
            ("network", "cidr"),
            repr(cidr),
            f"a range in {one_of(str(usable) for usable in USABLE_RANGES)}",
            "not a private range",
            "write 10.42.0.0/16",
        )


def range_is_not_dockers(facts: Facts) -> Iterator[Problem]:
    cidr = facts.environment.network.cidr
    makes_network = facts.environment.network.vpc == "new"
    if makes_network and not any(cidr_is_valid(facts)) and ipaddress.IPv4Network(cidr).overlaps(DOCKER_RANGE):
        yield Problem(
            ("network", "cidr"),
            repr(cidr),
            f"a range without {DOCKER_RANGE}",
            "Docker's own bridge on every node has these addresses, and some AWS services use them",
            "write 10.42.0.0/16",
        )


def addresses_suffice(facts: Facts) -> Iterator[Problem]:
    cidr = facts.environment.network.cidr
    if facts.environment.network.vpc != "new" or any(cidr_is_valid(facts)):
        return
    free = ipaddress.IPv4Network(node_subnet_cidr(cidr)).num_addresses - ADDRESSES_RESERVED_PER_SUBNET
    needed = 0
    for name, cluster in facts.environment.clusters.items():
        instance_type = facts.instance_type(name)
        if instance_type is not None:
            per_node = ip_addresses_per_node(interfaces_of(cluster, instance_type))
            on_batch = cluster.scheduler == "batch"
            needed += cluster.nodes * (per_node + (TASK_INTERFACES_PER_NODE if on_batch else 0))
            needed += 0 if on_batch else SLURM_CLUSTER_ADDRESSES
    needed += _addresses_of_fleets(facts)
    if needed > free:
        yield Problem(
            ("network", "cidr"),
            repr(cidr),
            message=f"the nodes need {needed} addresses, the node subnet {node_subnet_cidr(cidr)} has {free}",
            fix="take a larger range, such as 10.42.0.0/16, or fewer nodes",
        )


def _addresses_of_fleets(facts: Facts) -> int:
    """Tasks are in the network of their node, or with Managed Instances have an interface of their own; each load balancer
    wants room to grow, each file system a mount target."""
    fleets = facts.environment.fleets
    of_nodes = sum(
        (nodes_maximum_of(facts, block) or 0)
        * (2 if block.kind == "fleet" and fleets[block.name].runs_on == "managed-instances" else 1)
        for block in node_blocks(facts.environment)
        if block.kind != "cluster"
    )
    return of_nodes + len(fleets) * (LOAD_BALANCER_ADDRESSES + 1)


def several_nodes_have_efa(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        instance_type = facts.instance_type(name)
        if cluster.nodes < 2 or instance_type is None:
            continue
        if instance_type.efa_interfaces_max == 0:
            yield Problem(
                ("clusters", name, "instance_type"),
                repr(cluster.instance_type),
                message=f"the type has no EFA: {cluster.nodes} nodes talk over plain TCP",
                fix="expect it to be slow, or take a type with EFA",
            )
        elif cluster.efa == "off":
            yield Problem(
                ("clusters", name, "efa"),
                "off",
                "auto",
                f"{cluster.nodes} nodes talk over plain TCP, though the type has {instance_type.efa_interfaces_max} EFA interfaces",
                "write auto",
            )


def several_nodes_are_near(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        spread = cluster.placement_group == "no" and facts.capacity_kind(name) != "capacity-block"
        if spread and cluster.nodes > 1:
            yield Problem(
                ("clusters", name, "placement_group"),
                "no",
                "auto or yes",
                "EFA on Batch wants all instances in one cluster placement group",
                "write auto",
            )


RULES = (
    Rule("NK220", Severity.ERROR, "not a usable address range", "the VPC could not be made", CIDR_SOURCE, cidr_is_valid),
    Rule("NK221", Severity.ERROR, "too few addresses", "every `interface`, every `efa` and every task takes one", EFA_SOURCE, addresses_suffice),
    Rule("NK222", Severity.WARNING, "several nodes without EFA", "the job runs, silently slow", "SkyPilot sky/clouds/aws.py:82", several_nodes_have_efa),
    Rule("NK223", Severity.WARNING, "several nodes without a placement group", "latency, and EFA's rule", EFA_SOURCE, several_nodes_are_near),
    Rule("NK224", Severity.WARNING, "the range of Docker's bridge", "traffic to these addresses never leaves the node", CIDR_SOURCE, range_is_not_dockers),
    Rule("NK225", Severity.ERROR, "brought network without subnet or group", "a template could not name them", NETWORK_SOURCE, brought_network_is_whole),
    Rule("NK226", Severity.ERROR, "ids beside vpc: new", "a field not carried is found out after the deploy", NETWORK_SOURCE, own_network_names_no_ids),
    Rule("NK227", Severity.ERROR, "a range for a brought network", "a field not carried is found out after the deploy", NETWORK_SOURCE, brought_network_has_its_range),
)  # fmt: skip
