"""Data parallel with numpy: each rank differentiates its share, rank 0 sums, every rank makes the same update."""

import numpy as np

from smokejob.adam import adam_update, step_size
from smokejob.corpus import Windows
from smokejob.group import Group
from smokejob.model import loss_sum_and_gradient
from smokejob.state import TrainingState


class NumpyBackend:
    description = "numpy on the host's CPU (no accelerator is used)"
    device = "cpu"

    def __init__(self, group: Group) -> None:
        self._group = group

    def load(self, state: TrainingState) -> None:
        self._vectors = (state.parameters, state.first_moment, state.second_moment)

    def train_step(self, step: int, windows: Windows, signal_number: int) -> tuple[float, int]:
        count = len(windows.targets)
        mine = windows.part(self._group.rank, self._group.processes)
        parameters, first, second = self._vectors
        loss_sum, gradient = loss_sum_and_gradient(parameters, mine.inputs, mine.targets)
        total = self._group.total(gradient, loss_sum, signal_number)
        self._vectors = adam_update(
            parameters, first, second, total.vector / np.float32(count), np.float32(step_size(step))
        )
        return total.loss_sum / count, total.signal_number

    def state(self, step: int, loss: float) -> TrainingState:
        return TrainingState(step, loss, *self._vectors)

    def close(self) -> None:
        """Nothing is held beside the group's connections."""
