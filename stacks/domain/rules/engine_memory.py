"""Does the model fit into the cores of a replica, and into the host while it loads? A first check, with this kit's rule of thumb."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.catalog import InstanceType
from stacks.domain.environment import Fleet
from stacks.domain.findings import Severity
from stacks.domain.fleet_plan import fleet_logical_core_size, slices_of
from stacks.domain.model_memory import BYTES_PER_GIB, memory_per_logical_core_gib
from stacks.domain.rules.node_blocks import fleet_type, replica_fits_node
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.serving import engine_on, serving_degrees

BYTES_BF16 = 2
WEIGHTS_FACTOR = 1.3
HOST_FACTOR = 1.5
SMALL_HOST_GIB = 32
SOURCE = "this kit's rule of thumb (weights in bf16 x 1.3 and the KV cache on the cores, x 1.5 on the host): no source"
LLMS = ("vllm-neuron", "vllm-nxdi")


def weights_gib(fleet: Fleet) -> float:
    """In bf16: no source gives another precision for every engine."""
    return fleet.model.parameters_billions * 1e9 * BYTES_BF16 / BYTES_PER_GIB


def cache_gib(fleet: Fleet, sequences: int) -> float | None:
    """Keys and values of full-length sequences; None while the file does not say the model's shape."""
    model = fleet.model
    heads = model.key_value_heads or model.attention_heads
    if model.layers is None or heads is None or model.head_size is None:
        return None
    bytes_per_token = 2 * model.layers * heads * model.head_size * BYTES_BF16
    return bytes_per_token * fleet.context_tokens * sequences / BYTES_PER_GIB


def _memory_gib(fleet: Fleet, instance_type: InstanceType) -> float | None:
    each = memory_per_logical_core_gib(instance_type, fleet_logical_core_size(fleet, instance_type))
    return None if each is None else each * fleet.tensor_parallel


def _judged(facts: Facts) -> Iterator[tuple[str, Fleet, InstanceType, float]]:
    for name, fleet in facts.environment.fleets.items():
        instance_type = fleet_type(facts, name)
        if instance_type is None or fleet.engine == "custom" or not replica_fits_node(fleet, instance_type):
            continue
        memory = _memory_gib(fleet, instance_type)
        if memory is not None:
            yield name, fleet, instance_type, memory


def model_fits_the_cores(facts: Facts) -> Iterator[Problem]:
    """NxD Inference keeps room for every sequence; vLLM Neuron for one at least, and as many as fit."""
    for name, fleet, instance_type, memory in _judged(facts):
        sequences = fleet.sequences if fleet.engine == "vllm-nxdi" else 1
        cache = cache_gib(fleet, sequences) or 0.0
        needed = weights_gib(fleet) * WEIGHTS_FACTOR + cache
        if needed > memory:
            yield Problem(
                ("fleets", name, "tensor_parallel"),
                str(fleet.tensor_parallel),
                f"{needed:.1f} GiB at least",
                f"{fleet.tensor_parallel} cores of {instance_type.name} have {memory:.0f} GiB; weights take about "
                f"{weights_gib(fleet) * WEIGHTS_FACTOR:.1f}, the KV cache of {sequences} full sequences {cache:.1f}",
                _fitting_words(facts, fleet, instance_type, needed),
            )


def all_sequences_fit(facts: Facts) -> Iterator[Problem]:
    for name, fleet, _, memory in _judged(facts):
        one, every = cache_gib(fleet, 1), cache_gib(fleet, fleet.sequences)
        weights = weights_gib(fleet) * WEIGHTS_FACTOR
        if fleet.engine != "vllm-neuron" or one is None or every is None:
            continue
        if weights + one <= memory < weights + every:
            fits = int((memory - weights) / one)
            yield Problem(
                ("fleets", name, "sequences"),
                str(fleet.sequences),
                f"{fits} of {fleet.context_tokens} tokens each fit",
                "more sequences of full length wait or are recomputed, as the KV cache is full",
                f"write {fits}, or fewer context_tokens, unless most requests are short",
            )


def cache_is_not_known(facts: Facts) -> Iterator[str]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.engine in LLMS and cache_gib(fleet, 1) is None:
            yield f"whether the KV cache of fleet {name} fits: model.layers, heads and head_size are not all given"


def host_loads_the_model(facts: Facts) -> Iterator[Problem]:
    for name, fleet, instance_type, _ in _judged(facts):
        each = instance_type.memory_gib / len(slices_of(fleet, instance_type))
        needed = weights_gib(fleet) * HOST_FACTOR
        small = fleet.engine in LLMS and instance_type.memory_gib < SMALL_HOST_GIB
        if needed <= each and not small:
            continue
        words = f"a replica has {each:.0f} GiB of the host's memory; loading takes about {needed:.1f}"
        if small:
            words += f", and compiling an LLM needs more than {instance_type.memory_gib:g} GiB"
        yield Problem(
            ("fleets", name, "instance_type"),
            instance_type.name,
            message=words,
            fix=f"take {_roomier(facts, instance_type, needed)}, or fewer replicas per node",
        )


def _roomier(facts: Facts, instance_type: InstanceType, needed: float) -> str:
    """The smallest type with the same chips, and as many."""
    least = max(needed, SMALL_HOST_GIB)
    others = [
        t
        for t in facts.catalog.instance_types.values()
        if t.chip == instance_type.chip and t.chips >= instance_type.chips and t.memory_gib >= least
    ]
    best = min(others, key=lambda t: t.memory_gib, default=None)
    return best.name if best and best.name != instance_type.name else "a type with more memory"


def _fitting_words(facts: Facts, fleet: Fleet, instance_type: InstanceType, needed: float) -> str:
    """Another degree on the type goes before another type."""
    here = _least_degree(fleet, instance_type, needed)
    if here is not None:
        return f"write {here}"
    fitting = [
        (t.device_memory_gib, t.name, degree)
        for t in facts.catalog.instance_types.values()
        if engine_on(fleet.engine, t.family) and (degree := _least_degree(fleet, t, needed))
    ]
    fewer = "fewer sequences or context_tokens, or a smaller model"
    if not fitting:
        return f"take {fewer}"
    _, name, degree = min(fitting)
    return f"take {name} with tensor_parallel {degree}; or {fewer}"


def _least_degree(fleet: Fleet, instance_type: InstanceType, needed: float) -> int | None:
    """That is legal on the type, divides the heads and has the memory; None with encoders, which take one core."""
    table, heads = serving_degrees().get(instance_type.name), fleet.model.attention_heads
    each = memory_per_logical_core_gib(instance_type, fleet_logical_core_size(fleet, instance_type))
    if table is None or each is None or fleet.engine not in LLMS:
        return None
    good = (d for d in table.degrees if d * each >= needed and (not heads or heads % d == 0))
    return next(good, None)


RULES = (
    Rule("NK762", Severity.ERROR, "model larger than its cores' memory", "the load fails after the node was paid", SOURCE, model_fits_the_cores, unknown=cache_is_not_known, can_be_forced=True),
    Rule("NK763", Severity.WARNING, "KV cache smaller than the sequences", "latency, not an error: requests wait although sequences are free", SOURCE, all_sequences_fit),
    Rule("NK764", Severity.WARNING, "little host memory for a load", "the kernel ends the process while it loads or compiles", "this kit's rule of thumb: no source; the smallest types have 16 GiB (EC2 DescribeInstanceTypes)", host_loads_the_model),
)  # fmt: skip
