"""What computes a step: numpy on the host's CPU, or JAX on the devices that it finds."""

import importlib
import importlib.util
from typing import Protocol

from smokejob.corpus import Windows
from smokejob.environment import JobEnvironment
from smokejob.errors import InputError
from smokejob.group import Group
from smokejob.numpy_backend import NumpyBackend
from smokejob.state import TrainingState


class Backend(Protocol):
    """Every rank calls the same methods in the same order."""

    @property
    def description(self) -> str:
        """What computes, in words."""

    @property
    def device(self) -> str:
        """JAX's name for what it computes on; "cpu" for numpy."""

    def load(self, state: TrainingState) -> None: ...

    def train_step(self, step: int, windows: Windows, signal_number: int) -> tuple[float, int]:
        """The step's mean loss over all `windows`, and a signal that some rank got (0 for none)."""

    def state(self, step: int, loss: float) -> TrainingState: ...

    def close(self) -> None:
        """After a run that all ranks leave together."""


def chosen_backend(wanted: str) -> str:
    """`auto` is jax where it is installed. A JAX that is installed but broken is an error, not a reason for numpy."""
    installed = importlib.util.find_spec("jax") is not None
    if wanted == "jax" and not installed:
        raise InputError("--backend jax: JAX is not installed here; --backend numpy needs only numpy")
    return "jax" if wanted != "numpy" and installed else "numpy"


def start_backend(name: str, group: Group, environment: JobEnvironment) -> Backend:
    if name == "numpy":
        return NumpyBackend(group)
    try:
        module = importlib.import_module("smokejob.jax_backend")
    except ImportError as error:
        raise InputError(
            f"JAX is installed, but does not import ({error}); --backend numpy does without it"
        ) from error
    backend: Backend = module.start_jax(group, environment)
    return backend
