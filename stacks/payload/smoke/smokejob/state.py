"""Everything that the next step depends on beside the seed and the text."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smokejob.model import PARAMETER_COUNT, initial_parameters

VECTORS = ("parameters", "first_moment", "second_moment")


@dataclass(frozen=True, slots=True)
class TrainingState:
    """After `step` steps; `loss` is that of the last one (None before the first). Vectors are flat float32."""

    step: int
    loss: float | None
    parameters: NDArray[np.float32]
    first_moment: NDArray[np.float32]
    second_moment: NDArray[np.float32]


def initial_state(seed: int) -> TrainingState:
    zeros = np.zeros(PARAMETER_COUNT, dtype=np.float32)
    return TrainingState(0, None, initial_parameters(seed), zeros, zeros)


def to_vector(state: TrainingState) -> NDArray[np.float32]:
    return np.concatenate([getattr(state, name) for name in VECTORS])


def from_vector(step: int, loss: float | None, vector: NDArray[np.float32]) -> TrainingState:
    return TrainingState(step, loss, *vector.reshape(len(VECTORS), PARAMETER_COUNT))
