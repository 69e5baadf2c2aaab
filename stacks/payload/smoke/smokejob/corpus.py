"""The text, and which windows of it a step trains on."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smokejob.errors import InputError
from smokejob.model import CONTEXT_BYTES

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Corpus:
    data: Bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Windows:
    """`inputs` are (windows, CONTEXT_BYTES) bytes; `targets` the byte that follows each."""

    inputs: Bytes
    targets: Bytes

    def part(self, rank: int, processes: int) -> "Windows":
        """This rank's share: contiguous, and within one window of the others' in size."""
        count = len(self.targets)
        share = slice(rank * count // processes, (rank + 1) * count // processes)
        return Windows(self.inputs[share], self.targets[share])


def load_corpus(path: Path) -> Corpus:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the text {path}: {error.strerror}") from error
    if len(content) <= CONTEXT_BYTES:
        raise InputError(
            f"the text {path} has {len(content)} bytes; training needs more than {CONTEXT_BYTES}"
        )
    return Corpus(np.frombuffer(content, dtype=np.uint8), hashlib.sha256(content).hexdigest())


def windows_of_step(corpus: Corpus, seed: int, step: int, count: int) -> Windows:
    """A pure function of its arguments: a resumed run, and every rank, sees the same windows at the same step."""
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, step])))
    starts = random.integers(0, len(corpus.data) - CONTEXT_BYTES, size=count)
    rows = corpus.data[starts[:, None] + np.arange(CONTEXT_BYTES + 1)]
    return Windows(rows[:, :-1], rows[:, -1])
