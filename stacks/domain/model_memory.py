"""How much device memory a model takes in training: an estimate from its parameters, its precision and its degrees.

"Model, gradients and optimizer state: approximately 4 times the model size" is optimum-neuron's rule (guide
distributed_training, read 2026-08); activations come on top and are not estimated. Half of the state is the optimizer's.
"""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.catalog import InstanceType
from stacks.domain.environment import Job

STATE_SHARE_SOURCE = "optimum-neuron@213224e guide distributed_training"
BYTES_PER_PARAMETER = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
TRAINED_BYTES_MIN = 2
"""No source says that a trained weight is kept in 8 bits: fp8 is what it is multiplied in."""
STATE_FACTOR = 4
BYTES_PER_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """In GiB; `*_per_core` are of one logical core. Experts are taken to be most of an expert-parallel model."""

    weights: float
    """All weights, once."""
    state: float
    """Weights, gradients and optimizer, once."""
    state_per_core: float
    """Split by tensor, pipeline and expert degree; every data-parallel rank holds a copy."""
    state_per_core_sharded: float
    """The least: everything is spread over all cores of the job."""
    memory_per_core: float
    memory: float
    """Of all cores of the job."""


def memory_per_logical_core_gib(instance_type: InstanceType, logical_core_size: int) -> float | None:
    """None where the chip's memory or its cores are not known."""
    cores = instance_type.logical_cores(logical_core_size)
    return instance_type.device_memory_gib / cores if cores else None


def estimate_memory(job: Job, logical_cores: int, memory_per_core_gib: float) -> MemoryEstimate | None:
    """None while the file does not say how many parameters the model has."""
    if job.model is None or job.model.parameters_billions is None:
        return None
    size = BYTES_PER_PARAMETER[job.precision]
    parameters = job.model.parameters_billions * 1e9
    state = parameters * max(size, TRAINED_BYTES_MIN) * STATE_FACTOR / BYTES_PER_GIB
    degrees = job.parallelism
    return MemoryEstimate(
        weights=parameters * size / BYTES_PER_GIB,
        state=state,
        state_per_core=state / (degrees.tensor * degrees.pipeline * degrees.expert),
        state_per_core_sharded=state / logical_cores,
        memory_per_core=memory_per_core_gib,
        memory=memory_per_core_gib * logical_cores,
    )
