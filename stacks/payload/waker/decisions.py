"""What the waker does, decided from what it sees: no clock, no network.

A fleet is `on`, `falling` (requests go to the waker, the engine ends what it works on), `ending` (its services are being
set to zero), `returning` (something came at that moment) or `off`. Only the schedule moves the phase down, and each fall
has a number. A request that comes to the waker records the number of the fall that it ends, and reads again before it
acts; the schedule writes `ending`, and reads again before it ends anything, and once more after it. So one of the two
always sees the other: no wake is lost, and nothing is handed over to an engine that is about to end.

The schedule delivers a check at least once, so two may run at a time, and AWS has no "set to zero unless" for a service.
What stands for it is time: no check acts on what it read more than DECISION_SECONDS ago, and one that finds `ending`
and a reason to stay hands nothing over before OTHERS_SECONDS are over, when every check that saw no reason has acted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from waker.activity import Activity

SETTLE_SECONDS = 60
"""After requests were sent elsewhere: what was on its way has arrived at the engine and is in its metrics."""
DECISION_SECONDS = 15
"""After which a check reads again instead of acting."""
OTHERS_SECONDS = 45
"""After which others have acted: DECISION_SECONDS, and one call with all its attempts. Less than the schedule's minute."""
COUNTED_SECONDS = 240
"""After which the load balancer's count has every request before."""
UNKNOWN_SECONDS = 900
RECENT_SECONDS = 360
FULL_WEIGHT = 100


class Phase(StrEnum):
    ON = "on"
    FALLING = "falling"
    ENDING = "ending"
    RETURNING = "returning"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Settings:
    """Of the fleet, from the parameter that its stack writes."""

    environment: str
    fleet: str
    model: str
    idle_seconds: int
    hold_seconds: int
    """0: answer at once."""
    start_low_seconds: int
    start_high_seconds: int
    nodes_at_wake: int
    wake_paths: tuple[str, ...]
    """Prefixes: a POST under one of them wakes, nothing else does."""


@dataclass(frozen=True, slots=True)
class State:
    """What the schedule has decided."""

    phase: Phase
    fall: int
    since: float


@dataclass(frozen=True, slots=True)
class Wake:
    """The last request that woke the fleet, or to which it was handed over."""

    fall: int
    at: float


@dataclass(frozen=True, slots=True)
class Weights:
    neuron: int
    gpu: int
    waker: int

    @property
    def at_waker(self) -> bool:
        return self.waker > 0


_HANDED_BACK = Weights(neuron=0, gpu=0, waker=FULL_WEIGHT)


@dataclass(frozen=True, slots=True)
class View:
    now: float
    state: State
    wake: Wake
    desired: tuple[int, ...]
    """Of each service: one a slice."""
    running: tuple[int, ...]
    deploying: bool
    healthy: int
    weights: Weights
    override: str
    """auto, neuron or gpu: the operator's word, while it holds."""
    nodes_limit: int
    """What the fleet may have; 0 while a shift has given its capacity to training."""
    group_desired: int | None
    """Of the Auto Scaling group; None without one."""
    refused: str | None
    """Why AWS gives no instance, in its words."""
    activity: Activity | None = None

    @property
    def nodes(self) -> int:
        return max(self.desired)

    @property
    def wanted(self) -> bool:
        """A request came since the fleet began to fall."""
        return self.wake.fall == self.state.fall

    @property
    def may_run(self) -> bool:
        return self.override != "gpu" and self.nodes_limit > 0


@dataclass(frozen=True, slots=True)
class RecordWake:
    wake: Wake


@dataclass(frozen=True, slots=True)
class SetState:
    state: State


@dataclass(frozen=True, slots=True)
class SetNodes:
    """Of the Auto Scaling group, before the services: managed scaling starts two instances from zero."""

    count: int


@dataclass(frozen=True, slots=True)
class SetServices:
    count: int


@dataclass(frozen=True, slots=True)
class SetWeights:
    weights: Weights
    seen: Weights
    """Only in place of these: the fallback controller writes, too."""


Action = RecordWake | SetState | SetNodes | SetServices | SetWeights


class Situation(StrEnum):
    """What a request is told."""

    AWAKE = "awake"
    STARTING = "starting"
    REFUSED = "refused"
    ENDING = "ending"
    OVERRIDDEN = "overridden"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class RequestPlan:
    actions: tuple[Action, ...]
    situation: Situation | None
    """None: read again and decide again."""


