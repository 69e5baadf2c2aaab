"""Does the model fit the chips: memory, as an estimate, and precision."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.compatibility import precision_verdict
from stacks.domain.environment import Job
from stacks.domain.findings import Severity
from stacks.domain.model_memory import (
    STATE_SHARE_SOURCE,
    MemoryEstimate,
    estimate_memory,
    memory_per_logical_core_gib,
)
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.sizing import cores_of_job

CLOSE_SHARE = 0.8
"""Of a core's memory: what is left has to hold activations and buffers. A judgement, not a source's number."""
MEMORY_SOURCE = f"{STATE_SHARE_SOURCE}; aws-neuron-sdk@81ce03ae neuron-hardware (memory of the chips)"
HOST_SOURCE = "aws-neuron/neuronx-distributed issue 53: 8B parameters on the smallest Trn1 node"
PRECISION_SOURCE = "Neuron docs v2.32.0 about-neuron/arch/neuron-features/data-types (2026-08-17)"


def weights_fit(facts: Facts) -> Iterator[Problem]:
    for name, job, memory in _estimates(facts):
        if memory.weights > memory.memory:
            yield Problem(
                ("jobs", name, "model", "parameters_billions"),
                f"{job.model.parameters_billions:g}" if job.model else "",
                message=f"the weights alone take {memory.weights:,.1f} GiB in {job.precision}; all chips of the job "
                f"have {memory.memory:,.1f} GiB",
                fix="more nodes, larger nodes, or a smaller model",
            )


def training_state_fits(facts: Facts) -> Iterator[Problem]:
    for name, job, memory in _estimates(facts):
        if memory.weights > memory.memory or memory.state_per_core <= CLOSE_SHARE * memory.memory_per_core:
            continue
        yield Problem(
            ("jobs", name, "model", "parameters_billions"),
            f"{job.model.parameters_billions:g}" if job.model else "",
            message=f"{_verdict(memory)} (an estimate: 4 times the weights, activations not counted)",
            fix="raise tensor or pipeline degree, or use more nodes; tuning of few weights (LoRA) needs less",
        )


def _verdict(memory: MemoryEstimate) -> str:
    has = f"a logical core has {memory.memory_per_core:,.1f} GiB"
    needs = f"weights, gradients and optimizer take about {memory.state_per_core:,.1f} GiB a logical core"
    if memory.state_per_core_sharded > memory.memory_per_core:
        return (
            f"weights, gradients and optimizer take about {memory.state:,.0f} GiB; all chips of the job have "
            f"{memory.memory:,.0f} GiB, so sharding does not help"
        )
    if memory.state_per_core > memory.memory_per_core:
        return (
            f"{needs} with these degrees; {has}: it fits only where the state is sharded over the data-parallel "
            f"ranks as well ({memory.state_per_core_sharded:,.1f} GiB at the least)"
        )
    return f"{needs}; {has}: little is left for activations"


def host_holds_the_weights(facts: Facts) -> Iterator[Problem]:
    for name, job, memory in _estimates(facts):
        instance_type = facts.instance_type(job.cluster)
        if instance_type is not None and memory.weights * 2 > instance_type.memory_gib:
            yield Problem(
                ("jobs", name, "model", "parameters_billions"),
                f"{job.model.parameters_billions:g}" if job.model else "",
                message=f"weights of {memory.weights:,.1f} GiB, read and converted on a host with "
                f"{instance_type.memory_gib:g} GiB: processes were killed for want of memory so",
                fix="load shard by shard, or use a larger type",
            )


def precision_is_computed(facts: Facts) -> Iterator[Problem]:
    for name, job in facts.environment.jobs.items():
        instance_type = facts.instance_type(job.cluster)
        chip = instance_type.chip if instance_type else None
        verdict = precision_verdict(chip.core_version, job.precision) if chip else None
        if chip and verdict and verdict.accepted is False:
            yield Problem(
                ("jobs", name, "precision"),
                job.precision,
                message=f"{chip.name} does not compute in it: {verdict.why}",
                fix="write bf16",
            )


def precisions_no_source_names(facts: Facts) -> Iterator[str]:
    for name, job in facts.environment.jobs.items():
        instance_type = facts.instance_type(job.cluster)
        chip = instance_type.chip if instance_type else None
        verdict = precision_verdict(chip.core_version, job.precision) if chip else None
        if verdict and verdict.accepted is None:
            yield f"precision {job.precision} of job {name}: {verdict.why}"


def _estimates(facts: Facts) -> Iterator[tuple[str, Job, MemoryEstimate]]:
    for name, job in facts.environment.jobs.items():
        cluster, instance_type = facts.environment.clusters.get(job.cluster), facts.instance_type(job.cluster)
        cores = cores_of_job(job, cluster, instance_type) if cluster and instance_type else None
        if cores is None or instance_type is None:
            continue
        per_core_gib = memory_per_logical_core_gib(instance_type, cores.logical_core_size)
        memory = estimate_memory(job, cores.total, per_core_gib) if per_core_gib else None
        if memory is not None:
            yield name, job, memory


RULES = (
    Rule("NK280", Severity.ERROR, "weights larger than all chips", "the job ends while it loads, on paid time", MEMORY_SOURCE, weights_fit, can_be_forced=True),
    Rule("NK281", Severity.WARNING, "training state may not fit", "out of memory shows after the compile, on paid time", MEMORY_SOURCE, training_state_fits),
    Rule("NK282", Severity.WARNING, "host memory may not hold the weights", "the process is killed without a word of Neuron's", HOST_SOURCE, host_holds_the_weights),
    Rule("NK283", Severity.ERROR, "precision that the chip does not have", "it would be converted, or refused by the compiler", PRECISION_SOURCE, precision_is_computed, unknown=precisions_no_source_names),
)  # fmt: skip
