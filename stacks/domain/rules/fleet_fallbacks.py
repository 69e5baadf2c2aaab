"""The GPU group of a fleet: whether it can serve the model, and whether its share of the requests meets a replica."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.catalog import InstanceType
from stacks.domain.environment import Fallback
from stacks.domain.environment.fleet_settings import ServedModel
from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule

BYTES_PER_GIB = 1024**3
BF16_BYTES = 2
ROOM_FACTOR = 1.3
"""Of the weights, for what the engine needs besides: this kit's rule of thumb for a first check, no source."""
SCHEMA_SOURCE = "`neuronkit schema`"
TYPES_SOURCE = "EC2 DescribeInstanceTypes, captured about 2026-10-01 (moto 5.2.5)"
WEIGHTS_SOURCE = "Elastic Load Balancing user guide, target-group-health: no failover between target groups"


def fallback_has_gpus(facts: Facts) -> Iterator[Problem]:
    for name, fallback, instance_type in _fallbacks(facts):
        if instance_type.gpu is None:
            gpus = sorted({t.family for t in facts.catalog.instance_types.values() if t.gpu})
            yield Problem(
                ("fleets", name, "fallback", "instance_type"),
                repr(fallback.instance_type),
                f"a type of {one_of(gpus)}",
                "has no GPU",
                "choose one from `neuronkit catalog`",
            )


def gpus_are_there(facts: Facts) -> Iterator[Problem]:
    for name, fallback, instance_type in _fallbacks(facts):
        if instance_type.gpu is None:
            continue
        heads = facts.environment.fleets[name].model.attention_heads
        path = ("fleets", name, "fallback", "gpus_per_replica")
        if fallback.gpus_per_replica > instance_type.accelerators:
            yield Problem(
                path,
                str(fallback.gpus_per_replica),
                f"1 to {instance_type.accelerators}" if instance_type.accelerators > 1 else "1",
                f"{fallback.instance_type} has {instance_type.accelerators}",
                "write fewer, or take a larger type",
            )
        elif heads is not None and heads % fallback.gpus_per_replica:
            yield Problem(
                path,
                str(fallback.gpus_per_replica),
                "a divisor of the attention heads",
                f"{heads} attention heads cannot be split over {fallback.gpus_per_replica} GPUs",
                "write another number",
            )


