"""A subnet and a security group that the user brings: room, zone, way out, and what EFA and Batch's tasks need to talk."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.live import GroupRule, LiveSecurityGroup, LiveSubnet, known
from stacks.domain.network_interfaces import ip_addresses_per_node
from stacks.domain.plan import ClusterPlan
from stacks.domain.rules.network import SLURM_CLUSTER_ADDRESSES, TASK_INTERFACES_PER_NODE
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

NETWORK_SOURCE = "EC2 API, DescribeSubnets, DescribeRouteTables and DescribeSecurityGroups"
EFA_SOURCE = (
    "EC2 user guide, efa-start-security: all traffic from and to the group itself; aws-ofi-nccl issue 663"
)
BATCH_SOURCE = "AWS Batch user guide, mnp-ce: tasks get interfaces of their own, without a public address"
DEFAULT_GROUP_SOURCE = (
    BATCH_SOURCE + "; without groups in the compute environment they are in the VPC's default group"
)
ALL_PROTOCOLS = "-1"
TCP = ("tcp", "6")
HTTPS_PORT = 443
OPEN_RANGES = ("0.0.0.0/0", "::/0")
SUBNET, GROUP = ("network", "subnet_id"), ("network", "security_group_id")


def subnet_and_group_exist(facts: Facts) -> Iterator[Problem]:
    network, live = facts.environment.network, facts.live
    where = f"in {facts.environment.region} for this account"
    if network.subnet_id and live.of(live.subnets, network.subnet_id) is None:
        yield Problem(SUBNET, repr(network.subnet_id), message=f"there is no such subnet {where}")
    if network.security_group_id and live.of(live.security_groups, network.security_group_id) is None:
        yield Problem(
            GROUP, repr(network.security_group_id), message=f"there is no such security group {where}"
        )


def they_belong_together(facts: Facts) -> Iterator[Problem]:
    network, subnet, group = facts.environment.network, _subnet(facts), _group(facts)
    if subnet and subnet.zone_id and subnet.zone_id != network.zone_id:
        yield Problem(
            SUBNET,
            repr(subnet.id),
            message=f"it is in zone {subnet.zone_id}, the file says {network.zone_id}",
            fix=f"write zone_id: {subnet.zone_id}, or take another subnet",
        )
    for path, found in ((SUBNET, subnet), (GROUP, group)):
        if found and found.vpc_id != network.vpc:
            message = f"it belongs to {found.vpc_id}, the file says {network.vpc}"
            yield Problem(path, repr(found.id), message=message)


def subnet_has_room(facts: Facts) -> Iterator[Problem]:
    subnet = _subnet(facts)
    if subnet is None or facts.plan is None:
        return
    needed = sum(
        cluster.nodes * addresses_per_node(cluster) + (SLURM_CLUSTER_ADDRESSES if cluster.slurm else 0)
        for cluster in facts.plan.clusters
    )
    if needed > subnet.free_addresses:
        yield Problem(
            SUBNET,
            repr(subnet.id),
            message=f"the nodes need {needed:,} addresses, it has {subnet.free_addresses:,} free: short by {needed - subnet.free_addresses:,}",
            fix="take a larger subnet, or fewer nodes",
        )


def addresses_per_node(cluster: ClusterPlan) -> int:
    """The instance's own, and under AWS Batch one for the task that it starts."""
    of_tasks = TASK_INTERFACES_PER_NODE if cluster.scheduler == "batch" else 0
    return ip_addresses_per_node(cluster.network_interfaces) + of_tasks


def subnet_has_a_way_out(facts: Facts) -> Iterator[Problem]:
    subnet = _subnet(facts)
    if subnet is None:
        return
    target = subnet.default_route_target
    if target.startswith("igw-"):
        yield Problem(
            SUBNET,
            repr(subnet.id),
            message=f"its way out is {target}, and tasks of AWS Batch get no public address: they reach nothing",
            fix="take a private subnet whose 0.0.0.0/0 goes to a NAT gateway",
        )
    elif not target:
        yield Problem(
            SUBNET,
            repr(subnet.id),
            message="it has no route for 0.0.0.0/0: nodes reach AWS only through interface endpoints in the VPC",
            fix="look that there are ecs, ecs-agent, ecs-telemetry, ecr.api, ecr.dkr, s3 and logs, or route to a NAT gateway",
        )


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
    if group is None:
        return
    if not any(
        rule.is_egress and rule.peer != group.id and _covers(rule, HTTPS_PORT) for rule in group.rules
    ):
        yield Problem(
            GROUP,
            repr(group.id),
            message="it lets nothing out to TCP port 443: nodes reach neither ECS, nor ECR, nor S3",
            fix="allow egress to port 443",
        )


