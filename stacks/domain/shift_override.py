"""What a person says against the timetable of a shift, in its parameter. Pure; `status` and the controller on AWS share it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

AUTO = "auto"
MODES = (AUTO, "serve", "train")
"""Besides auto, the state of the timetable that holds instead."""


@dataclass(frozen=True, slots=True)
class Override:
    mode: str = AUTO
    until: datetime | None = None
    changed_at: datetime | None = None
    reason: str = ""
    complaint: str = ""
    """Why it could not be read: then it is "auto"."""

    def holds_at(self, now: datetime) -> bool:
        return self.mode != AUTO and (self.until is None or now < self.until)


def read_override(text: str, changed_at: datetime | None) -> Override:
    """What cannot be read is "auto", and says why."""
    try:
        document = json.loads(text)
    except ValueError:
        return Override(complaint="the override is not JSON")
    if not isinstance(document, dict) or document.get("mode") not in MODES:
        return Override(complaint=f'the override\'s "mode" is none of {", ".join(MODES)}')
    try:
        until = _time(document.get("until"))
    except (TypeError, ValueError, OverflowError):
        return Override(complaint='the override\'s "until" is no time such as 2026-12-01T18:00:00Z')
    return Override(document["mode"], until, changed_at, str(document.get("reason") or ""))


def _time(text: str | None) -> datetime | None:
    """One without a zone is UTC."""
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
