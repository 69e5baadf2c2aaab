"""The override parameter: {"mode": "auto|neuron|gpu", "until": ISO 8601 or null, "reason"}."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from fallback.observed import Override


def read_override(text: str | None) -> Override:
    """What cannot be read is "auto", and says why."""
    if text is None:
        return Override(complaint="its parameter is missing")
    try:
        document = json.loads(text)
    except ValueError:
        return Override(complaint="its parameter is not JSON")
    if not isinstance(document, dict) or document.get("mode") not in ("auto", "neuron", "gpu"):
        return Override(complaint='its "mode" is none of auto, neuron, gpu')
    until = document.get("until")
    try:
        seconds = None if until is None else _seconds(until)
    except (TypeError, ValueError, OverflowError):
        return Override(complaint='its "until" is no time such as 2026-12-01T18:00:00Z')
    return Override(mode=document["mode"], until=seconds)


def _seconds(text: str) -> float:
    """A time without a zone is UTC."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
