"""One check: what is seen and remembered -> the rule's weights, the GPU count, and what to say. Pure; see README.md."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fallback.health import DOWN_CHECKS, all_bad, asleep, off, remember, starting, waking
from fallback.memory import Memory
from fallback.observed import Observation, Settings, Side, Weights
from fallback.replicas import gpu_replicas

SWITCHES_PER_HOUR = 6
PATIENT_CHECKS = 10
"""Once they are used up, a dead group keeps its traffic so long."""
STEP_PERCENT = 25
TO_THE_WAKER = Weights(0, 0, 100)


@dataclass(frozen=True, slots=True)
class Decision:
    weights: Weights | None
    """None: the rule is right as it is, or the waker's."""
    gpu_desired: int | None
    """None: the service has it already."""
    share: int | None
    """GPU's percentage after this check; None while the waker owns the rule."""
    heading: int | None
    reason: str
    active: bool
    nobody_serves: bool
    gpu_missing: bool
    memory: Memory


@dataclass(frozen=True, slots=True)
class _Choice:
    """Where the rule should go; share None: to the waker, or as the waker has it."""

    share: int | None
    reason: str
    at_once: bool = True
    waits: bool = False
    """The share stays for now, and so does the heading."""


def decide(settings: Settings, seen: Observation, memory: Memory, now: float) -> Decision:
    """`now` in seconds since 1970. The same arguments with the returned memory and the new weights decide nothing more."""
    counted = memory.counts(now)
    memory = remember(settings, seen, memory, now)
    choice = _choice(settings, seen, memory, now)
    share = _stepped(seen, choice, counted)
    memory = _headed(memory, seen, choice, now)
    replaced = _replaced_share(settings, seen, memory, now, share)
    bounds = replace(settings, gpu_minimum=0) if choice.reason == "off" else settings
    memory = gpu_replicas(bounds, seen, memory, now, replaced, serves=bool(share))
    heading = memory.heading
    nobody = not seen.neuron.serving and not seen.gpu.serving and choice.reason != "off"
    return Decision(
        weights=_weights(settings, seen, share),
        gpu_desired=None if memory.gpu_wanted == seen.gpu.desired else memory.gpu_wanted,
        share=share,
        heading=heading,
        reason=choice.reason,
        active=max(share or 0, heading or 0) > settings.base_share,
        nobody_serves=nobody and share is not None and not starting(settings, seen, memory, now),
        gpu_missing=replaced is not None and not seen.gpu.serving,
        memory=memory,
    )


def _choice(settings: Settings, seen: Observation, memory: Memory, now: float) -> _Choice:
    override = seen.override.at(now)
    if off(settings, seen, now):
        return _wait(seen, "off")
    if asleep(settings, seen) and override != "gpu":
        return _Choice(None, "asleep")
    if override != "auto":
        return _obeyed(seen, override)
    if settings.mode == "model":
        return _model(seen)
    if seen.weights.waker > 0:
        return _beside_the_waker(seen, memory)
    return _urgent(seen, memory, now) or _usual(settings, seen, memory, now)


def _obeyed(seen: Observation, side: str) -> _Choice:
    """Moves when the side serves, or nobody does; then stays. Never takes the rule from the waker for an empty side."""
    goal, wanted, other = (100, seen.gpu, seen.neuron) if side == "gpu" else (0, seen.neuron, seen.gpu)
    moves = wanted.serving or (not other.serving and not seen.weights.waker)
    return _Choice(goal, "override") if moves else _wait(seen, "override")


def _model(seen: Observation) -> _Choice:
    moves = seen.gpu.serving or not seen.neuron.serving
    return _Choice(100, "model") if moves else _wait(seen, "model")


def _beside_the_waker(seen: Observation, memory: Memory) -> _Choice:
    if memory.neuron_down and seen.gpu.serving and not seen.neuron.serving:
        return _Choice(100, _why_down(seen))
    return _Choice(None, "waking")


def _urgent(seen: Observation, memory: Memory, now: float) -> _Choice | None:
    """A group that had nothing for some checks, while the other serves, loses its traffic whatever else holds."""
    share = seen.weights.share or 0
    spent = len(memory.switches_lately(now)) >= SWITCHES_PER_HOUR
    checks = PATIENT_CHECKS if spent else DOWN_CHECKS
    if share < 100 and _only(seen.gpu, seen.neuron) and all_bad(memory.neuron, checks):
        return _Choice(100, _why_down(seen))
    if share > 0 and _only(seen.neuron, seen.gpu) and all_bad(memory.gpu, checks):
        return _Choice(0, "gpu-down")
    return None


