"""Jobs against clusters: nodes, processes and parallelism, in the right unit (chips, physical or logical cores)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from stacks.domain.findings import Severity, closest, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.sizing import logical_core_size

CORES_SOURCE = "aws-neuron-sdk@81ce03ae about-neuron/arch/neuron-features/logical-neuroncore-config.rst"
SCHEMA_SOURCE = "`neuronkit schema`"


def job_names_a_cluster(facts: Facts) -> Iterator[Problem]:
    names = list(facts.environment.clusters)
    for name, job in facts.environment.jobs.items():
        if job.cluster not in names:
            near = closest(job.cluster, names)
            yield Problem(
                ("jobs", name, "cluster"),
                repr(job.cluster),
                one_of(names) or "the name of an entry under `clusters`",
                "no such cluster",
                f"did you mean {near!r}?" if near else "",
            )


def job_fits_cluster(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        cluster = facts.environment.clusters.get(job.cluster)
        if cluster and job.nodes and job.nodes > cluster.nodes:
            yield Problem(
                ("jobs", name, "nodes"),
                str(job.nodes),
                f"1 to {cluster.nodes}" if cluster.nodes > 1 else "1",
                f"nodes of cluster {job.cluster}: {cluster.nodes}; the job would wait for ever",
                f"write {cluster.nodes}, or leave the key out",
            )


def parallelism_fills_cores(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        cores = _cores(facts, job.cluster)
        if cores is None:
            continue
        nodes = job.nodes or facts.environment.clusters[job.cluster].nodes
        total = nodes * cores.logical
        degrees = job.parallelism
        model = degrees.tensor * degrees.pipeline
        if degrees.data is None and total % model:
            yield Problem(
                ("jobs", name, "parallelism"),
                f"tensor {degrees.tensor} x pipeline {degrees.pipeline} = {model}",
                f"a divisor of {total}",
                f"{nodes} nodes have {total} logical cores, which {model} does not divide",
                f"nearest tensor degree: {_nearest_divisor(total // _common(total, degrees.pipeline), degrees.tensor)}",
                at_key=True,
            )
        elif degrees.data is not None and model * degrees.data != total:
            yield Problem(
                ("jobs", name, "parallelism"),
                f"tensor {degrees.tensor} x pipeline {degrees.pipeline} x data {degrees.data} = {model * degrees.data}",
                f"a product of {total} logical cores",
                _unit_taken_for_logical_cores(model * degrees.data, nodes, cores),
                f"write data: {total // model}" if total % model == 0 else "leave data out",
                at_key=True,
            )


def processes_fit_cores(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        cores = _cores(facts, job.cluster)
        processes = job.processes_per_node
        if cores is None or processes is None:
            continue
        if job.framework == "torch-neuronx" and processes != cores.logical:
            yield Problem(
                ("jobs", name, "processes_per_node"),
                str(processes),
                str(cores.logical),
                "torch-neuronx runs one process a logical core; "
                + _unit_taken_for_logical_cores(processes, 1, cores),
                f"write {cores.logical}, or leave the key out",
            )
        elif cores.logical % processes:
            yield Problem(
                ("jobs", name, "processes_per_node"),
                str(processes),
                f"a divisor of {cores.logical}",
                f"a node has {cores.logical} logical cores; "
                + _unit_taken_for_logical_cores(processes, 1, cores),
                f"write {_nearest_divisor(cores.logical, processes)}",
            )


def tensor_group_stays_in_node(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        cores = _cores(facts, job.cluster)
        if cores and job.parallelism.tensor > cores.logical:
            yield Problem(
                ("jobs", name, "parallelism", "tensor"),
                str(job.parallelism.tensor),
                f"1 to {cores.logical}",
                f"a node has {cores.logical} logical cores: tensor-parallel traffic would cross nodes over EFA",
                "use a smaller tensor degree and a pipeline degree",
            )


class _Cores:
    """Of one node."""

    def __init__(self, chips: int, physical: int, logical: int, size: int) -> None:
        self.chips, self.physical, self.logical, self.size = chips, physical, logical, size


def _cores(facts: Facts, cluster_name: str) -> _Cores | None:
    instance_type = facts.instance_type(cluster_name)
    if instance_type is None:
        return None
    size = logical_core_size(facts.environment.clusters[cluster_name], instance_type)
    logical = instance_type.logical_cores(size)
    return _Cores(instance_type.chips, instance_type.physical_cores, logical, size) if logical else None


def _unit_taken_for_logical_cores(given: int, nodes: int, cores: _Cores) -> str:
    """Says which unit was probably meant: chips, physical cores, or neither."""
    total = nodes * cores.logical
    facts = (
        f"{nodes * cores.chips} chips, {nodes * cores.physical} physical cores, "
        f"{total} logical cores at LNC {cores.size}"
    )
    if given == nodes * cores.chips:
        return f"{given} is the number of chips, not of logical cores ({facts})"
    if given == nodes * cores.physical:
        return f"{given} is the number of physical cores, not of logical cores ({facts})"
    return f"there are {facts}"


def _nearest_divisor(total: int, wanted: int) -> int:
    """Millions of cores have few divisors, and all of them lie on one side of the root or are partners of those."""
    low = [d for d in range(1, math.isqrt(total) + 1) if total % d == 0]
    return min((*low, *(total // d for d in reversed(low))), key=lambda d: abs(d - wanted))


def _common(total: int, degree: int) -> int:
    return degree if total % degree == 0 else 1


RULES = (
    Rule("NK230", Severity.ERROR, "job names no cluster", "it could not run anywhere", SCHEMA_SOURCE, job_names_a_cluster),
    Rule("NK231", Severity.ERROR, "job larger than its cluster", "it would stay RUNNABLE", "AWS Batch user guide, job states", job_fits_cluster),
    Rule("NK232", Severity.ERROR, "parallelism does not fill the logical cores", "ranks and cores must match", CORES_SOURCE, parallelism_fills_cores),
    Rule("NK233", Severity.ERROR, "processes do not fit the logical cores", "chips, physical and logical cores are three units", "nixl issue 1994; optimum-neuron@213224e examples/training/llama", processes_fit_cores),
    Rule("NK234", Severity.WARNING, "tensor group larger than a node", "slow links for the busiest traffic", "optimum-neuron@213224e examples/training/llama", tensor_group_stays_in_node),
)  # fmt: skip
