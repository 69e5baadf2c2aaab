"""The command line. Every process of a run is started with the same arguments."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from smokejob.errors import InputError

_DAY_SECONDS = 86400.0
_LONGEST_STEP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Options:
    steps: int
    global_batch: int
    checkpoint_every: int
    seed: int
    backend: str
    fail_at_step: int | None
    fail_rank: int
    step_seconds: float
    rendezvous_seconds: float
    peer_seconds: float


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"wrong arguments: {message}")


def parse_options(arguments: Sequence[str]) -> Options:
    """Raises InputError; `--help` prints and exits 0."""
    return Options(**vars(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="train.py", description="Train a small next-byte language model, data parallel.")
    positive = _whole_number(1)
    add = parser.add_argument
    add("--steps", type=positive, default=60, metavar="N", help="the step to train up to (default 60)")
    add(
        "--batch-size",
        dest="global_batch",
        type=positive,
        default=2048,
        metavar="N",
        help="text windows a step over ALL processes, so that losses do not depend on how many share the work "
        "(default 2048)",
    )
    add(
        "--checkpoint-every",
        type=positive,
        default=20,
        metavar="N",
        help="steps between checkpoints (default 20)",
    )
    add(
        "--seed",
        type=_whole_number(0),
        default=0,
        metavar="N",
        help="of the parameters and of the data order",
    )
    add("--backend", choices=("auto", "numpy", "jax"), default="auto", help="auto: jax where it is installed")
    add("--fail-at-step", type=positive, metavar="N", help="for tests: exit 17 before step N")
    add(
        "--fail-rank",
        type=_whole_number(0),
        default=0,
        metavar="R",
        help="for tests: which rank fails (default 0)",
    )
    add(
        "--step-seconds",
        type=_seconds(0, _LONGEST_STEP_SECONDS),
        default=0.0,
        metavar="S",
        help="make a step last at least S seconds",
    )
    add(
        "--rendezvous-seconds",
        type=_seconds(0.1),
        default=600.0,
        metavar="S",
        help="wait S for all to start (default 600)",
    )
    add(
        "--peer-seconds",
        type=_seconds(0.1),
        default=1800.0,
        metavar="S",
        help="give up a silent peer after S (default 1800)",
    )
    return parser


def _whole_number(lowest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest}")
        return int(text)

    return parse


def _seconds(lowest: float, highest: float = _DAY_SECONDS) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not lowest <= seconds <= highest:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number of seconds from {lowest:g} to {highest:g}"
            )
        return seconds

    return parse