def _usual(settings: Settings, seen: Observation, memory: Memory, now: float) -> _Choice:
    share = seen.weights.share
    if not seen.neuron.serving and not seen.gpu.serving:
        return _nobody(settings, seen, memory, now)
    goal, reason = _goal(settings, seen, memory)
    if share is None or goal == share:
        return _Choice(goal, reason)
    if not (seen.gpu if goal > share else seen.neuron).serving:
        return _wait(seen, reason)
    if goal != memory.heading and not _may_choose(memory, now):
        return _wait(seen, "too-many-switches")
    back = goal < share and bool(seen.gpu.serving)
    return _Choice(goal, "returning" if back else reason, at_once=not (back and settings.back == "gradual"))


def _goal(settings: Settings, seen: Observation, memory: Memory) -> tuple[int, str]:
    """GPU's share where it should be in the end, and why."""
    share = seen.weights.share or 0
    if memory.neuron_down:
        return _instead_of_neuron(seen, memory, share), _why_down(seen)
    if settings.mode == "overflow" and memory.is_short:
        kept = memory.heading if memory.heading and share else None
        return 0 if memory.gpu_down else kept or _missing_part(seen.neuron), "short-of-capacity"
    if settings.mode == "weighted" and settings.base_share:
        return (0, "gpu-down") if memory.gpu_down else (settings.base_share, "weighted")
    return settings.base_share, "none"


def _instead_of_neuron(seen: Observation, memory: Memory, share: int) -> int:
    """Everything to GPU, but not from a Neuron that serves by fits and starts to a GPU side that does no better."""
    trusted = seen.gpu.serving and (not seen.neuron.serving or not memory.gpu_down)
    return 100 if trusted else share


def _nobody(settings: Settings, seen: Observation, memory: Memory, now: float) -> _Choice:
    """Weights stay, unless nothing can come up where they are and something is on its way on the other side."""
    reason = "deploying" if starting(settings, seen, memory, now) else "nobody-serves"
    share = seen.weights.share
    if share is None:
        hopeful = 100 if seen.gpu.has_tasks and not seen.neuron.may_come else settings.base_share
        return _Choice(hopeful, reason)
    hopeless, other, goal = (seen.neuron, seen.gpu, 100) if share < 100 else (seen.gpu, seen.neuron, 0)
    moves = not hopeless.may_come and other.has_tasks and _may_choose(memory, now)
    return _Choice(goal, reason) if moves else _wait(seen, reason)


def _why_down(seen: Observation) -> str:
    if seen.neuron.serving:
        return "recovering"
    if seen.neuron.deploying and not seen.neuron.refused:
        return "deploying"
    return "no-capacity" if seen.neuron.refused or seen.neuron.withdrawn else "no-healthy-target"


def _missing_part(neuron: Side) -> int:
    """In quarters, so that a replica more or less does not rewrite the rule; at least one stays on each side."""
    missing = 100 * (neuron.desired - neuron.running) / max(1, neuron.desired)
    return max(STEP_PERCENT, min(100 - STEP_PERCENT, STEP_PERCENT * round(missing / STEP_PERCENT)))


def _wait(seen: Observation, reason: str) -> _Choice:
    return _Choice(seen.weights.share, reason, waits=True)


def _may_choose(memory: Memory, now: float) -> bool:
    """The last switch is kept for a side that fails: else a return could use it up and then find no way back."""
    return len(memory.switches_lately(now)) < SWITCHES_PER_HOUR - 1


def _only(one: Side, other: Side) -> bool:
    return bool(one.serving) and not other.serving


def _stepped(seen: Observation, choice: _Choice, counted: bool) -> int | None:
    share = seen.weights.share
    if choice.share is None or share is None or choice.at_once:
        return choice.share
    return max(choice.share, share - STEP_PERCENT) if counted else share


def _headed(memory: Memory, seen: Observation, choice: _Choice, now: float) -> Memory:
    """A new heading is a switch; the first one that is known is none when the rule is there already."""
    if choice.share is None:
        return replace(memory, heading=None)
    if choice.share == memory.heading or (choice.waits and memory.heading is not None):
        return memory
    if choice.share == seen.weights.share:
        return replace(memory, heading=choice.share)
    return memory.switched(choice.share, now)


def _replaced_share(
    settings: Settings, seen: Observation, memory: Memory, now: float, share: int | None
) -> int | None:
    """Which part of Neuron's work GPU replicas must be there for; None: they are not needed."""
    override = seen.override.at(now)
    if override == "gpu" or settings.mode == "model":
        return 100
    if off(settings, seen, now):
        return None
    if override == "neuron" or asleep(settings, seen):
        return share or None
    if memory.neuron_down:
        return 100
    if settings.mode == "overflow" and memory.is_short:
        return _missing_part(seen.neuron)
    if waking(seen):
        return None
    return max(share or 0, settings.base_share) or None


def _weights(settings: Settings, seen: Observation, share: int | None) -> Weights | None:
    """None where the rule says so already, in whatever numbers."""
    now = seen.weights
    if share is None:
        handed = now.waker > 0 or not asleep(settings, seen)
        return None if handed else TO_THE_WAKER
    if now.waker == 0 and now.share is not None and now.neuron * share == now.gpu * (100 - share):
        return None
    return Weights(100 - share, share, 0)
