"""How something that goes slowly is removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scripts.aws.cloud import Cloud


@dataclass(frozen=True, slots=True)
class Standing:
    state: str
    is_busy: bool
    has_failed: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class SlowRemoval:
    begin: Callable[[Cloud, str], None]
    look: Callable[[Cloud, str], Standing | None]
    """None: it is gone."""
