"""UltraServers, types that no API names yet, chips that are only announced, and clusters of several cells."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.catalog import UltraServer
from stacks.domain.environment import Job
from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule

SHAPES_SOURCE = "aws-neuron-sdk@81ce03ae about-neuron/arch/neuron-hardware/trn3-arch.rst lines 13-83"
UNLISTED_SOURCE = (
    "no Trn3 type in botocore 1.44.8, moto 5.2.5, Karpenter or eksctl (2026-11-30); " + SHAPES_SOURCE
)
GROUPS_SOURCE = "aws-neuron-sdk@81ce03ae src/k8/k8s-ultraserver-init-script.sh lines 78-150"
CELLS_SOURCE = "this kit: one file makes the stacks of one cell"


def unlisted_type_is_said(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        instance_type = facts.instance_type(name)
        if instance_type is None or instance_type.api_known or instance_type.chip is None:
            continue
        yield Problem(
            ("clusters", name, "instance_type"),
            repr(cluster.instance_type),
            message=f"no API names this type: a node is taken to be {instance_type.chips} x {instance_type.chip.name}, "
            f"{instance_type.vcpus} vCPUs, {instance_type.memory_gib:g} GiB and {len(instance_type.network_cards)} network "
            "cards (assumed: cards like those of the listed UltraServer's members); not checked: regions, zones, purchase "
            "options, quota, price, whether AMI and image know it",
            fix="look at one node before you rely on it; deploy asks EC2 and refuses a name that it does not know",
        )


def shape_is_of_an_unlisted_type(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.shape is not None and facts.catalog.get(cluster.instance_type) is not None:
            yield Problem(
                ("clusters", name, "shape"),
                repr(cluster.shape),
                "null",
                f"the catalog knows what {cluster.instance_type} is made of",
                "remove the shape, or write the name that you were given",
            )


def seen_name_is_said(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        seen = facts.catalog.unverified.get(cluster.instance_type)
        if cluster.shape is not None and seen is not None:
            yield Problem(
                ("clusters", name, "instance_type"),
                repr(cluster.instance_type),
                message=f"the name was seen in {seen.source} ({seen.as_of}); {seen.why}",
            )


def block_is_of_whole_ultraservers(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        members = _members(facts, name)
        if members and facts.capacity_kind(name) == "capacity-block" and cluster.nodes % members:
            yield Problem(
                ("clusters", name, "nodes"),
                str(cluster.nodes),
                f"a multiple of {members}",
                f"a block of UltraServers is bought by the UltraServer, which has {members} nodes",
                f"write {_up(cluster.nodes, members)}",
            )


def nodes_make_whole_ultraservers(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        members = _members(facts, name)
        if members and facts.capacity_kind(name) != "capacity-block" and cluster.nodes % members:
            yield Problem(
                ("clusters", name, "nodes"),
                str(cluster.nodes),
                f"a multiple of {members}",
                f"no whole number of UltraServers of {members} nodes: {_groups(facts, name, cluster.nodes)}",
                f"write {_up(cluster.nodes, members)}",
            )


def job_takes_whole_ultraservers(facts: Facts) -> Iterator[Problem]:
    for name, job, ultraserver in _member_jobs(facts):
        size, nodes, members = _group_size(job, ultraserver), _nodes(facts, job), _count(ultraserver)
        if 1 < size < members and nodes % size == 0 and nodes % members:
            yield Problem(
                ("jobs", name, "nodes") if job.nodes else ("jobs", name, "cluster"),
                str(nodes),
                f"a multiple of {members}",
                f"groups of {size} nodes start only if all nodes of each are there; the scheduler may give nodes of several "
                f"UltraServers of {members}, and then the job refuses to start",
                f"write {_up(nodes, members)}, or ultraserver_nodes: 1 if no node needs another's NeuronLink",
            )


def group_size_is_legal(facts: Facts) -> Iterator[Problem]:
    for name, job, ultraserver in _member_jobs(facts):
        sizes = _legal_sizes(ultraserver)
        if job.ultraserver_nodes is not None and job.ultraserver_nodes not in sizes:
            yield Problem(
                ("jobs", name, "ultraserver_nodes"),
                str(job.ultraserver_nodes),
                one_of(str(size) for size in sizes),
                f"a {ultraserver.name} works as groups of so many nodes; of no other size has anybody written",
                f"write one of them, or null for all {ultraserver.members}",
            )


def job_fills_its_groups(facts: Facts) -> Iterator[Problem]:
    for name, job, ultraserver in _member_jobs(facts):
        size, nodes = _group_size(job, ultraserver), _nodes(facts, job)
        if size in _legal_sizes(ultraserver) and nodes % size:
            fitting = [str(other) for other in _legal_sizes(ultraserver) if nodes % other == 0]
            yield Problem(
                ("jobs", name, "nodes") if job.nodes else ("jobs", name, "cluster"),
                f"{nodes} nodes",
                f"a multiple of {size}",
                f"its nodes work in groups of {size} of a {ultraserver.name}, and every node refuses to start in a group that "
                "is not whole",
                f"write nodes: {_up(nodes, size)}"
                + (f", or ultraserver_nodes: {one_of(fitting)}" if fitting else ""),
            )


def only_members_have_groups(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        known = facts.instance_type(job.cluster) is not None
        if job.ultraserver_nodes is not None and known and _members(facts, job.cluster) is None:
            yield Problem(
                ("jobs", name, "ultraserver_nodes"),
                str(job.ultraserver_nodes),
                "null",
                f"the nodes of {job.cluster} are members of no UltraServer",
                "remove it, or run the job on a cluster whose instance type is a member of one",
            )


def unknown_mode_is_said(facts: Facts) -> Iterator[Problem]:
    for name, job, ultraserver in _member_jobs(facts):
        size = _group_size(job, ultraserver)
        if size in _legal_sizes(ultraserver) and size not in ultraserver.modes:
            yield Problem(
                ("jobs", name, "cluster"),
                repr(job.cluster),
                message=f"not checked on the nodes: no source says which NEURON_RT_ULTRASERVER_MODE groups of {size} nodes of a "
                f"{ultraserver.name} need; their order and that each group is whole are checked",
                fix="where your contact at AWS names a mode, set it by a script of the job's source",
            )


def projection_is_said(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if facts.is_projected(name):
            chip = facts.catalog.chips[cluster.shape or ""]
            yield Problem(
                ("clusters", name, "shape"),
                repr(cluster.shape),
                message=f"a projection only: {chip.note} ({chip.source}, {chip.as_of}); synth, render, lock and deploy refuse",
                fix="take the cluster out before you deploy",
            )


def projected_jobs_are_said(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        if facts.is_projected(job.cluster):
            yield Problem(
                ("jobs", name, "cluster"),
                repr(job.cluster),
                message="not planned: nobody has published how many cores a node of this cluster has, nor an image for it",
            )


def assumption_has_its_shape(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.assumed_chips_per_node is not None and not facts.is_projected(name):
            announced = [chip.name for chip in facts.catalog.chips.values() if chip.announced_only]
            yield Problem(
                ("clusters", name, "assumed_chips_per_node"),
                str(cluster.assumed_chips_per_node),
                f"only with shape {one_of(announced)}",
                "how many chips a node has is known here",
                "remove it",
            )


def cells_are_said(facts: Facts) -> Iterator[Problem]:
    for name, cluster in facts.environment.clusters.items():
        if cluster.cells > 1:
            yield Problem(
                ("clusters", name, "cells"),
                str(cluster.cells),
                message="check and plan take all cells together; synth and deploy refuse: one file makes the stacks of one cell",
                fix="to deploy, write one file a cell, each with its own name",
            )


def _members(facts: Facts, cluster: str) -> int | None:
    ultraserver = facts.ultraserver(cluster)
    return ultraserver.members if ultraserver else None


def _member_jobs(facts: Facts) -> Iterator[tuple[str, Job, UltraServer]]:
    for name, job in facts.environment.jobs.items():
        ultraserver = facts.ultraserver(job.cluster)
        if ultraserver is not None and ultraserver.members is not None:
            yield name, job, ultraserver


def _count(ultraserver: UltraServer) -> int:
    return ultraserver.members or 1


def _group_size(job: Job, ultraserver: UltraServer) -> int:
    return job.ultraserver_nodes or _count(ultraserver)


def _legal_sizes(ultraserver: UltraServer) -> list[int]:
    return sorted({*ultraserver.partition_sizes, _count(ultraserver)})


def _nodes(facts: Facts, job: Job) -> int:
    return job.nodes or facts.environment.clusters[job.cluster].nodes


def _up(nodes: int, members: int) -> int:
    return -(-nodes // members) * members


def _groups(facts: Facts, cluster: str, nodes: int) -> str:
    ultraserver = facts.ultraserver(cluster)
    sizes = [size for size in (ultraserver.partition_sizes if ultraserver else ()) if nodes % size == 0]
    if not sizes:
        return "whether smaller groups work is stated nowhere"
    return f"it can only work in groups of {one_of(str(size) for size in sizes)}, and may be spread over more of them"


RULES = (
    Rule("NK601", Severity.WARNING, "a type that no API names", "what nobody published cannot be checked", UNLISTED_SOURCE, unlisted_type_is_said),
    Rule("NK602", Severity.ERROR, "shape of a listed type", "two answers to what a node is", "`neuronkit catalog`", shape_is_of_an_unlisted_type),
    Rule("NK603", Severity.INFO, "a name seen in sources", "a name in a driver is no type that is for sale", UNLISTED_SOURCE, seen_name_is_said),
    Rule("NK604", Severity.ERROR, "block of no whole UltraServers", "EC2 sells them whole", "botocore 1.44.8 DescribeCapacityBlockOfferings, UltraserverCount; ParallelCluster PR 6928", block_is_of_whole_ultraservers),
    Rule("NK605", Severity.WARNING, "no whole UltraServers", "need 4 but saw 3: the job aborts", GROUPS_SOURCE, nodes_make_whole_ultraservers),
    Rule("NK606", Severity.WARNING, "job over parts of UltraServers", "a scheduler does not know which nodes make a group", GROUPS_SOURCE, job_takes_whole_ultraservers),
    Rule("NK608", Severity.WARNING, "a chip that is only announced", "nothing can be built from an announcement", "secondary press, 2025-12; nothing in SDK, botocore or driver", projection_is_said),
    Rule("NK609", Severity.WARNING, "job on a projection", "no core count, no image", "secondary press, 2025-12", projected_jobs_are_said),
    Rule("NK610", Severity.ERROR, "an assumption where facts are known", "two answers to what a node is", "`neuronkit catalog`", assumption_has_its_shape),
    Rule("NK611", Severity.WARNING, "several cells", "a cell is deployed alone", CELLS_SOURCE, cells_are_said),
    Rule("NK612", Severity.ERROR, "groups of an impossible size", "the driver knows modes for some sizes only", GROUPS_SOURCE, group_size_is_legal),
    Rule("NK613", Severity.ERROR, "job of no whole groups", "need 4 but saw 3: the job aborts", GROUPS_SOURCE, job_fills_its_groups),
    Rule("NK614", Severity.ERROR, "groups where there is no UltraServer", "nothing joins these nodes but the network", GROUPS_SOURCE, only_members_have_groups),
    Rule("NK615", Severity.INFO, "UltraServer mode unknown", "what nobody published cannot be checked", SHAPES_SOURCE, unknown_mode_is_said),
)  # fmt: skip
