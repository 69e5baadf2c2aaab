"""Security groups that the user brings: what EFA, Slurm, file systems and the tasks of one job need to talk.

Fleets ask nothing of it: their nodes have groups of the kit's own as well, and one group that allows is enough.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from stacks.domain.findings import Severity
from stacks.domain.live import GroupRule, LiveSecurityGroup, known
from stacks.domain.network_interfaces import is_more_than_the_usual
from stacks.domain.plan import ClusterPlan
from stacks.domain.rules.live_network import GROUP, both_answers, group_answers, node_subnet
from stacks.domain.rules.ports import Ports, in_words, without
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

EFA_SOURCE = (
    "EC2 user guide, efa-start-security: all traffic from and to the group itself; aws-ofi-nccl issue 663"
)
BATCH_SOURCE = "AWS Batch user guide, mnp-ce: tasks get interfaces of their own, without a public address"
DEFAULT_GROUP_SOURCE = (
    BATCH_SOURCE + "; without groups in the compute environment they are in the VPC's default group"
)
SLURM_SOURCE = (
    "AWS PCS user guide, working-with_networking_sg; aws-samples/aws-hpc-recipes@009a29a recipes/pcs/isolated_pcs; "
    "Amazon EFS and FSx for Lustre user guides, security groups"
)
ALL_PROTOCOLS = "-1"
TCP = ("tcp", "6")
HTTPS_PORT = 443
OPEN_RANGE = "0.0.0.0/0"
PREFIX_LIST = "pl-"

SLURM_PORTS: tuple[Ports, ...] = ((6817, 6819), (60001, 63000))
"""slurmctld, slurmd, slurmdbd; srun."""
STORAGE_PORTS: dict[str, tuple[Ports, ...]] = {"efs": ((2049, 2049),), "lustre": ((988, 988), (1018, 1023))}
ALL_PORTS: tuple[Ports, ...] = ((1, 65535),)


def group_lets_efa_pass(facts: Facts) -> Iterator[Problem]:
    group = _group(facts)
    if group is None or facts.plan is None:
        return
    if not any(cluster.efa_interfaces_per_node and cluster.nodes > 1 for cluster in facts.plan.clusters):
        return
    missing = [
        word
        for word, is_egress in (("from", False), ("to", True))
        if not any(_is_self(rule, group) and rule.is_egress is is_egress for rule in group.rules)
    ]
    if missing:
        yield Problem(
            GROUP,
            repr(group.id),
            message=f"it does not allow all protocols {' and '.join(missing)} itself: EFA is no IP, 0.0.0.0/0 does not cover it, "
            "and collectives hang",
            fix=f"add rules with protocol -1 and {group.id} itself as source and as destination",
        )


def group_lets_nodes_reach_aws(facts: Facts) -> Iterator[Problem]:
    group = _group(facts)
    if group is None or facts.plan is None or not facts.plan.clusters:
        return
    if not any(
        rule.is_egress and rule.peer != group.id and _covers(rule, HTTPS_PORT) for rule in group.rules
    ):
        yield Problem(
            GROUP,
            repr(group.id),
            message=f"it lets nothing out to TCP port {HTTPS_PORT}: nodes reach no service of AWS",
            fix=f"allow egress to port {HTTPS_PORT}",
        )


def group_keeps_clusters_together(facts: Facts) -> Iterator[Problem]:
    """What lets EFA pass lets everything pass."""
    if any(group_lets_efa_pass(facts)):
        return
    for group, meeting, closed in _closed_meetings(facts):
        if not closed.perhaps:
            yield Problem(
                GROUP,
                repr(group.id),
                message=f"cluster {meeting.cluster}: it does not let TCP {closed.words} itself: {meeting.harm}",
                fix=f"allow all traffic from and to {group.id} itself",
            )


def prefix_lists_of_group(facts: Facts) -> Iterator[str]:
    for group, meeting, closed in _closed_meetings(facts):
        if closed.perhaps:
            yield (
                f"whether {group.id} lets TCP {closed.words} the nodes of cluster {meeting.cluster}: it names prefix lists, "
                "whose ranges were not read"
            )


def default_group_lets_tasks_meet(facts: Facts) -> Iterator[Problem]:
    """Rendezvous is TCP between the tasks' own interfaces."""
    group = known(facts.live.of(facts.live.security_groups, facts.environment.network.vpc), None)
    if group is None or not _has_tasks_in_default_group(facts):
        return
    if _closed(facts, group, ALL_PORTS).words:
        yield Problem(
            ("network", "vpc"),
            repr(group.vpc_id),
            message=f"its default security group {group.id} does not allow traffic from and to itself: the tasks of a "
            "multi-node job are in it, and never meet",
            fix=f"allow all traffic between members of {group.id}",
        )


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a cluster's members have to reach of each other, all of them in the group that the file names."""

    cluster: str
    ports: tuple[Ports, ...]
    harm: str


@dataclass(frozen=True, slots=True)
class Closed:
    words: str
    """ "" where nothing is closed."""
    perhaps: bool
    """A prefix list may hold the nodes' addresses."""