def weights_mean_something(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.fallback is None:
            continue
        mode, weight = fleet.fallback.mode, fleet.fallback.weight_percent
        path = ("fleets", name, "fallback", "weight_percent")
        if mode == "weighted" and weight == 0:
            yield Problem(
                path if "weight_percent" in fleet.fallback.model_fields_set else path[:-1],
                "0",
                "1 to 100 with mode: weighted",
                "GPUs would get no request, ever",
                "write a share, or mode: overflow",
                at_key="weight_percent" not in fleet.fallback.model_fields_set,
            )
        elif mode != "weighted" and weight != 0:
            yield Problem(
                path,
                str(weight),
                "0, or mode: weighted",
                f"with mode: {mode} the kit decides the share",
                "remove it",
            )


def gpu_replicas_are_in_order(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        found = fleet.fallback
        if found is not None and found.replicas_minimum > found.replicas_maximum:
            yield Problem(
                ("fleets", name, "fallback", "replicas_minimum"),
                str(found.replicas_minimum),
                f"0 to {found.replicas_maximum}",
                "above replicas_maximum",
                f"write replicas_maximum: {found.replicas_minimum} or more",
            )


def standing_shares_meet_a_replica(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        found = fleet.fallback
        if found is not None and found.mode != "overflow" and found.replicas_minimum == 0:
            yield Problem(
                ("fleets", name, "fallback"),
                f"mode {found.mode} with replicas_minimum 0",
                "replicas_minimum: 1 or more",
                "GPUs have a share of the requests at all times, and ALB answers 503 for a share without a replica",
                "write replicas_minimum: 1, or mode: overflow",
                at_key=True,
            )


def model_fits_the_gpus(facts: Facts) -> Iterator[Problem]:
    for name, fallback, instance_type in _fallbacks(facts):
        if instance_type.gpu is None:
            continue
        model = facts.environment.fleets[name].model
        each = instance_type.device_memory_gib / instance_type.accelerators
        memory = each * fallback.gpus_per_replica
        weights = model.parameters_billions * 1e9 * BF16_BYTES / BYTES_PER_GIB
        cache = key_value_gib(model, facts.environment.fleets[name].context_tokens)
        needed = weights * ROOM_FACTOR + (cache or 0)
        if needed > memory:
            of_cache = "a KV cache that is not counted" if cache is None else f"{cache:.1f} GiB of KV cache"
            yield Problem(
                ("fleets", name, "fallback", "gpus_per_replica"),
                str(fallback.gpus_per_replica),
                message=f"about {needed:.0f} GiB are needed ({weights:.0f} GiB of weights in bf16 and a third of it, {of_cache} for one "
                f"request of full length), {fallback.gpus_per_replica} x {instance_type.gpu.name} have {memory:.0f}",
                fix="take more GPUs a replica, larger ones, or a quantized model",
            )


def both_sides_speak_alike(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.fallback is not None and fleet.engine in ("encoder", "custom"):
            yield Problem(
                ("fleets", name, "fallback"),
                f"beside engine: {fleet.engine}",
                "a fallback beside vllm-neuron or vllm-nxdi",
                "the GPU side is vLLM with its own paths and answers: clients would see which side answered",
                "leave the fallback out",
                at_key=True,
            )


def gpu_fleets_do_not_sleep(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.fallback is not None and fleet.fallback.mode == "model" and fleet.scale_to_zero is not None:
            yield Problem(
                ("fleets", name, "scale_to_zero"),
                "scale to zero",
                "null with fallback mode model",
                "GPUs serve every request, and the waker would wait for Neuron replicas that nobody asks",
                "remove it",
                at_key=True,
            )


def key_value_gib(model: ServedModel, tokens: int) -> float | None:
    """Of one request in bf16. None where the file does not say the model's shape."""
    if model.layers is None or model.key_value_heads is None or model.head_size is None:
        return None
    keys_and_values = 2 * model.layers * model.key_value_heads * model.head_size
    return keys_and_values * BF16_BYTES * tokens / BYTES_PER_GIB


def _fallbacks(facts: Facts) -> Iterator[tuple[str, Fallback, InstanceType]]:
    for name, fleet in facts.environment.fleets.items():
        found = facts.catalog.get(fleet.fallback.instance_type) if fleet.fallback else None
        if fleet.fallback is not None and found is not None:
            yield name, fleet.fallback, found


RULES = (
    Rule("NK738", Severity.ERROR, "fallback without GPUs", "the image is for GPUs", TYPES_SOURCE, fallback_has_gpus),
    Rule("NK739", Severity.ERROR, "GPUs that a replica cannot have", "ECS never places the task, or vLLM ends at its start", TYPES_SOURCE, gpus_are_there),
    Rule("NK740", Severity.ERROR, "share that means nothing", "a setting that nothing reads hides a mistake", SCHEMA_SOURCE, weights_mean_something),
    Rule("NK741", Severity.ERROR, "GPU minimum above maximum", "Application Auto Scaling refuses it", "botocore 1.44.8 application-autoscaling RegisterScalableTarget", gpu_replicas_are_in_order),
    Rule("NK742", Severity.ERROR, "share without a replica", "a part of all requests fails", WEIGHTS_SOURCE, standing_shares_meet_a_replica),
    Rule("NK743", Severity.WARNING, "model larger than the GPUs", "the fallback fails at the moment at which it is needed", "this kit's rule of thumb (weights in bf16 x 1.3 + KV cache); " + TYPES_SOURCE, model_fits_the_gpus),
    Rule("NK790", Severity.ERROR, "fleet of GPUs that sleeps", "waker and controller would take the listener rule from each other", "this kit: who owns the rule", gpu_fleets_do_not_sleep),
    Rule("NK744", Severity.ERROR, "fallback that answers differently", "a fallback must not be seen by clients", "aws/deep-learning-containers@e0ecede docs/src/data/vllm", both_sides_speak_alike, can_be_forced=True),
)  # fmt: skip
