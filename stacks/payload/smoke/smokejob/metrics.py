"""One JSON line a step in the metrics file, and the same for people on standard output."""

import json
from pathlib import Path
from typing import Any

from smokejob.errors import InputError, StorageError


class MetricsFile:
    """For a run that has `done_steps` behind it: lines of later steps, which it will write again, are dropped."""

    def __init__(self, path: Path, done_steps: int) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _keep_steps_up_to(path, done_steps)
        except OSError as error:
            raise InputError(f"cannot write the metrics file {path}: {error.strerror}") from error

    def write(self, record: dict[str, Any]) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        except OSError as error:
            raise StorageError(f"cannot write the metrics file {self._path}: {error.strerror}") from error


def step_line(step: int, steps: int, loss: float, tokens: int, seconds: float) -> str:
    return f"step {step}/{steps} loss {loss:.4f} tokens {tokens} {seconds:.3f}s"


def _keep_steps_up_to(path: Path, last_step: int) -> None:
    """A last line without an end is what a kill in the middle of a write leaves; it goes as well."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    kept = [line for line in lines if 0 < _step_of(line) <= last_step]
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
    temporary.replace(path)


def _step_of(line: str) -> int:
    """0 for a line that is not a step's."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return 0
