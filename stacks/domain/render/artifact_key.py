"""Which compiled graphs are whose: everything that makes them different goes into a name of their directory."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from stacks.domain.fleet_plan import FleetPlan

Ingredients = Mapping[str, object]
_DIGITS = 16


def ingredients(fleet: FleetPlan, arguments: tuple[str, ...]) -> Ingredients:
    """`arguments` are the engine's, without ports and names: they hold the shapes.

    vLLM Neuron's key does not hold the weights (compilation_cache), so that a fine-tuned model hits; the model's
    source stays in the key, as another architecture may hide behind the same family. Its revision does not.
    """
    settings = fleet.settings
    image = fleet.image
    found: dict[str, object] = {
        "engine": settings.engine,
        "image": image.pinned_uri if image else None,
        "sdk": image.sdk if image else None,
        "instance_type": fleet.instance_type,
        "logical_core_size": fleet.logical_core_size,
        "model": settings.model.source,
        "tensor_parallel": settings.tensor_parallel,
        "context_tokens": settings.context_tokens,
        "sequences": settings.sequences,
        "batched_tokens": settings.batched_tokens,
        "token_buckets": list(settings.token_buckets),
        "sequence_buckets": list(settings.sequence_buckets),
        "arguments": list(arguments),
        "environment": dict(sorted(settings.environment.items())),
    }
    if not ignores_weights(settings.engine):
        found["revision"] = settings.model.revision
    return found


def ignores_weights(engine: str) -> bool:
    """NxD Inference and traced encoders keep weights among what they compile."""
    return engine == "vllm-neuron"


def artifact_key(found: Ingredients) -> str:
    """Readable in front, exact behind."""
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    front = "-".join(str(found[name]) for name in ("engine", "sdk", "instance_type"))
    front += f"-lnc{found['logical_core_size']}-tp{found['tensor_parallel']}"
    return f"{re.sub(r'[^A-Za-z0-9.-]', '-', front)}-{digest}"
