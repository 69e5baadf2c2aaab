"""What a call of the controller leaves behind: a line in its log, and the state parameter that `status` shows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from shift.decisions import Action, Close, Decision, Forget, Open, Remember, SetNodes, Stop, job_of
from shift.override import Override
from shift.settings import Settings
from shift.sides import Goal

VERSION = 1
ITEMS, LETTERS, REFUSAL_LETTERS = 4, 120, 240
"""A parameter holds 4 KiB."""


def report(goal: Goal, decision: Decision, done: Sequence[Action], errors: Sequence[str]) -> dict[str, Any]:
    return {
        "goal": goal.state,
        "why": goal.words,
        "since": goal.since.isoformat(),
        "done": [repr(action) for action in done],
        "waits": list(decision.waits),
        "late": decision.is_late,
        "errors": list(errors),
    }


def state_document(
    settings: Settings, goal: Goal, override: Override, said: dict[str, Any], now: datetime
) -> dict[str, Any]:
    """`said` is of `report`. Without what was done last, which an earlier call may have done."""
    return {
        "version": VERSION,
        "checked_at": moment(now),
        "state": goal.state,
        # Before the first window that the timetable knows of, nothing began.
        "since": moment(goal.since) if goal.since.year > 1 else None,
        "why": goal.words[:LETTERS],
        "nodes_maximum": goal.nodes,
        "override": _override(override) if override.holds_at(now) else None,
        "waits": short(said["waits"]),
        "late": said["late"],
        "failed": short(said["errors"], REFUSAL_LETTERS),
        "timetable": {
            "zone": settings.zone.key,
            "drain_minutes": settings.drain_minutes,
            "windows": [[w.weekday, w.start_minute, w.minutes, w.replicas] for w in settings.windows],
        },
    }


def last(done: Sequence[Action], now: datetime) -> dict[str, Any]:
    return {"at": moment(now), "done": short([in_words(action) for action in done])}


def in_words(action: Action) -> str:
    if isinstance(action, SetNodes):
        low, high = action.minimum, action.maximum
        span = str(low) if low == high else f"{low} to {high}"
        return f"{action.service}: nodes {span}, wanted now {action.desired}"
    if isinstance(action, Open):
        return "training may start jobs"
    if isinstance(action, Close):
        return "training starts no more jobs"
    if isinstance(action, Remember):
        return f"job {action.job.name} is to start again later"
    job = f"job {job_of(action)}"
    if isinstance(action, Stop):
        return f"{job} was asked to stop"
    return f"{job} needs nothing more" if isinstance(action, Forget) else f"{job} was submitted again"


def short(sentences: Sequence[str], letters: int = LETTERS) -> list[str]:
    kept = [one[:letters] for one in dict.fromkeys(sentences)]
    return kept if len(kept) <= ITEMS else [*kept[:ITEMS], f"and {len(kept) - ITEMS} more"]


def moment(time: datetime) -> str:
    return time.isoformat(timespec="seconds")


def _override(override: Override) -> dict[str, Any]:
    until = override.until
    return {
        "mode": override.mode,
        "until": None if until is None else moment(until),
        "reason": override.reason[:LETTERS],
    }