@dataclass(frozen=True, slots=True)
class TickPlan:
    actions: tuple[Action, ...]
    again: bool
    why: str
    idle_unknown: bool = False


# ---- a request that came to the waker


def on_request(view: View, settings: Settings) -> RequestPlan:
    if view.override == "gpu":
        return RequestPlan((), Situation.OVERRIDDEN)
    if view.nodes_limit < 1:
        return RequestPlan((), Situation.ELSEWHERE)
    if view.state.phase is not Phase.ON and not view.wanted:
        return RequestPlan((RecordWake(Wake(view.state.fall, view.now)),), None)
    if view.state.phase in (Phase.ENDING, Phase.RETURNING):
        return RequestPlan((), Situation.ENDING)
    if min(view.desired) == 0:
        return RequestPlan(_start(view, settings), Situation.STARTING)
    if not view.healthy:
        return RequestPlan((), Situation.REFUSED if view.refused else Situation.STARTING)
    if not view.weights.at_waker:
        return RequestPlan((), Situation.AWAKE)
    woken = RecordWake(Wake(view.state.fall, view.now))
    return RequestPlan((woken, _hand_over(view)), Situation.AWAKE)


def seconds_waited(view: View) -> float:
    return max(0.0, view.now - view.wake.at)


def _start(view: View, settings: Settings) -> tuple[Action, ...]:
    """Services that run keep what they have; the others follow them."""
    count = min(max(view.nodes, settings.nodes_at_wake, 1), view.nodes_limit)
    nodes = (SetNodes(count),) if view.group_desired is not None and view.group_desired < count else ()
    return (*nodes, SetServices(count))


def _hand_over(view: View) -> SetWeights:
    weights = replace(view.weights, neuron=view.weights.neuron or FULL_WEIGHT, waker=0)
    return SetWeights(weights, view.weights)


# ---- the schedule


def on_tick(view: View, settings: Settings) -> TickPlan:
    decide = {
        Phase.ON: _tick_on,
        Phase.FALLING: _tick_falling,
        Phase.ENDING: _tick_ending,
        Phase.RETURNING: _tick_returning,
        Phase.OFF: _tick_off,
    }[view.state.phase]
    return decide(view, settings)


def _tick_on(view: View, settings: Settings) -> TickPlan:
    if view.nodes == 0:
        return _found_at_zero(view)
    if not view.healthy:
        return _without_healthy(view, settings)
    if view.weights.at_waker and view.may_run:
        on = replace(view.state, since=view.now)
        return TickPlan((_hand_over(view), SetState(on)), False, "handed over")
    if not _may_fall(view, settings):
        return TickPlan((), False, "stays on")
    if not _is_known(view, view.now - RECENT_SECONDS):
        return TickPlan((), False, "no request, but the engines' metrics are missing", idle_unknown=True)
    if _busy(view, view.now - RECENT_SECONDS):
        return TickPlan((), False, "no new request, but the engines work")
    return _fall(view, "idle: requests go to the waker")


def _without_healthy(view: View, settings: Settings) -> TickPlan:
    """What never gets healthy, and is not asked for, must not cost money for ever."""
    patience = settings.idle_seconds + settings.start_high_seconds
    if view.weights.gpu == 0 and _is_idle(view, patience):
        return _fall(view, "no replica got healthy, and nobody asks")
    return TickPlan((), False, "no replica is healthy yet")


def _fall(view: View, why: str) -> TickPlan:
    falling = State(Phase.FALLING, view.state.fall + 1, view.now)
    return TickPlan((SetState(falling), SetWeights(_HANDED_BACK, view.weights)), False, why)


def _found_at_zero(view: View) -> TickPlan:
    """Somebody else ended it: an operator, a shift. Requests that come go to the waker, unless GPUs serve them."""
    off = State(Phase.OFF, view.state.fall + 1, view.now)
    weights = () if view.weights.at_waker or view.weights.gpu else (SetWeights(_HANDED_BACK, view.weights),)
    return TickPlan((SetState(off), *weights), False, "found at zero")


def _may_fall(view: View, settings: Settings) -> bool:
    return view.weights.neuron > 0 and _is_idle(view, settings.idle_seconds)


