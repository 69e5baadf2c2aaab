"""When a side counts as down and as up again: from its last checks, so that one bad or good minute decides nothing."""

from __future__ import annotations

from dataclasses import replace

from fallback.memory import REMEMBERED_CHECKS, Memory
from fallback.observed import Observation, Settings

GOOD, BAD = "+", "-"
DOWN_CHECKS = 3
UP_CHECKS = 5
FLAPPING_BAD, FLAPPING_OF = 5, 10


def asleep(settings: Settings, seen: Observation) -> bool:
    """Of its own accord: not where somebody gave its capacity away."""
    sleeps = settings.sleeps and settings.mode != "model"
    return sleeps and seen.neuron.desired == 0 and not seen.neuron.withdrawn


def off(settings: Settings, seen: Observation, now: float) -> bool:
    """Nobody asks for anything: a fleet that is not deployed to the end, or about to be destroyed."""
    kept = settings.sleeps or settings.mode == "model" or seen.override.at(now) == "gpu"
    return not kept and not seen.neuron.withdrawn and seen.neuron.desired == seen.gpu.desired == 0


def waking(seen: Observation) -> bool:
    return seen.weights.waker > 0 and seen.neuron.desired > 0


def starting(settings: Settings, seen: Observation, memory: Memory, now: float) -> bool:
    """A deployment, a wake or a first start that is no failure yet: not too long, no capacity refused, nobody else serves."""
    if memory.starting_since is None or seen.neuron.refused or seen.gpu.serving:
        return False
    return now - memory.starting_since < settings.start_seconds


def remember(settings: Settings, seen: Observation, memory: Memory, now: float) -> Memory:
    """The memory with this check in it; a check that does not count changes no history."""
    memory = _start_noted(seen, memory, now)
    memory = _first_impression(settings, seen, memory)
    if not memory.counts(now):
        return memory
    memory = replace(
        memory,
        checked_at=now,
        neuron=_longer(memory.neuron, _neuron_mark(settings, seen, memory, now)),
        gpu=_longer(memory.gpu, GOOD if seen.gpu.serving else BAD),
        short=_longer(memory.short, _short_mark(settings, seen, memory)),
    )
    if asleep(settings, seen) or off(settings, seen, now):
        memory = replace(memory, neuron="", neuron_down=False)
    memory = _start_noted(seen, memory, now)
    return replace(
        memory,
        neuron_down=_down(memory.neuron, bool(memory.neuron_down)),
        gpu_down=_down(memory.gpu, bool(memory.gpu_down)),
        is_short=_down(memory.short, memory.is_short),
    )


def all_bad(history: str, checks: int) -> bool:
    return len(history) >= checks and set(history[-checks:]) == {BAD}


def all_good(history: str, checks: int) -> bool:
    return len(history) >= checks and set(history[-checks:]) == {GOOD}


def good_in_a_row(history: str) -> int:
    return len(history) - len(history.rstrip(GOOD))


def _start_noted(seen: Observation, memory: Memory, now: float) -> Memory:
    """A first start is over with the first check that counts, good or bad."""
    first = memory.checked_at is not None and not memory.neuron and seen.neuron.desired > 0
    goes_on = seen.neuron.deploying or waking(seen) or (first and not seen.neuron.serving)
    return replace(memory, starting_since=(memory.starting_since or now) if goes_on else None)


def _first_impression(settings: Settings, seen: Observation, memory: Memory) -> Memory:
    """Without a memory, a share above the file's says that Neuron was down lately."""
    if memory.neuron_down is None:
        memory = replace(memory, neuron_down=(seen.weights.share or 0) > settings.base_share)
    if memory.gpu_down is None:
        memory = replace(memory, gpu_down=not seen.gpu.serving)
    return memory


def _longer(history: str, mark: str) -> str:
    return (history + mark)[-REMEMBERED_CHECKS:]


def _neuron_mark(settings: Settings, seen: Observation, memory: Memory, now: float) -> str:
    if seen.neuron.serving:
        return GOOD
    return "" if starting(settings, seen, memory, now) else BAD


def _short_mark(settings: Settings, seen: Observation, memory: Memory) -> str:
    """Once short, it stays so until capacity comes: that requests wait no longer is GPU's doing."""
    neuron = seen.neuron
    busy = (neuron.waiting or 0) > settings.waiting_per_replica * neuron.serving
    lacks = neuron.serving and neuron.running < neuron.desired and neuron.refused
    return BAD if lacks and (busy or memory.is_short) else GOOD


def _down(history: str, before: bool) -> bool:
    if all_good(history, UP_CHECKS):
        return False
    flapping = history[-FLAPPING_OF:].count(BAD) >= FLAPPING_BAD
    return before or flapping or all_bad(history, DOWN_CHECKS)
