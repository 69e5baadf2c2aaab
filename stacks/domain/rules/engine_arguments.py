"""What a file may give an engine: shapes to compile, further arguments, variables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from stacks.domain.environment import Fleet
from stacks.domain.findings import Severity, one_of
from stacks.domain.rules.rule import Facts, Problem, Rule

BUCKETS_SOURCE = "aws-neuron-sdk@81ce03ae vllm-neuron/docs reference-configuration.md, additional-config.md"
NXDI_SOURCE = "vllm-project/vllm-neuron@a5ef7c8 README.md and source; aws-neuron-sdk@81ce03ae libraries/nxd-inference/vllm"
MIGRATION_SOURCE = (
    "aws-neuron-sdk@81ce03ae vllm-neuron/docs features-guide.md; libraries/nxd-inference/vllm user guide v1"
)
DESIGN_SOURCE = "this kit: design"
SEGMENT_SIZES = (512, 1024, 2048, 4096, 8192)
CONTEXT_STEP = 128
CONFIG = "--additional-config"
TEXTS_BYTES_MAX = 16 * 1024
"""So that with the kit's own part no command is above its share, and no task definition above 64 KiB (a test holds it)."""

KIT_ARGUMENTS = {
    "--model": "write model.source",
    "--served-model-name": "write model.name",
    "--revision": "write model.revision",
    "--host": "the container's port is the load balancer's",
    "--port": "ports make replicas exclusive",
    "--tensor-parallel-size": "write tensor_parallel",
    "-tp": "write tensor_parallel",
    "--max-model-len": "write context_tokens",
    "--max-num-seqs": "write sequences",
    "--max-num-batched-tokens": "write batched_tokens",
    "--shutdown-timeout": "write longest_request_seconds",
    "--num-gpu-blocks-override": "it is computed from sequences and context_tokens",
    "--block-size": "it is 32, as the guides have it",
}
"""And what to do instead."""
FORBIDDEN = {
    "--device": "it belonged to the old fork of vLLM (0.6 to 0.9)",
    "--override-neuron-config": "the plugins read it from --additional-config as override_neuron_config, and ignore this without a word",
    "--pipeline-parallel-size": "the Neuron plugins have no pipeline parallelism",
    "-pp": "the Neuron plugins have no pipeline parallelism",
}


