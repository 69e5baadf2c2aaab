"""The arguments of `vllm serve`, on both Neuron plugins and on GPUs: one model, served alike.

Sources: aws-neuron-sdk@81ce03ae vllm-neuron/docs guides and libraries/nxd-inference/vllm; vllm-project/vllm-neuron@a5ef7c8.
"""

from __future__ import annotations

import json
import math
import re

from stacks.domain.environment import Fleet
from stacks.domain.fleet_plan import FallbackPlan, FleetPlan, FleetTimes
from stacks.domain.serving import recipe

BLOCK_TOKENS = 32
"""Of the KV cache: the plugins' default and their guides' choice."""
SHUTDOWN_TIMEOUT_SINCE = (0, 18)
NATIVE_BACKEND_SINCE = (0, 29)

Arguments = tuple[str, ...]


def vllm_version(image_uri: str) -> tuple[int, ...] | None:
    """From the tag, such as (0, 24); None where an image of the user's does not tell."""
    tag = image_uri.partition("@")[0].rpartition(":")[2]
    match = re.match(r"v?(\d+)\.(\d+)", tag)
    return (int(match.group(1)), int(match.group(2))) if match else None


def shape_arguments(fleet: FleetPlan) -> Arguments:
    """What decides the compiled graphs; the same wherever the replica runs."""
    settings = fleet.settings
    known = recipe(settings.engine, settings.model.family)
    common = (
        *("--tensor-parallel-size", str(settings.tensor_parallel)),
        *("--max-model-len", str(settings.context_tokens)),
        *("--max-num-seqs", str(settings.sequences)),
        *_not_given(known.arguments if known else (), settings.engine_arguments),
    )
    if settings.engine == "vllm-nxdi":
        return (*common, *_nxdi(settings), *engine_arguments(settings))
    return (*common, *_neuron(settings), *engine_arguments(settings))


def neuron_arguments(fleet: FleetPlan, port: int) -> Arguments:
    version = vllm_version(fleet.image.uri) if fleet.image else None
    return (*_identity(fleet.settings, port), *shape_arguments(fleet), *_shutdown(version, fleet.times))


def gpu_arguments(fleet: FleetPlan, fallback: FallbackPlan, port: int) -> Arguments:
    """Same name, same limits, the model's own chat template: a client cannot tell which side answered."""
    settings = fleet.settings
    version = vllm_version(fallback.image.uri) if fallback.image else None
    known = recipe(settings.engine, settings.model.family)
    return (
        *_identity(settings, port),
        *("--tensor-parallel-size", str(fallback.gpus_per_replica)),
        *("--max-model-len", str(settings.context_tokens)),
        *("--max-num-seqs", str(settings.sequences)),
        *_not_given(known.gpu_arguments if known else (), settings.engine_arguments),
        *_shared_words(settings.engine_arguments),
        *_shutdown(version, fleet.times),
    )


def _not_given(words: Arguments, given: Arguments) -> Arguments:
    """A recipe's options without those which the file has, each with its values."""
    named = {word.partition("=")[0] for word in given}
    found: list[str] = []
    keeps = True
    for word in words:
        if word.startswith("--"):
            keeps = word not in named
        if keeps:
            found.append(word)
    return tuple(found)


def _identity(settings: Fleet, port: int) -> Arguments:
    return ("--served-model-name", settings.model.name, "--port", str(port))


def _neuron(settings: Fleet) -> Arguments:
    """Buckets end at the limits: the engine refuses others."""
    buckets = {
        "num_batched_tokens_buckets": sorted(settings.token_buckets),
        "num_seqs_buckets": sorted(settings.sequence_buckets),
    }
    config = {**{name: value for name, value in buckets.items() if value}, **own_neuron_config(settings)}
    batched = settings.batched_tokens or max(settings.token_buckets, default=None)
    return (
        *(("--max-num-batched-tokens", str(batched)) if batched else ()),
        *(("--additional-config", _json({"neuron_config": config})) if config else ()),
    )


def _nxdi(settings: Fleet) -> Arguments:
    """The underscore form: with hyphens the plugin ignores it without a word. Prefix caching is off: with one
    sequence its answers are wrong."""
    caching = "--enable-prefix-caching" in settings.engine_arguments
    config = own_neuron_config(settings)
    return (
        *("--block-size", str(BLOCK_TOKENS)),
        *("--num-gpu-blocks-override", str(key_value_blocks(settings, prefix_caching=caching))),
        *(() if caching else ("--no-enable-prefix-caching",)),
        *(("--additional-config", _json({"override_neuron_config": config})) if config else ()),
    )


def key_value_blocks(settings: Fleet, *, prefix_caching: bool) -> int:
    """NxD Inference's user guide: without prefix caching a block is a sequence."""
    if not prefix_caching:
        return settings.sequences
    return math.ceil(settings.context_tokens / BLOCK_TOKENS) * settings.sequences


def own_neuron_config(settings: Fleet) -> dict[str, object]:
    """What the file's own --additional-config says, to be merged: the engine takes the option once.

    Empty where it is no JSON object; a rule has said so.
    """
    words = settings.engine_arguments
    if "--additional-config" not in words[:-1]:
        return {}
    try:
        given = json.loads(words[words.index("--additional-config") + 1])
    except ValueError:
        return {}
    found = given.get("neuron_config" if settings.engine == "vllm-neuron" else "override_neuron_config")
    return dict(found) if isinstance(found, dict) else {}


def engine_arguments(settings: Fleet) -> Arguments:
    """The file's, without those which are merged."""
    words = settings.engine_arguments
    if "--additional-config" not in words:
        return words
    place = words.index("--additional-config")
    return (*words[:place], *words[place + 2 :])


_NEURON_ONLY = ("--additional-config", "--block-size", "--num-gpu-blocks-override")


def _shared_words(words: Arguments) -> Arguments:
    """Without an option of Neuron's and its value."""
    found: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _NEURON_ONLY:
            skip = True
        else:
            found.append(word)
    return tuple(found)


def _shutdown(version: tuple[int, ...] | None, times: FleetTimes) -> Arguments:
    """Older versions do not know it, and abort: there the deregistration delay alone protects streams."""
    if version is None or version < SHUTDOWN_TIMEOUT_SINCE:
        return ()
    return ("--shutdown-timeout", str(times.shutdown))


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)