def _closed_meetings(facts: Facts) -> Iterator[tuple[LiveSecurityGroup, Meeting, Closed]]:
    group = _group(facts)
    if group is None or node_subnet(facts) is None:
        return
    for meeting in _meetings(facts):
        closed = _closed(facts, group, meeting.ports)
        if closed.words:
            yield group, meeting, closed


def _meetings(facts: Facts) -> Iterator[Meeting]:
    for cluster in facts.plan.clusters if facts.plan else ():
        if cluster.slurm is not None:
            storage = cluster.slurm.shared_storage
            of_storage = STORAGE_PORTS[storage.kind] if storage else ()
            ports = ALL_PORTS if cluster.nodes > 1 else (*SLURM_PORTS, *of_storage)
            yield Meeting(
                cluster.name,
                ports,
                "controller, login node, compute nodes and file system are all in it, so no node registers or mounts, and PCS ends "
                "and starts nodes for ever",
            )
        elif _has_multi_node_job(facts, cluster) and not is_more_than_the_usual(cluster.network_interfaces):
            yield Meeting(cluster.name, ALL_PORTS, "the tasks of a multi-node job are in it, and never meet")


def _closed(facts: Facts, group: LiveSecurityGroup, ports: tuple[Ports, ...]) -> Closed:
    """Of these TCP ports, those on which the group's members in the nodes' subnet do not reach each other."""
    words, perhaps = [], []
    for word, is_egress in (("from", False), ("to", True)):
        rules = [rule for rule in group.rules if rule.is_egress is is_egress and _takes_tcp(rule)]
        missing = without(ports, (_ports(rule) for rule in rules if _is_peer(facts, rule, group)))
        if missing:
            words.append(f"{in_words(missing)} {word}")
            lists = (_ports(rule) for rule in rules if rule.peer.startswith(PREFIX_LIST))
            perhaps.append(not without(missing, lists))
    return Closed(" and ".join(words), perhaps=bool(perhaps) and all(perhaps))


def _is_peer(facts: Facts, rule: GroupRule, group: LiveSecurityGroup) -> bool:
    """The group itself, or a range that holds all of the nodes' subnet."""
    if rule.peer in (group.id, OPEN_RANGE):
        return True
    subnet = node_subnet(facts)
    is_range = "/" in rule.peer and ":" not in rule.peer
    if subnet is None or not subnet.cidr or not is_range:
        return False
    return ipaddress.IPv4Network(subnet.cidr).subnet_of(ipaddress.IPv4Network(rule.peer, strict=False))


def _has_tasks_in_default_group(facts: Facts) -> bool:
    return any(
        cluster.scheduler == "batch"
        and is_more_than_the_usual(cluster.network_interfaces)
        and _has_multi_node_job(facts, cluster)
        for cluster in (facts.plan.clusters if facts.plan else ())
    )


def _has_multi_node_job(facts: Facts, cluster: ClusterPlan) -> bool:
    return facts.plan is not None and any(
        job.nodes > 1 and job.cluster == cluster.name for job in facts.plan.jobs
    )


def _is_self(rule: GroupRule, group: LiveSecurityGroup) -> bool:
    return rule.protocol == ALL_PROTOCOLS and rule.peer == group.id


def _takes_tcp(rule: GroupRule) -> bool:
    return rule.protocol in (ALL_PROTOCOLS, *TCP)


def _ports(rule: GroupRule) -> Ports:
    """With all protocols a rule has none, and means all."""
    if rule.protocol == ALL_PROTOCOLS:
        return 0, 65535
    return rule.from_port or 0, 65535 if rule.to_port is None else rule.to_port


def _covers(rule: GroupRule, port: int) -> bool:
    first, last = _ports(rule)
    return _takes_tcp(rule) and first <= port <= last


def _group(facts: Facts) -> LiveSecurityGroup | None:
    id_ = facts.environment.network.security_group_id
    return known(facts.live.of(facts.live.security_groups, id_), None) if id_ else None


def _default_group_answers(facts: Facts) -> Iterator[object]:
    vpc = facts.environment.network.vpc
    if vpc != "new" and _has_tasks_in_default_group(facts):
        yield facts.live.of(facts.live.security_groups, vpc)


THE_GROUP = Need("the security group that the file names", group_answers)
GROUP_AND_SUBNET = Need("the security group and the subnet that the file names", both_answers)
DEFAULT_GROUP = Need("the VPC's default security group", _default_group_answers)

RULES = (
    Rule("NK374", Severity.ERROR, "the group does not let EFA pass", "collectives hang though egress is open", EFA_SOURCE, group_lets_efa_pass, THE_GROUP),
    Rule("NK375", Severity.ERROR, "the group does not let nodes reach AWS", "instances run and never join", BATCH_SOURCE, group_lets_nodes_reach_aws, THE_GROUP),
    Rule("NK376", Severity.ERROR, "the default group keeps tasks apart", "rendezvous hangs", DEFAULT_GROUP_SOURCE, default_group_lets_tasks_meet, DEFAULT_GROUP),
    Rule("NK379", Severity.ERROR, "the group keeps a cluster's members apart", "no Slurm node registers or mounts, and each is ended and started again; rendezvous hangs", SLURM_SOURCE, group_keeps_clusters_together, GROUP_AND_SUBNET, unknown=prefix_lists_of_group),
)  # fmt: skip