def default_group_lets_tasks_meet(facts: Facts) -> Iterator[Problem]:
    """Rendezvous is TCP between the tasks' own interfaces."""
    group = known(facts.live.of(facts.live.security_groups, facts.environment.network.vpc), None)
    if group is None or not _has_multi_node_job(facts):
        return
    comes_in = any(
        not r.is_egress and r.peer in (group.id, *OPEN_RANGES) and _covers_all_ports(r) for r in group.rules
    )
    goes_out = any(
        r.is_egress and r.peer in (group.id, *OPEN_RANGES) and _covers_all_ports(r) for r in group.rules
    )
    if not (comes_in and goes_out):
        yield Problem(
            ("network", "vpc"),
            repr(group.vpc_id),
            message=f"its default security group {group.id} does not allow traffic from and to itself: the tasks of a "
            "multi-node job are in it, and never meet",
            fix=f"allow all traffic between members of {group.id}",
        )


def _has_multi_node_job(facts: Facts) -> bool:
    return facts.plan is not None and any(job.nodes > 1 for job in facts.plan.jobs)


def _is_self(rule: GroupRule, group: LiveSecurityGroup) -> bool:
    return rule.protocol == ALL_PROTOCOLS and rule.peer == group.id


def _covers(rule: GroupRule, port: int) -> bool:
    if rule.protocol == ALL_PROTOCOLS:
        return True
    in_range = (rule.from_port or 0) <= port <= (65535 if rule.to_port is None else rule.to_port)
    return rule.protocol in TCP and in_range


def _covers_all_ports(rule: GroupRule) -> bool:
    return _covers(rule, 0) and _covers(rule, 65535)


def _subnet(facts: Facts) -> LiveSubnet | None:
    id_ = facts.environment.network.subnet_id
    return known(facts.live.of(facts.live.subnets, id_), None) if id_ else None


def _group(facts: Facts) -> LiveSecurityGroup | None:
    id_ = facts.environment.network.security_group_id
    return known(facts.live.of(facts.live.security_groups, id_), None) if id_ else None


def _subnet_answers(facts: Facts) -> Iterator[object]:
    id_ = facts.environment.network.subnet_id
    if id_:
        yield facts.live.of(facts.live.subnets, id_)


def _group_answers(facts: Facts) -> Iterator[object]:
    id_ = facts.environment.network.security_group_id
    if id_:
        yield facts.live.of(facts.live.security_groups, id_)


def _both_answers(facts: Facts) -> Iterator[object]:
    yield from _subnet_answers(facts)
    yield from _group_answers(facts)


def _default_group_answers(facts: Facts) -> Iterator[object]:
    vpc = facts.environment.network.vpc
    if vpc != "new" and _has_multi_node_job(facts):
        yield facts.live.of(facts.live.security_groups, vpc)


THE_SUBNET = Need("the subnet that the file names", _subnet_answers)
THE_GROUP = Need("the security group that the file names", _group_answers)
BOTH = Need("the subnet and the security group that the file names", _both_answers)
DEFAULT_GROUP = Need("the VPC's default security group", _default_group_answers)

RULES = (
    Rule("NK370", Severity.ERROR, "no such subnet or group", "nodes never start", NETWORK_SOURCE, subnet_and_group_exist, BOTH),
    Rule("NK371", Severity.ERROR, "subnet, group, zone and VPC do not match", "RunInstances refuses the mix", NETWORK_SOURCE, they_belong_together, BOTH),
    Rule("NK372", Severity.ERROR, "too few free addresses", "every `interface`, every `efa` and every task takes one", NETWORK_SOURCE, subnet_has_room, THE_SUBNET),
    Rule("NK373", Severity.WARNING, "no way out", "nodes cannot register or pull images", BATCH_SOURCE, subnet_has_a_way_out, THE_SUBNET),
    Rule("NK374", Severity.ERROR, "the group does not let EFA pass", "collectives hang though egress is open", EFA_SOURCE, group_lets_efa_pass, THE_GROUP),
    Rule("NK375", Severity.ERROR, "the group does not let nodes reach AWS", "instances run and never join", BATCH_SOURCE, group_lets_nodes_reach_aws, THE_GROUP),
    Rule("NK376", Severity.ERROR, "the default group keeps tasks apart", "rendezvous hangs", DEFAULT_GROUP_SOURCE, default_group_lets_tasks_meet, DEFAULT_GROUP),
)  # fmt: skip
