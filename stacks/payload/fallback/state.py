"""The state parameter: what `status` shows, and the memory of the next check. README.md lists its keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fallback.decisions import Decision
from fallback.memory import Memory, memory_document, read_memory
from fallback.observed import Observation, Settings, Side
from fallback.words import moment, words

VERSION = 1
FAILED_LETTERS = 300


def state_document(
    settings: Settings, seen: Observation, decision: Decision, failed: Sequence[str], now: float
) -> dict[str, Any]:
    memory = decision.memory
    mode = seen.override.at(now)
    until = seen.override.until
    return {
        "version": VERSION,
        "checked_at": moment(now),
        "words": words(settings, seen, decision, now),
        "reason": decision.reason,
        "owner": "waker" if decision.share is None else "controller",
        "gpu_share_percent": decision.share,
        "heading_percent": decision.heading,
        "since": None if memory.since is None else moment(memory.since),
        "switches": [moment(at) for at in memory.switches_lately(now)],
        "active": decision.active,
        "sides": {"neuron": _side(seen.neuron), "gpu": _side(seen.gpu)},
        "override": None
        if mode == "auto"
        else {"mode": mode, "until": None if until is None else moment(until)},
        "failed": "; ".join(failed)[:FAILED_LETTERS],
        "memory": memory_document(memory),
    }


def read_state_memory(text: str | None, now: float) -> Memory:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        document = {}
    return read_memory(document.get("memory") if isinstance(document, dict) else None, now)


def _side(side: Side) -> dict[str, Any]:
    return {
        "healthy": side.healthy,
        "serving": side.serving,
        "desired": side.desired,
        "running": side.running,
        "pending": side.pending,
        "refused": side.refused,
    }
