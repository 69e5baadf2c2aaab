"""Which run a launch means: one that is there, or a new one with the next number. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stacks.domain.errors import InputError, WorldError

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
"""AWS Batch's own rule for job names."""


@dataclass(frozen=True, slots=True)
class Resume:
    run: str
    step: int


@dataclass(frozen=True, slots=True)
class ResumeWish:
    """What --resume says. `run` None: the newest run that has a checkpoint; `step` None: its newest."""

    run: str | None
    step: int | None


def number_of(job: str, run: str) -> int | None:
    match = re.fullmatch(rf"{re.escape(job)}-(\d+)", run)
    return int(match.group(1)) if match else None


def numbered(job: str, runs: Iterable[str]) -> list[str]:
    """Those that the kit named, newest first."""
    found = [(number, run) for run in runs if (number := number_of(job, run)) is not None]
    return [run for _, run in sorted(found, reverse=True)]


def next_run(job: str, runs: Iterable[str]) -> str:
    newest = numbered(job, runs)[:1]
    last = number_of(job, newest[0]) if newest else 0
    return f"{job}-{(last or 0) + 1}"


def parse_resume(text: str) -> ResumeWish:
    """`latest`, `RUN` or `RUN:STEP`."""
    if text == "latest":
        return ResumeWish(None, None)
    run, separator, step = text.partition(":")
    if not RUN_NAME.fullmatch(run) or (separator and not step.isdecimal()):
        raise InputError(
            f"--resume {text} is not understood", "write latest, RUN or RUN:STEP, for example smoke-1:40"
        )
    return ResumeWish(run, int(step) if separator else None)


def check_run_name(run: str) -> str:
    if not RUN_NAME.fullmatch(run):
        raise InputError(
            f"--run {run} is not a name that AWS Batch takes",
            "1 to 128 of letters, digits, - and _, a letter or digit first",
        )
    return run


def choose_checkpoint(wish: ResumeWish, run: str, steps: tuple[int, ...]) -> Resume:
    """Raises InputError with the steps that there are."""
    if not steps:
        raise InputError(
            f"run {run} has no complete checkpoint", "see `neuronkit status FILE` for the runs that have"
        )
    step = steps[-1] if wish.step is None else wish.step
    if step not in steps:
        raise InputError(
            f"run {run} has no checkpoint of step {step}",
            f"it has: {', '.join(str(known) for known in steps)}",
        )
    return Resume(run, step)


def check_join(run: str, wish: ResumeWish | None, resumes: Resume | None) -> None:
    """A repeated command joins its own run; a wish that the active run does not fulfil is no repetition."""
    if wish is None:
        return
    fits = resumes is not None and wish.run in (None, resumes.run) and wish.step in (None, resumes.step)
    if not fits:
        words = f"resumes {resumes.run} at step {resumes.step}" if resumes else "began without a checkpoint"
        raise WorldError(
            f"run {run} of this job is active and {words}; --resume asks for something else",
            f"wait for its end, stop it with `neuronkit status FILE --cancel {run}`, or name another run with --run NAME",
        )
