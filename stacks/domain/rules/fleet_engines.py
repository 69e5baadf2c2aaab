"""What a fleet tells its engine besides arguments: the model's place, variables, compiled graphs, an encoder's buckets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from stacks.domain.environment.model import VARIABLE_NAME_PATTERN
from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule
from stacks.domain.serving import engines, gate_of

DOCKER_HOOK = "AWS_NEURON_VISIBLE_DEVICES"
KIT_VARIABLES = frozenset({
    "AWS_REGION", "AWS_DEFAULT_REGION", "PORT", "OPT_OUT_TRACKING", "PROMETHEUS_MULTIPROC_DIR", "VLLM_HTTP_TIMEOUT_KEEP_ALIVE",
    "NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE", "NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES", "NEURON_VISIBLE_DEVICES",
    "NEURON_COMPILED_ARTIFACTS", "NEURON_SKIP_EFA_AFFINITY", "NEURON_PLATFORM_TARGET_OVERRIDE",
    "VLLM_CACHE_ROOT", "VLLM_ENGINE_READY_TIMEOUT_S", "VLLM_NEURON_BACKEND", "VLLM_NEURON_CPU_COMPILE",
})  # fmt: skip
"""What the kit works out; it would win over the file's value. A test holds it against the containers."""
RESERVED_PREFIXES = ("ECS_", "NEURONKIT_", "AWS_CONTAINER_CREDENTIALS", "AWS_EXECUTION_ENV")
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105
CPU_COMPILERS = ("vllm-neuron",)
SCHEMA_SOURCE = "`neuronkit schema`"
HOOK_SOURCE = (
    "aws-neuron-sdk@81ce03ae deploy/tutorials/oci-hook.rst; amazon-ecs-agent@8dfceca6c agent/api/task/task.go"
)
COMPILE_SOURCE = "aws-neuron-sdk@81ce03ae vllm-neuron/docs/design/compilation (CPU compile guide)"


