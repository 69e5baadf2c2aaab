"""A model's layers, heads and experts against the degrees that split them, and the degrees against the runtime."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.compatibility import nearest_tensor_degrees, tensor_verdict
from stacks.domain.environment import Job
from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.sizing import JobCores, cores_of_job

HEADS_SOURCE = "awslabs/ai-on-eks PR 74 (2025-05-15); vLLM 0.15 model code: heads divide by the tensor degree"
KEY_VALUE_SOURCE = (
    "huggingface/optimum-neuron issue 619 (2024-06-01: key/value heads are replicated); vLLM 0.15 model code"
)
STAGES_SOURCE = "arithmetic: layers by pipeline degree"
EXPERT_SOURCE = "`neuronkit schema`: experts are spread over the data-parallel ranks"
COLLECTIVES_SOURCE = (
    "huggingface/optimum-neuron issue 619 (2024-06-01); Neuron docs training/best-practices (2026-10-16)"
)


def experts_are_spread_evenly(facts: Facts) -> Iterator[Problem]:
    for name, job, cores in _jobs(facts):
        degree = job.parallelism.expert
        data = job.parallelism.data or cores.total // max(
            1, job.parallelism.tensor * job.parallelism.pipeline
        )
        if data and data % degree:
            yield Problem(
                ("jobs", name, "parallelism", "expert"),
                str(degree),
                f"a divisor of the data-parallel degree {data}",
                f"{degree} groups of experts do not divide {data} data-parallel ranks",
                f"write {_nearest(_divisors(data), degree)}",
            )
        experts = job.model.experts if job.model else None
        if experts is not None and experts % degree:
            yield Problem(
                ("jobs", name, "model", "experts"),
                str(experts),
                f"a multiple of the expert degree {degree}",
                f"{experts} experts cannot be shared out evenly to {degree} ranks",
                f"write expert: {_nearest(_common_divisors(experts, data or experts), degree)}",
            )


def model_can_be_split(facts: Facts) -> Iterator[Problem]:
    yield from _heads_are_split_evenly(facts)
    yield from _every_stage_has_a_layer(facts)


def _heads_are_split_evenly(facts: Facts) -> Iterator[Problem]:
    for name, job, cores in _jobs(facts):
        heads, tensor = job.model.attention_heads if job.model else None, job.parallelism.tensor
        if heads is None or heads % tensor == 0:
            continue
        fitting = _common_divisors(heads, cores.total)
        near = nearest_tensor_degrees(cores.chip, cores.logical_core_size, tensor, fitting)
        yield Problem(
            ("jobs", name, "parallelism", "tensor"),
            str(tensor),
            f"a divisor of {heads} attention heads",
            f"{heads} attention heads cannot be split evenly over {tensor} cores",
            f"write {one_of(str(degree) for degree in near)}" if near else "",
        )


def _every_stage_has_a_layer(facts: Facts) -> Iterator[Problem]:
    for name, job, _ in _jobs(facts):
        layers, pipeline = job.model.layers if job.model else None, job.parallelism.pipeline
        if layers is not None and pipeline > layers:
            yield Problem(
                ("jobs", name, "parallelism", "pipeline"),
                str(pipeline),
                f"1 to {layers}, the model's layers",
                f"{pipeline - layers} of {pipeline} stages would have no layer",
                f"write {layers}",
            )


def stages_are_alike(facts: Facts) -> Iterator[Problem]:
    for name, job, _ in _jobs(facts):
        layers, pipeline = job.model.layers if job.model else None, job.parallelism.pipeline
        if layers is None or layers % pipeline == 0 or pipeline > layers:
            continue
        yield Problem(
            ("jobs", name, "parallelism", "pipeline"),
            str(pipeline),
            f"a divisor of {layers} layers",
            f"the stages get {layers // pipeline} or {layers // pipeline + 1} layers: the larger ones set the pace",
            f"write {_nearest(_divisors(layers), pipeline)}",
        )


def key_value_heads_are_split_or_copied(facts: Facts) -> Iterator[Problem]:
    for name, job, _ in _jobs(facts):
        heads, tensor = job.model.key_value_heads if job.model else None, job.parallelism.tensor
        if heads is None or heads % tensor == 0 or tensor % heads == 0:
            continue
        yield Problem(
            ("jobs", name, "model", "key_value_heads"),
            str(heads),
            f"a divisor or a multiple of the tensor degree {tensor}",
            f"{heads} key/value heads can neither be split nor copied evenly over {tensor} cores",
            "choose another tensor degree",
        )


def degrees_can_talk(facts: Facts) -> Iterator[Problem]:
    for name, job, cores in _jobs(facts):
        tensor = job.parallelism.tensor
        verdict = tensor_verdict(cores.chip, cores.logical_core_size, tensor)
        if verdict.accepted is False:
            near = nearest_tensor_degrees(cores.chip, cores.logical_core_size, tensor, _divisors(cores.total))
            yield Problem(
                ("jobs", name, "parallelism", "tensor"),
                str(tensor),
                one_of(str(degree) for degree in near),
                f"{cores.chip}'s collectives may refuse a group of {tensor} cores: {verdict.why}",
                "use a degree that is named, or try it on one node first",
            )
        whole = tensor_verdict(cores.chip, cores.logical_core_size, cores.total)
        if whole.accepted is False:
            yield Problem(
                ("jobs", name),
                f"{cores.total} logical cores in {cores.nodes} nodes",
                message=f"{cores.chip}'s collectives may refuse so many: {whole.why}",
                fix="change the number of nodes",
                at_key=True,
            )


def degrees_no_source_names(facts: Facts) -> Iterator[str]:
    for name, job, cores in _jobs(facts):
        verdict = tensor_verdict(cores.chip, cores.logical_core_size, job.parallelism.tensor)
        if verdict.accepted is None:
            yield f"tensor degree {job.parallelism.tensor} of job {name}: {verdict.why}"


def _jobs(facts: Facts) -> Iterator[tuple[str, Job, JobCores]]:
    """Those whose cluster and instance type are known; other rules say what is wrong with the rest."""
    for name, job in facts.environment.jobs.items():
        cluster = facts.environment.clusters.get(job.cluster)
        instance_type = facts.instance_type(job.cluster)
        cores = cores_of_job(job, cluster, instance_type) if cluster and instance_type else None
        if cores is not None:
            yield name, job, cores


def _divisors(number: int) -> list[int]:
    low = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*low, *(number // d for d in low)})


def _common_divisors(first: int, second: int) -> list[int]:
    return [d for d in _divisors(first) if second % d == 0]


def _nearest(numbers: list[int], wanted: int) -> int:
    return min(numbers, key=lambda n: abs(n - wanted))


RULES = (
    Rule("NK235", Severity.ERROR, "experts not spread evenly", "every rank holds as many experts as every other", EXPERT_SOURCE, experts_are_spread_evenly),
    Rule("NK236", Severity.ERROR, "model that cannot be split so", "frameworks refuse it at start-up, on paid time", HEADS_SOURCE, model_can_be_split, can_be_forced=True),
    Rule("NK237", Severity.WARNING, "pipeline stages of different size", "the slowest stage sets the pace of all", STAGES_SOURCE, stages_are_alike),
    Rule("NK238", Severity.WARNING, "key/value heads neither split nor copied evenly", "a rank would need a part of a head", KEY_VALUE_SOURCE, key_value_heads_are_split_or_copied),
    Rule("NK239", Severity.WARNING, "number of cores that the runtime may refuse", "`Unsupported topology` ends the job at its first collective", COLLECTIVES_SOURCE, degrees_can_talk, unknown=degrees_no_source_names),
)  # fmt: skip
