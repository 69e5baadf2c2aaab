"""How nodes are bought: names, ids, kinds, and what each kind forbids."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.environment import Cluster
from stacks.domain.findings import Severity, closest, one_of
from stacks.domain.rules.instances import UNLISTED
from stacks.domain.rules.node_blocks import capacity_kind_of, node_blocks, nodes_maximum_of, type_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.rules.slurm import group_count

BLOCK_INSTANCES_MAX = 64
BLOCKS_INSTANCES_MAX = 256
BLOCK_SOURCE = "EC2 user guide, capacity-blocks-using; botocore 1.44.8 DescribeCapacityBlockOfferings"
BATCH_SOURCE = "AWS Batch user guide, mnp-ce"
_HOW_TO_BUY = {
    "capacity-block": "`neuronkit capacity search` and `capacity buy` buy it and write its id here",
    "reservation": "make it, then write its id (cr-…) here",
}


def capacity_exists(facts: Facts) -> Iterator[Problem]:
    names = list(facts.environment.capacity)
    for block in node_blocks(facts.environment):
        if block.capacity not in names:
            near = closest(block.capacity, names)
            yield Problem(
                (*block.path, "capacity"),
                repr(block.capacity),
                one_of(names),
                "no such entry under capacity",
                f"did you mean {near!r}?" if near else "",
            )


def capacity_is_used(facts: Facts) -> Iterator[Problem]:
    used = {block.capacity for block in node_blocks(facts.environment)}
    for name in facts.environment.capacity:
        if name not in used:
            yield Problem(
                ("capacity", name), message="no cluster and no fleet uses it", fix="remove it", at_key=True
            )


def capacity_is_bought(facts: Facts) -> Iterator[Problem]:
    for name, capacity in facts.environment.capacity.items():
        if capacity.kind in ("reservation", "capacity-block") and capacity.id is None and not capacity.ids:
            yield Problem(
                ("capacity", name, "id"),
                "null",
                message=f"the {capacity.kind} is not bought yet: plan and synth work, deploy refuses",
                fix=f"{_HOW_TO_BUY[capacity.kind]}; the local cloud supplies one",
            )


def id_belongs_to_kind(facts: Facts) -> Iterator[Problem]:
    for name, capacity in facts.environment.capacity.items():
        if capacity.kind in ("on-demand", "spot") and capacity.id is not None:
            yield Problem(
                ("capacity", name, "id"),
                capacity.id,
                "null",
                f"{capacity.kind} capacity has no id: the reservation would stay unused, and be paid for",
                "write kind: reservation or kind: capacity-block, or remove the id",
            )


def batch_without_spot(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.scheduler == "batch" and facts.capacity_kind(name) == "spot":
            yield Problem(
                ("clusters", name, "capacity"),
                repr(cluster.capacity),
                "capacity of kind on-demand, reservation or capacity-block",
                "AWS Batch runs no multi-node jobs on spot capacity",
                "change the kind",
            )


def placement_group_without_block(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.placement_group == "yes" and facts.capacity_kind(name) == "capacity-block":
            yield Problem(
                ("clusters", name, "placement_group"),
                "yes",
                "auto or no",
                "reserved instances outside the group would not start; a block is placed as a whole already",
                "write auto",
            )


def block_is_not_too_large(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if _is_on_one_block(facts, name) and _nodes(cluster) > BLOCK_INSTANCES_MAX:
            yield Problem(
                ("clusters", name, "nodes"),
                f"{_nodes(cluster)}{' in all cells' if cluster.cells > 1 else ''}",
                f"1 to {BLOCK_INSTANCES_MAX} nodes from one block",
                "more than a capacity block can hold",
                "use several clusters, each with its block",
            )
    for name, capacity in facts.environment.capacity.items():
        users = [block for block in node_blocks(facts.environment) if block.capacity == name]
        sizes = {block.words: nodes_maximum_of(facts, block) or 0 for block in users}
        is_said = any(b.kind == "cluster" and sizes[b.words] > BLOCK_INSTANCES_MAX for b in users)
        clusters = [c for c, cluster in facts.environment.clusters.items() if cluster.capacity == name]
        is_one_block = (
            capacity.kind == "capacity-block"
            and not capacity.ids
            and all(_is_on_one_block(facts, cluster) for cluster in clusters)
        )
        total = sum(sizes.values())
        if is_one_block and total > BLOCK_INSTANCES_MAX and not is_said:
            yield Problem(
                ("capacity", name),
                f"{total} nodes in {', '.join(sizes)}",
                f"1 to {BLOCK_INSTANCES_MAX} nodes from one block",
                "more than a capacity block can hold",
                "give each its block",
                at_key=True,
            )


def _is_on_one_block(facts: Facts, name: str) -> bool:
    """Not on one for each UltraServer, bought or not."""
    cluster = facts.environment.clusters[name]
    capacity = facts.environment.capacity.get(cluster.capacity)
    if capacity is None or capacity.kind != "capacity-block" or capacity.ids:
        return False
    return cluster.scheduler != "slurm" or group_count(facts, name) == 1


def _nodes(cluster: Cluster) -> int:
    return cluster.nodes * cluster.cells


def blocks_together_are_not_too_large(facts: Facts) -> Iterator[Problem]:
    in_blocks = [b for b in node_blocks(facts.environment) if capacity_kind_of(facts, b) == "capacity-block"]
    total = sum(nodes_maximum_of(facts, block) or 0 for block in in_blocks)
    if total > BLOCKS_INSTANCES_MAX:
        yield Problem(
            ("clusters" if facts.environment.clusters else "fleets",),
            f"{total} nodes in capacity blocks",
            f"{BLOCKS_INSTANCES_MAX} over all blocks",
            "more than EC2 sells to one account",
            at_key=True,
        )


def option_is_offered(facts: Facts) -> Iterator[Problem]:
    for block in node_blocks(facts.environment):
        instance_type, kind = type_of(facts, block), capacity_kind_of(facts, block)
        if instance_type is None or kind not in ("on-demand", "spot", "capacity-block"):
            continue
        if instance_type.api_known and kind not in instance_type.purchase_options:
            yield Problem(
                (*block.path, "capacity"),
                kind,
                one_of(sorted(instance_type.purchase_options)),
                f"EC2 did not list {block.type_name} as sold this way",
                "ask EC2 (DescribeInstanceTypes, SupportedUsageClasses) before you count on it",
            )


def block_on_batch_is_unverified(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        kind = facts.capacity_kind(name)
        if cluster.scheduler == "batch" and kind in ("capacity-block", "reservation"):
            yield Problem(
                ("clusters", name, "capacity"),
                repr(cluster.capacity),
                message=f"a {kind} on AWS Batch is unverified: Batch's guide calls launch-template market options "
                "ignored, AWS's own samples set them",
                fix="start one node and look at its reservation before you rely on it",
            )


RULES = (
    Rule("NK210", Severity.ERROR, "unknown capacity", "nodes must be bought somehow", "`neuronkit schema`", capacity_exists),
    Rule("NK211", Severity.WARNING, "unused capacity", "a block is paid for, used or not", BLOCK_SOURCE, capacity_is_used),
    Rule("NK212", Severity.WARNING, "capacity not bought yet", "nodes cannot start", BLOCK_SOURCE, capacity_is_bought),
    Rule("NK213", Severity.ERROR, "an id on capacity without one", "a field not carried means idle, paid capacity", "eksctl issues 8320, 8155", id_belongs_to_kind),
    Rule("NK214", Severity.ERROR, "spot on Batch", "multi-node jobs are refused there", BATCH_SOURCE, batch_without_spot),
    Rule("NK215", Severity.ERROR, "placement group with a capacity block", "11 of 16 reserved instances started, the rest never", "eksctl issue 7949; " + BLOCK_SOURCE, placement_group_without_block, can_be_forced=True),
    Rule("NK216", Severity.ERROR, "block too large", "EC2 sells at most 64 instances a block", BLOCK_SOURCE, block_is_not_too_large),
    Rule("NK217", Severity.ERROR, "blocks too large together", "EC2 sells at most 256 instances over all blocks", BLOCK_SOURCE, blocks_together_are_not_too_large),
    Rule("NK218", Severity.WARNING, "purchase option not listed", "existence, availability and price are three facts", "EC2 DescribeInstanceTypes, captured about 2026-10-01 (moto 5.2.5)", option_is_offered, UNLISTED),
    Rule("NK219", Severity.WARNING, "reserved capacity on Batch is unverified", "sources disagree", "AWS Batch user guide, launch-templates; awslabs/awsome-distributed-ai 1.architectures/3.aws-batch", block_on_batch_is_unverified),
)  # fmt: skip