def _is_idle(view: View, seconds: int) -> bool:
    rested = view.now - max(view.state.since, view.wake.at) >= seconds
    free = view.override == "auto" and not view.deploying
    return rested and free and view.activity is not None and view.activity.requests == 0


def _tick_falling(view: View, _settings: Settings) -> TickPlan:
    if view.nodes == 0:
        return TickPlan((SetState(replace(view.state, phase=Phase.ENDING)),), True, "found at zero")
    stop = _reason_to_stay(view)
    if stop:
        return _stay(view, stop)
    after = view.state.since + SETTLE_SECONDS
    if view.healthy and not _is_known(view, after):
        if view.now - view.state.since > UNKNOWN_SECONDS:
            return replace(_stay(view, "the engines' metrics are missing"), idle_unknown=True)
        return TickPlan((), False, "waits for the engines' metrics")
    if _busy(view, after):
        return TickPlan((), False, "the engines end what they work on")
    if not view.healthy:
        # Who asked before the fall was told to come again, and left no other trace than this late count.
        if view.now - view.state.since < COUNTED_SECONDS:
            return TickPlan((), False, "waits for the load balancer's count of requests")
        if view.activity is None or view.activity.requests:
            return _stay(view, "somebody asked just before")
    return TickPlan((SetState(replace(view.state, phase=Phase.ENDING)),), True, "nothing runs any more")


def _tick_ending(view: View, _settings: Settings) -> TickPlan:
    """Comes here twice in one run: before the services are set to zero, and after it."""
    if view.nodes == 0:
        if view.wanted and view.may_run:
            return _return(view, "a request came at the last moment")
        return TickPlan((SetState(replace(view.state, phase=Phase.OFF, since=view.now)),), False, "asleep")
    stop = _reason_to_stay(view)
    if stop:
        return _return(view, stop)
    return TickPlan((SetServices(0),), True, "ends the replicas")


def _return(view: View, why: str) -> TickPlan:
    returning = replace(view.state, phase=Phase.RETURNING, since=view.now)
    return TickPlan((SetState(returning),), False, f"{why}: returns when no other check can end it")


def _tick_returning(view: View, settings: Settings) -> TickPlan:
    if not _others_have_acted(view):
        return TickPlan((), False, "waits for what other checks do")
    if view.wanted and view.may_run and min(view.desired) == 0:
        return _woken(view, settings, "a request came at the last moment")
    if view.nodes == 0:
        return TickPlan((SetState(replace(view.state, phase=Phase.OFF, since=view.now)),), False, "asleep")
    return _stay(view, "it was about to end, and stays")


def _tick_off(view: View, settings: Settings) -> TickPlan:
    if not _others_have_acted(view):
        return TickPlan((), False, "just asleep")
    if view.wanted and view.may_run and min(view.desired) == 0:
        return _woken(view, settings, "a wake that was begun is completed")
    if view.nodes > 0:
        on = State(Phase.ON, view.state.fall, view.now)
        return TickPlan((SetState(on),), False, "woken" if view.wanted else "raised by somebody else")
    if view.weights.neuron > 0:
        return TickPlan(
            (SetWeights(_HANDED_BACK, view.weights),), False, "requests went to a fleet that is off"
        )
    return TickPlan((), False, "asleep")


def _others_have_acted(view: View) -> bool:
    return view.now - view.state.since >= OTHERS_SECONDS


def _woken(view: View, settings: Settings, why: str) -> TickPlan:
    on = State(Phase.ON, view.state.fall, view.now)
    return TickPlan((*_start(view, settings), SetState(on)), False, why)


def _reason_to_stay(view: View) -> str:
    if view.wanted:
        return "a request came"
    if view.weights.neuron > 0 or view.weights.gpu > 0:
        return "requests go to the engines again"
    if view.deploying:
        return "a deployment began"
    return "an operator decides" if view.override != "auto" else ""


def _stay(view: View, why: str) -> TickPlan:
    on = SetState(State(Phase.ON, view.state.fall, view.now))
    if view.healthy and view.weights.at_waker and view.may_run:
        return TickPlan((on, _hand_over(view)), False, why)
    return TickPlan((on,), False, why)


def _is_known(view: View, after: float) -> bool:
    return view.activity is not None and view.activity.is_known(view.now, after, sum(view.running))


def _busy(view: View, after: float) -> bool:
    return view.activity is not None and view.activity.is_busy(view.now, after)