def buckets_end_at_the_limits(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.engine == "vllm-neuron":
            yield from _largest(name, "token_buckets", fleet.token_buckets, fleet.batched_tokens)
            yield from _largest(name, "sequence_buckets", fleet.sequence_buckets, fleet.sequences)
            yield from _prefill_buckets(name, fleet)


def _largest(name: str, setting: str, buckets: tuple[int, ...], limit: int | None) -> Iterator[Problem]:
    if any(size < 1 for size in buckets) or len(set(buckets)) < len(buckets):
        yield Problem(("fleets", name, setting), _words(buckets), "different positive numbers")
    elif buckets and limit is not None and max(buckets) != limit:
        of = {"token_buckets": "batched_tokens", "sequence_buckets": "sequences"}[setting]
        yield Problem(
            ("fleets", name, setting),
            _words(buckets),
            f"the largest is {limit}",
            f"the largest bucket is the limit {of}: the engine refuses others",
            f"write [{_words(tuple(sorted({*(b for b in buckets if b < limit), limit})))}]",
        )


def _prefill_buckets(name: str, fleet: Fleet) -> Iterator[Problem]:
    wrong = [b for b in fleet.token_buckets if b <= fleet.tensor_parallel or b % fleet.tensor_parallel]
    if wrong:
        yield Problem(
            ("fleets", name, "token_buckets"),
            _words(tuple(wrong)),
            f"multiples of {fleet.tensor_parallel} that are larger",
            f"a prefill is shared by {fleet.tensor_parallel} cores",
            "powers of two from 128 are the engine's own",
        )


def settings_are_read(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        for setting, why, fix in _unread(fleet):
            yield Problem(("fleets", name, setting), message=why, fix=fix, at_key=True)


def _unread(fleet: Fleet) -> Iterator[tuple[str, str, str]]:
    """Setting, why nothing reads it, and what to write."""
    if fleet.batched_tokens is not None and fleet.engine != "vllm-neuron":
        yield "batched_tokens", f"{fleet.engine} has no such limit", "leave it out"
    for setting in ("token_buckets", "sequence_buckets"):
        if getattr(fleet, setting) and fleet.engine in ("vllm-nxdi", "custom"):
            yield (
                setting,
                f"{fleet.engine} does not take it",
                'NxD Inference has its own: engine_arguments with --additional-config {"override_neuron_config": …}',
            )
    if fleet.compile_on == "cpu" and _has(fleet, "--speculative-config"):
        yield "compile_on", "compiling on CPUs does not support speculative decoding", "write neuron"
    if fleet.engine == "custom" and fleet.engine_arguments:
        yield "engine_arguments", "the command of a custom engine has all its arguments", "put them there"


def arguments_work(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if not fleet.engine.startswith("vllm-"):
            continue
        for index, word in enumerate(fleet.engine_arguments):
            why = FORBIDDEN.get(_option(word))
            if _option(word) in ("--quantization", "-q") and fleet.engine_arguments[
                index + 1 : index + 2
            ] == ("neuron_quant",):
                why = "leave --quantization unset: Neuron's goes into neuron_config, or comes with the checkpoint"
            if word == "--quantization=neuron_quant":
                why = "leave --quantization unset: Neuron's goes into neuron_config, or comes with the checkpoint"
            if why:
                yield Problem(
                    ("fleets", name, "engine_arguments", index), word, message=why, fix="leave it out"
                )


def arguments_are_not_the_kits(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if not fleet.engine.startswith("vllm-"):
            continue
        for index, word in enumerate(fleet.engine_arguments):
            instead = KIT_ARGUMENTS.get(_option(word))
            if instead:
                yield Problem(
                    ("fleets", name, "engine_arguments", index),
                    word,
                    message="the kit gives it, and the engine would take the last one: plan and rules would be wrong",
                    fix=f"leave it out: {instead}",
                )


def additional_config_is_read(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        for index, word in _config_places(fleet):
            wanted = "neuron_config" if fleet.engine == "vllm-neuron" else "override_neuron_config"
            found = _parsed(word)
            example = f'{{"{wanted}": {{…}}}}'
            if _option(word) == CONFIG and word != CONFIG:
                why = "the kit merges its own buckets in, and reads the form with a space"
            elif not isinstance(found, dict):
                why = "it is no JSON object"
            elif set(found) - {wanted, "vision_neuron_config", "mm_language_model_only"}:
                others = ", ".join(sorted(set(found) - {wanted}))
                why = f"{fleet.engine} reads {wanted}, and ignores {others} without a word"
            else:
                continue
            yield Problem(
                ("fleets", name, "engine_arguments", index),
                word,
                example,
                why,
                f"write --additional-config and then {example}",
            )


def config_buckets_are_legal(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        for index, word in _config_places(fleet):
            found = _parsed(word)
            config = found.get("neuron_config") if isinstance(found, dict) else None
            if fleet.engine == "vllm-neuron" and isinstance(config, dict):
                for why in _config_problems(fleet, config):
                    yield Problem(
                        ("fleets", name, "engine_arguments", index), word, message=why, fix="mend the list"
                    )


def _config_problems(fleet: Fleet, config: dict[str, Any]) -> Iterator[str]:
    for key, setting in (
        ("num_batched_tokens_buckets", "token_buckets"),
        ("num_seqs_buckets", "sequence_buckets"),
    ):
        if key in config:
            yield f"{key} is the setting {setting}"
    segments = config.get("kv_segment_size_buckets")
    if segments is not None:
        batched = sorted(fleet.token_buckets)
        if not isinstance(segments, list) or len(segments) != 1 or segments[0] not in SEGMENT_SIZES:
            yield f"kv_segment_size_buckets is a list of one of {', '.join(map(str, SEGMENT_SIZES))}"
        elif segments != batched:
            yield f"kv_segment_size_buckets {segments} is not token_buckets {batched}: the kernel needs both alike"
    contexts = config.get("decode_context_length_buckets")
    if contexts is not None and not _legal_contexts(contexts, fleet.context_tokens):
        yield (
            f"decode_context_length_buckets are ascending multiples of {CONTEXT_STEP} below context_tokens {fleet.context_tokens}"
        )


def _legal_contexts(found: Any, limit: int) -> bool:
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(b, int) and 0 < b < limit and b % CONTEXT_STEP == 0 for b in found)
        and found == sorted(set(found))
    )


def nxdi_caches_and_chunks(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        if fleet.engine != "vllm-nxdi":
            continue
        for index, word in enumerate(fleet.engine_arguments):
            if word == "--enable-prefix-caching" and fleet.sequences == 1:
                why, fix = (
                    "prefix caching with one sequence gives wrong answers",
                    "leave it out, or raise sequences",
                )
            elif word == "--enable-chunked-prefill":
                why, fix = "NxD Inference's plugin does not support chunked prefill", "leave it out"
            else:
                continue
            yield Problem(("fleets", name, "engine_arguments", index), word, message=why, fix=fix)


def _config_places(fleet: Fleet) -> Iterator[tuple[int, str]]:
    """Where the values of --additional-config are."""
    words = fleet.engine_arguments
    if not fleet.engine.startswith("vllm-"):
        return
    for index, word in enumerate(words):
        if word == CONFIG:
            yield (index + 1, words[index + 1]) if index + 1 < len(words) else (index, word)
        elif _option(word) == CONFIG:
            yield index, word


def _parsed(word: str) -> Any:
    try:
        return json.loads(word)
    except (ValueError, RecursionError):
        return None


def _has(fleet: Fleet, option: str) -> bool:
    return any(_option(word) == option for word in fleet.engine_arguments)


def _option(word: str) -> str:
    """As vLLM's own parser reads it: --max_model_len is --max-model-len, and --additional-config.a sets a part of one."""
    name = word.partition("=")[0]
    return name.partition(".")[0].replace("_", "-") if name.startswith("--") else name


def texts_fit_a_task(facts: Facts) -> Iterator[Problem]:
    for name, fleet in facts.environment.fleets.items():
        sizes = {
            "command": _bytes(fleet.command),
            # They stand in the command of the engine and of the task that compiles, and in the key of what is compiled.
            "engine_arguments": 2 * _bytes(fleet.engine_arguments),
            "environment": 2 * _bytes((*fleet.environment, *fleet.environment.values())),
            "secrets": _bytes((*fleet.secrets, *fleet.secrets.values())),
        }
        whole = sum(sizes.values())
        if whole > TEXTS_BYTES_MAX:
            yield Problem(
                ("fleets", name, max(sizes, key=lambda key: sizes[key])),
                f"about {whole:,} bytes of words and variables",
                f"{TEXTS_BYTES_MAX:,} in all of {one_of(sizes)}",
                "they stand in a task definition, which Amazon ECS keeps small",
                "put a long text into a file of the image or of the model",
                at_key=True,
            )


def _bytes(words: Iterable[str]) -> int:
    """As they stand in a task definition: quoted for the shell, then for JSON."""
    return sum(len(json.dumps(shlex.quote(word))) for word in words)


def _words(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


RULES = (
    Rule("NK756", Severity.ERROR, "buckets that do not fit the limits", "the engine refuses them at start", BUCKETS_SOURCE, buckets_end_at_the_limits),
    Rule("NK757", Severity.ERROR, "setting that the engine does not read", "a setting that nothing reads hides a mistake", DESIGN_SOURCE, settings_are_read),
    Rule("NK758", Severity.ERROR, "argument that does not work on Neuron", "the engine fails at start, or ignores it without a word", MIGRATION_SOURCE, arguments_work),
    Rule("NK759", Severity.ERROR, "argument that the kit gives", "what the plan says would not be what runs", DESIGN_SOURCE, arguments_are_not_the_kits),
    Rule("NK760", Severity.ERROR, "additional config that the plugin ignores", "the documentation prints both spellings, the plugin reads one", NXDI_SOURCE, additional_config_is_read),
    Rule("NK761", Severity.ERROR, "buckets inside additional config", "the kernel refuses them at start", BUCKETS_SOURCE, config_buckets_are_legal),
    Rule("NK293", Severity.ERROR, "words that fit no task definition", "the deploy fails half-way", "Amazon ECS developer guide, service quotas: 64 KiB a task definition", texts_fit_a_task),
    Rule("NK765", Severity.ERROR, "caching that NxD Inference cannot do", "wrong answers, without an error", NXDI_SOURCE, nxdi_caches_and_chunks),
)  # fmt: skip
