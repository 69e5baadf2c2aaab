"""How many GPU replicas: first those that replace what is missing, then by requests that wait."""

from __future__ import annotations

import math
from dataclasses import replace

from fallback.memory import Memory
from fallback.observed import Observation, Settings

SCALE_OUT_SECONDS = 300
QUIET_SECONDS = 900


def gpu_replicas(
    settings: Settings,
    seen: Observation,
    memory: Memory,
    now: float,
    replaced_share: int | None,
    serves: bool,
) -> Memory:
    """The memory with the count in `gpu_wanted`, within its bounds. `replaced_share` is the part of Neuron's work that
    GPU is needed for, None when it is not; `serves`: the rule sends requests to GPU after this check."""
    free = None if serves else _since(memory.gpu_free_since, now)
    if replaced_share is None:
        drained = free is not None and now - free >= settings.drain_seconds
        wanted = settings.gpu_minimum if drained else seen.gpu.desired
        memory = replace(memory, gpu_scaled_at=None, gpu_quiet_since=None)
    else:
        wanted, memory = _needed(settings, seen, memory, now, replaced_share)
    wanted = max(settings.gpu_minimum, min(settings.gpu_maximum, wanted))
    return replace(memory, gpu_wanted=wanted, gpu_needed=replaced_share is not None, gpu_free_since=free)


def _needed(
    settings: Settings, seen: Observation, memory: Memory, now: float, replaced_share: int
) -> tuple[int, Memory]:
    floor = max(1, settings.gpu_minimum)
    quiet = seen.gpu.serving and seen.gpu.waiting == 0
    quiet_since = _since(memory.gpu_quiet_since, now) if quiet else None
    memory = replace(memory, gpu_quiet_since=quiet_since)
    if not memory.gpu_needed:
        replacements = math.ceil(seen.neuron.desired * replaced_share / 100)
        return max(floor, seen.gpu.desired, replacements), replace(memory, gpu_scaled_at=now)
    wanted = max(floor, seen.gpu.desired if memory.gpu_wanted is None else memory.gpu_wanted)
    if _overloaded(settings, seen, memory, now, wanted):
        return wanted + 1, replace(memory, gpu_scaled_at=now)
    if wanted > floor and quiet_since is not None and now - quiet_since >= QUIET_SECONDS:
        return wanted - 1, replace(memory, gpu_quiet_since=now)
    return wanted, memory


def _overloaded(settings: Settings, seen: Observation, memory: Memory, now: float, wanted: int) -> bool:
    """Only when all that was asked for is up: what still starts will help."""
    gpu = seen.gpu
    waits = (gpu.waiting or 0) > settings.waiting_per_replica * max(1, gpu.healthy)
    rested = memory.gpu_scaled_at is None or now - memory.gpu_scaled_at >= SCALE_OUT_SECONDS
    return waits and rested and gpu.healthy >= wanted


def _since(before: float | None, now: float) -> float:
    return now if before is None else before
