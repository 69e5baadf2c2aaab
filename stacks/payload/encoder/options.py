"""The words of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BACKENDS = ("torch-neuronx", "torch-neuron", "stand-in")


@dataclass(frozen=True)
class Options:
    model: Path
    name: str
    host: str
    port: int
    backend: str
    artifacts: Path
    batches: tuple[int, ...]
    """Ascending: the sizes that are compiled."""
    lengths: tuple[int, ...]
    """Ascending, in tokens."""
    cores: int
    """Each runs batches of its own."""
    queue: int
    """Inputs that wait at most; more is answered with 429."""
    batch_wait_seconds: float
    """How long a first input waits for others."""
    drain_seconds: float
    keep_alive_seconds: float
    body_bytes_max: int
    stand_in_seconds: float
    """With the stand-in: what a batch takes."""


def options(words: Sequence[str] | None) -> Options:
    found = _parser().parse_args(words)
    return Options(**vars(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="encoder.pyz")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--host", default="0.0.0.0")  # noqa: S104 - the container's only way out is the load balancer
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--backend", choices=BACKENDS, default="torch-neuronx")
    parser.add_argument("--artifacts", type=Path, required=True)
    parser.add_argument("--batches", type=_ascending, default=(1, 2, 4, 8))
    parser.add_argument("--lengths", type=_ascending, default=(128, 256, 512))
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--queue", type=int, default=64)
    parser.add_argument("--batch-wait-seconds", type=float, default=0.005)
    parser.add_argument("--drain-seconds", type=float, default=60.0)
    parser.add_argument("--keep-alive-seconds", type=float, default=310.0)
    parser.add_argument("--body-bytes-max", type=int, default=4 * 1024 * 1024)
    parser.add_argument("--stand-in-seconds", type=float, default=0.0)
    return parser


def _ascending(text: str) -> tuple[int, ...]:
    found = tuple(sorted({int(word) for word in text.split(",")}))
    if not found or found[0] < 1:
        raise argparse.ArgumentTypeError("positive numbers with commas between them")
    return found
