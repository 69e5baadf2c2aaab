"""What a check leaves for the next one. It may be lost or garbled at any time: then the controller begins anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

CHECK_SECONDS = 60
COUNTED_AFTER_SECONDS = 40
"""A check sooner than this after the last one (started by hand, or twice) does not count as another."""
HOUR_SECONDS = 3600
REMEMBERED_CHECKS = 12
REMEMBERED_SWITCHES = 24


@dataclass(frozen=True, slots=True)
class Memory:
    """Times are seconds since 1970. Histories have one letter a check, the newest last: "+" good, "-" bad."""

    checked_at: float | None = None
    neuron: str = ""
    gpu: str = ""
    short: str = ""
    """ "+" where Neuron had what it wants, "-" where capacity was refused and requests waited."""
    neuron_down: bool | None = None
    """None: not known yet."""
    gpu_down: bool | None = None
    is_short: bool = False
    heading: int | None = None
    """GPU's share that was decided; the rule gets there step by step."""
    since: float | None = None
    switches: tuple[float, ...] = ()
    starting_since: float | None = None
    """Of a deployment or a wake that goes on."""
    gpu_free_since: float | None = None
    gpu_wanted: int | None = None
    gpu_needed: bool = False
    gpu_scaled_at: float | None = None
    gpu_quiet_since: float | None = None

    def switches_lately(self, now: float) -> tuple[float, ...]:
        return tuple(at for at in self.switches if now - HOUR_SECONDS < at <= now)

    def counts(self, now: float) -> bool:
        """Whether a check at this time is a new one. A clock that went back starts anew."""
        return self.checked_at is None or not 0 <= now - self.checked_at < COUNTED_AFTER_SECONDS

    def switched(self, heading: int, now: float) -> Memory:
        switches = (*self.switches_lately(now), now)[-REMEMBERED_SWITCHES:]
        return replace(self, heading=heading, since=now, switches=switches)


def memory_document(memory: Memory) -> dict[str, Any]:
    return asdict(memory)


def read_memory(document: object, now: float) -> Memory:
    """What is missing or senseless in it is as if it had never been; times in the future too."""
    fields: Mapping[str, Any] = document if isinstance(document, Mapping) else {}

    def at(name: str) -> float | None:
        return _time(fields.get(name), now)

    switches = fields.get("switches")
    times = [_time(value, now) for value in switches] if isinstance(switches, list | tuple) else []
    return Memory(
        checked_at=at("checked_at"),
        neuron=_history(fields.get("neuron")),
        gpu=_history(fields.get("gpu")),
        short=_history(fields.get("short")),
        neuron_down=_flag(fields.get("neuron_down")),
        gpu_down=_flag(fields.get("gpu_down")),
        is_short=_flag(fields.get("is_short")) or False,
        heading=_number(fields.get("heading"), 100),
        since=at("since"),
        switches=tuple(value for value in times if value is not None)[-REMEMBERED_SWITCHES:],
        starting_since=at("starting_since"),
        gpu_free_since=at("gpu_free_since"),
        gpu_wanted=_number(fields.get("gpu_wanted"), 1_000_000),
        gpu_needed=_flag(fields.get("gpu_needed")) or False,
        gpu_scaled_at=at("gpu_scaled_at"),
        gpu_quiet_since=at("gpu_quiet_since"),
    )


def _time(value: object, now: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= now else None


def _number(value: object, most: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= most else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _history(value: object) -> str:
    if not isinstance(value, str) or set(value) - {"+", "-"}:
        return ""
    return value[-REMEMBERED_CHECKS:]