def model_has_its_place(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        model, path = fleet.model, ("fleets", name, "model")
        for key, given in (("revision", model.revision), ("token", model.token)):
            if given is not None and not model.source.startswith("hf:"):
                yield Problem(
                    (*path, key),
                    "given",
                    "null without hf:",
                    "Hugging Face alone has it: nothing would read it",
                    "remove it",
                    at_key=True,
                )
        hub = model.source.removeprefix("hf:").split("/") if model.source.startswith("hf:") else ()
        if any(part in (".", "..") for part in hub):
            yield Problem(
                (*path, "source"),
                repr(model.source),
                "hf:ORG/NAME such as hf:meta-llama/Llama-3.1-8B-Instruct",
                "Hugging Face has no such name",
                "write the model's name there",
            )
        place = model.source.partition(":")[2] if model.source.startswith("bucket:") else ""
        if place and any(part in ("", ".", "..") for part in place.rstrip("/").split("/")):
            yield Problem(
                (*path, "source"),
                repr(model.source),
                "bucket:PREFIX such as bucket:models/llama-3.1-8b",
                "no prefix that S3 keys have",
                "write it without an empty part, . and ..",
            )


def gated_models_have_a_token(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        model = fleet.model
        gate = gate_of(model.source.removeprefix("hf:")) if model.source.startswith("hf:") else None
        if gate is None or model.token is not None or TOKEN_VARIABLE in {*fleet.secrets, *fleet.environment}:
            continue
        at = ("token",) if "token" in model.model_fields_set else ("source",)
        yield Problem(
            ("fleets", name, "model", *at),
            f"{model.source} without a token",
            "the ARN of a secret of Secrets Manager or SSM with a Hugging Face token",
            f"gated ({gate.source}, {gate.as_of}): without a token of an account that was granted access the download is "
            "refused, on a node that is paid",
            f"ask for access at https://huggingface.co/{model.source.removeprefix('hf:')}, write the secret's ARN into token; or "
            "copy the model into the bucket (source: bucket:PREFIX)",
        )


def variables_are_free(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        for section, keys in (("environment", fleet.environment), ("secrets", fleet.secrets)):
            for key in keys:
                why = _why_not(key, fleet.environment if section == "secrets" else {}, fleet.model.token)
                if why:
                    yield Problem(
                        ("fleets", name, section, key), key, "other names", why, "remove it", at_key=True
                    )


def _why_not(key: str, also: dict[str, str], token: str | None) -> str:
    """ "" where nothing speaks against it."""
    if not re.fullmatch(VARIABLE_NAME_PATTERN, key):
        return "no name of a variable: letters, digits and _, no digit first"
    if key == DOCKER_HOOK:
        return "it asks for a Docker runtime that does not work on Amazon Linux 2023 under ECS: devices are mapped by the kit"
    if key in KIT_VARIABLES or key.startswith(RESERVED_PREFIXES):
        return "worked out from the file, or set by ECS: the file's value would be lost"
    if key == TOKEN_VARIABLE and token is not None:
        return "model.token sets it"
    return "set under environment, too" if key in also else ""


def compiling_is_possible(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        given, path = fleet.model_fields_set, ("fleets", name)
        if fleet.engine == "custom" and "artifacts" in given and fleet.artifacts == "efs":
            yield Problem(
                (*path, "artifacts"),
                "efs",
                "none with engine: custom",
                "what your image compiles, and where it keeps it, the kit does not know",
                "write artifacts: none, or mount what you need in your image",
            )
        elif "compile_on" not in given or fleet.compile_on == "start":
            continue
        elif fleet.engine == "custom" or fleet.artifacts == "none":
            why = (
                "the kit knows no compile step of it"
                if fleet.engine == "custom"
                else "nothing keeps what is compiled"
            )
            yield Problem(
                (*path, "compile_on"),
                fleet.compile_on,
                "start, or no such key",
                why,
                "write compile_on: start",
            )
        elif fleet.compile_on == "cpu" and fleet.engine not in CPU_COMPILERS:
            yield Problem(
                (*path, "compile_on"),
                "cpu",
                f"neuron or start with {fleet.engine}",
                f"of the kit's engines only {one_of(CPU_COMPILERS)} compiles without chips",
                "write neuron: one task on the fleet compiles, and all replicas load it",
            )


def encoder_buckets_end_at_the_limits(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.engine != "encoder":
            continue
        for key, buckets, limit, of in (
            ("token_buckets", fleet.token_buckets, fleet.context_tokens, "context_tokens"),
            ("sequence_buckets", fleet.sequence_buckets, fleet.sequences, "sequences"),
        ):
            rising = all(a < b for a, b in pairwise(buckets))
            if buckets and (not rising or buckets[0] < 1 or buckets[-1] != limit):
                yield Problem(
                    ("fleets", name, key),
                    f"{list(buckets)}",
                    f"rising numbers that end with {limit} ({of})",
                    "each is a compiled graph: a request beyond the last one fits none",
                    f"end the list with {limit}, or change {of}",
                    at_key=True,
                )


def software_is_read(facts: Facts) -> Iterator[Problem]:
    """`sdk` and `images` choose what jobs run in; a fleet's engine decides for itself."""
    software = facts.environment.software
    if facts.environment.clusters or not facts.environment.fleets:
        return
    for key, given in (
        ("sdk", software.sdk if software.sdk != "auto" else ""),
        ("images", ", ".join(software.images)),
    ):
        if given:
            sdks = dict.fromkeys(engine.sdk for engine in engines())
            yield Problem(
                ("software", key),
                given,
                "no such key without clusters",
                f"fleets do not read it: their engines bring their SDK ({one_of(sdks)})",
                "remove it, or name an image under fleets.NAME.image",
                at_key=True,
            )


RULES = (
    Rule("NK745", Severity.ERROR, "model that cannot be found so", "replicas wait for it until they are stopped", SCHEMA_SOURCE, model_has_its_place),
    Rule("NK795", Severity.WARNING, "gated model without a token", "a paid node fails at the download", "huggingface.co docs, hub/models-gated; reports with dates in the bundled data", gated_models_have_a_token),
    Rule("NK746", Severity.ERROR, "variable that a fleet must not set", "plan and engine would disagree, or no device be seen", HOOK_SOURCE, variables_are_free),
    Rule("NK747", Severity.ERROR, "compile step that cannot be", "replicas would wait for graphs that nobody makes", COMPILE_SOURCE, compiling_is_possible),
    Rule("NK748", Severity.ERROR, "buckets of an encoder", "the server would refuse what the file promises", "aws-neuron-sdk@81ce03ae torch-neuronx tracing: one graph for each shape", encoder_buckets_end_at_the_limits),
    Rule("NK749", Severity.ERROR, "software that no fleet reads", "a setting that nothing reads hides a mistake", SCHEMA_SOURCE, software_is_read),
)  # fmt: skip
