"""From the paths of a command line to what lint reads: files as they are, directories walked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from stacks.domain.lint import BYTES_MAX, Input

PASSED_OVER = frozenset({".git", "node_modules", ".venv", "cdk.out", "__pycache__"})
"""Directories of other tools, unless they are named themselves."""


def read_inputs(paths: Iterable[Path]) -> Iterator[Input]:
    """Each file once, in the order of the command line and then of names."""
    seen: set[str] = set()
    for path in paths:
        for file in _files_below(path) if os.path.isdir(path) else (path,):  # noqa: PTH112 (never raises)
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield _read(file, named=file is path)


def _files_below(directory: Path) -> Iterator[Path]:
    """Symbolic links to directories are not followed: they can lead in circles."""
    for parent, directories, files in os.walk(directory):
        directories[:] = sorted(name for name in directories if name not in PASSED_OVER)
        yield from (Path(parent) / name for name in sorted(files))


def _read(file: Path, *, named: bool) -> Input:
    try:
        if not file.is_file():
            problem = "no regular file" if file.exists() else "no such file"
            return Input(str(file), b"", named, problem=problem)
        with file.open("rb") as stream:
            return Input(str(file), stream.read(BYTES_MAX + 1), named)
    except OSError as error:
        return Input(str(file), b"", named, problem=f"cannot be read: {error.strerror}")
