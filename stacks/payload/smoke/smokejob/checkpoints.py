"""Checkpoints on disk: `step-000020/` with `state.npz` and `checkpoint.json`.

One appears at once, complete, by a rename from a `tmp-` directory; whoever copies the directory away can leave out
`tmp-*`. `checkpoint.json` carries the hash of `state.npz`, so a copy that was cut short is known for what it is.
All are kept.
"""

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smokejob.errors import InputError, StorageError
from smokejob.model import PARAMETER_COUNT
from smokejob.state import VECTORS, TrainingState

_STATE = "state.npz"
_DESCRIPTION = "checkpoint.json"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a resumed run must share (the first three) or may change at the price of the last bits (the others)."""

    seed: int
    global_batch: int
    data_sha256: str
    processes: int
    backend: str

    @property
    def binding(self) -> dict[str, Any]:
        return {"seed": self.seed, "global_batch": self.global_batch, "data_sha256": self.data_sha256}

    @property
    def changeable(self) -> dict[str, Any]:
        return {"processes": self.processes, "backend": self.backend}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    state: TrainingState
    facts: RunFacts


class TornCheckpointError(Exception):
    """A checkpoint's directory is there, but not all of what was saved."""


def checkpoint_name(step: int) -> str:
    return f"step-{step:06d}"


def prepare_directory(directory: Path) -> None:
    """Make it, and remove what writers that were killed have left in it. Raises InputError where it cannot be used."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for interrupted in directory.glob("tmp-*"):
            shutil.rmtree(interrupted)
    except OSError as error:
        raise InputError(f"cannot use the checkpoint directory {directory}: {error.strerror}") from error


def write_checkpoint(directory: Path, state: TrainingState, facts: RunFacts) -> Path:
    """Replaces one of the same step: a run that resumed from before it has come to it again."""
    final = directory / checkpoint_name(state.step)
    temporary = directory / f"tmp-{final.name}"
    try:
        temporary.mkdir()
        np.savez(temporary / _STATE, **{name: getattr(state, name) for name in VECTORS})
        description = {
            "step": state.step,
            "loss": state.loss,
            **facts.binding,
            **facts.changeable,
            "sha256": hashlib.sha256((temporary / _STATE).read_bytes()).hexdigest(),
        }
        (temporary / _DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        if final.exists():
            shutil.rmtree(final)
        temporary.rename(final)
    except OSError as error:
        raise StorageError(f"cannot write the checkpoint {final}: {error.strerror}") from error
    return final


def checkpoint_to_resume(directory: Path, step: int | None, say: Callable[[str], None]) -> Checkpoint | None:
    """The one of `step` (0: none), else the newest complete one, telling through `say` which were passed over.

    Raises InputError where the one that was asked for cannot be used.
    """
    if step == 0:
        return None
    if step is not None:
        try:
            return read_checkpoint(directory / checkpoint_name(step))
        except TornCheckpointError as error:
            found = ", ".join(str(_step(path)) for path in _stored(directory)) or "none"
            raise InputError(
                f"cannot resume from step {step}: {error}; steps with a checkpoint: {found}"
            ) from error
    for path in reversed(_stored(directory)):
        try:
            return read_checkpoint(path)
        except TornCheckpointError as error:
            say(f"warning: skipping a damaged checkpoint: {error}")
    return None


def read_checkpoint(path: Path) -> Checkpoint:
    """Raises TornCheckpointError for anything but the checkpoint that was written."""
    try:
        description = json.loads((path / _DESCRIPTION).read_text(encoding="utf-8"))
        content = (path / _STATE).read_bytes()
        if description["sha256"] != hashlib.sha256(content).hexdigest():
            raise TornCheckpointError(f"{path / _STATE} is not what was saved (its hash differs)")
        facts = RunFacts(
            seed=int(description["seed"]),
            global_batch=int(description["global_batch"]),
            data_sha256=str(description["data_sha256"]),
            processes=int(description["processes"]),
            backend=str(description["backend"]),
        )
        state = _read_state(content, int(description["step"]), float(description["loss"]))
    except OSError as error:
        raise TornCheckpointError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise TornCheckpointError(f"{path}: unreadable ({error})") from error
    if path.name != checkpoint_name(state.step):
        raise TornCheckpointError(f"{path} holds step {state.step}")
    return Checkpoint(state, facts)


def _read_state(content: bytes, step: int, loss: float) -> TrainingState:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        vectors = [arrays[name] for name in VECTORS]
    if any(vector.shape != (PARAMETER_COUNT,) or vector.dtype != np.float32 for vector in vectors):
        raise ValueError("it is of another model")
    return TrainingState(step, loss, *vectors)


def _stored(directory: Path) -> list[Path]:
    """Ordered by step."""
    return sorted((path for path in directory.glob("step-*") if path.name[5:].isdecimal()), key=_step)


def _step(path: Path) -> int:
    return int(path.name[5:])
