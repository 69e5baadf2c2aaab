"""The words of the kit's encoder server: shapes to compile, limits to keep."""

from __future__ import annotations

from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.serving import engine_on

SHORTEST_BUCKET_TOKENS = 128
QUEUE_FACTOR = 4
"""Batches that wait at most: more is answered with 429."""


def encoder_arguments(fleet: FleetPlan, port: int, artifacts: str) -> tuple[str, ...]:
    settings = fleet.settings
    batches = batch_buckets(fleet)
    return (
        *("--name", settings.model.name, "--port", str(port)),
        *("--backend", backend_of(fleet.instance_type), "--artifacts", artifacts),
        *("--batches", ",".join(map(str, batches))),
        *("--lengths", ",".join(map(str, length_buckets(fleet)))),
        *("--cores", str(encoder_cores(fleet))),
        *("--queue", str(batches[-1] * encoder_cores(fleet) * QUEUE_FACTOR)),
        *("--drain-seconds", str(fleet.times.shutdown), "--keep-alive-seconds", str(fleet.times.keep_alive)),
        *settings.engine_arguments,
    )


def encoder_cores(fleet: FleetPlan) -> int:
    """All of a replica's chips; nothing states how torch-neuron places graphs, so that Inf1 takes one core."""
    if backend_of(fleet.instance_type) == "torch-neuron":
        return 1
    return len(fleet.slices[0].devices) * (fleet.logical_cores_per_node // fleet.chips_per_node)


def backend_of(instance_type: str) -> str:
    """The framework of the kit's image for the family: Inf1 runs the older one only."""
    row = engine_on("encoder", instance_type.partition(".")[0])
    return row.framework if row else "torch-neuronx"


def batch_buckets(fleet: FleetPlan) -> tuple[int, ...]:
    given = fleet.settings.sequence_buckets
    return tuple(sorted(given)) if given else _doubling(1, fleet.settings.sequences)


def length_buckets(fleet: FleetPlan) -> tuple[int, ...]:
    """Graphs have fixed shapes: one for each batch and length."""
    given = fleet.settings.token_buckets
    return tuple(sorted(given)) if given else _doubling(SHORTEST_BUCKET_TOKENS, fleet.settings.context_tokens)


def _doubling(first: int, last: int) -> tuple[int, ...]:
    """Powers of two times `first`, and `last` itself."""
    found = []
    size = first
    while size < last:
        found.append(size)
        size *= 2
    return (*found, last)
