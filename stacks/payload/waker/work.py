"""One request, or one check of the schedule, from reading to the last word. The clock and AWS come from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from waker.answers import FINAL, answer, out_of_order, wakes, without_waking
from waker.cloud import NAMESPACE, Read
from waker.decisions import (
    DECISION_SECONDS,
    Action,
    Phase,
    RecordWake,
    SetNodes,
    Settings,
    Situation,
    TickPlan,
    View,
    on_request,
    on_tick,
    seconds_waited,
)

READS_MAX = 6
HOLD_STEP_SECONDS = 5.0
SETTLE_SECONDS = 2.0
"""Until the load balancer's nodes have a rule's new weights: a client that is sent back shall not come here again."""
RECENT_SECONDS = 3.0
"""Requests of a storm that come to the same process share what it read."""


class CloudLike(Protocol):
    def read(self, now: float, *, with_activity: bool) -> Read: ...
    def settings(self) -> Settings: ...
    def do(self, action: Action) -> None: ...


@dataclass(slots=True)
class Tools:
    cloud: CloudLike
    now: Callable[[], float]
    sleep: Callable[[float], None]
    write: Callable[[str], None]
    failures: tuple[type[Exception], ...]
    """What AWS's clients raise."""
    recent: list[tuple[Situation, View, Settings]] = field(default_factory=list)
    """The last answer of this process, if it was that the fleet starts."""


def respond(event: dict[str, Any], tools: Tools) -> dict[str, Any]:
    expected: tuple[type[Exception], ...] = (*tools.failures, LookupError, ValueError)
    try:
        settings = tools.recent[0][2] if tools.recent else tools.cloud.settings()
        if not wakes(event, settings):
            return without_waking(event, settings)
        return _wake(event, settings, tools)
    except expected as error:
        _log(tools, "request", error=_words(error))
        return out_of_order()


def _wake(event: dict[str, Any], settings: Settings, tools: Tools) -> dict[str, Any]:
    deadline = tools.now() + settings.hold_seconds
    while True:
        situation, view = _situation(tools)
        left = deadline - tools.now()
        if situation in FINAL or left < HOLD_STEP_SECONDS:
            break
        tools.sleep(HOLD_STEP_SECONDS)
    if situation is Situation.AWAKE and settings.hold_seconds:
        tools.sleep(SETTLE_SECONDS)
    return answer(event, situation, view, settings)


def _situation(tools: Tools) -> tuple[Situation, View]:
    if tools.recent and tools.now() - tools.recent[0][1].now < RECENT_SECONDS:
        return tools.recent[0][:2]
    tools.recent.clear()
    for _ in range(READS_MAX):
        read = tools.cloud.read(tools.now(), with_activity=False)
        plan = on_request(read.view, read.settings)
        for action in plan.actions:
            _do(tools, action)
            if isinstance(action, RecordWake):
                measure(tools, read.settings, {"WakeRequests": 1})
        if plan.situation is not None:
            if plan.situation in (Situation.STARTING, Situation.REFUSED):
                tools.recent.append((plan.situation, read.view, read.settings))
            return plan.situation, read.view
    raise LookupError("the record of a wake does not last")


def check(tools: Tools) -> dict[str, Any]:
    """Of the schedule. Failures are raised after they are written: the function's errors are what an alarm sees."""
    whys: list[str] = []
    for _ in range(READS_MAX):
        read = tools.cloud.read(tools.now(), with_activity=True)
        plan = on_tick(read.view, read.settings)
        whys.append(plan.why)
        if not _act(tools, read.view, plan):
            break
    view = read.view
    measure(tools, read.settings, _measures(view, read.settings, idle_unknown=plan.idle_unknown))
    _log(
        tools,
        "check",
        phase=view.state.phase,
        nodes=view.nodes,
        healthy=view.healthy,
        why=whys,
        notes=read.notes,
    )
    return {"why": whys}


def _act(tools: Tools, view: View, plan: TickPlan) -> bool:
    """Whether to read and decide again: as planned, or because what was read is too old to act on."""
    for action in plan.actions:
        if tools.now() - view.now > DECISION_SECONDS:
            _log(tools, "too late", action=repr(action))
            return True
        _do(tools, action)
    return plan.again


def _measures(view: View, settings: Settings, *, idle_unknown: bool) -> dict[str, float]:
    waking = view.nodes > 0 and not view.healthy and view.weights.at_waker
    waited = seconds_waited(view) if waking and view.wake.at else 0.0
    return {
        "Asleep": float(view.state.phase is Phase.OFF and view.nodes == 0),
        "WakingSeconds": waited,
        "WakeOverdue": float(waited > settings.start_high_seconds),
        "NoCapacity": float(view.refused is not None),
        "IdleUnknown": float(idle_unknown),
    }


def _do(tools: Tools, action: Action) -> None:
    try:
        tools.cloud.do(action)
    except tools.failures as error:
        _log(tools, "refused", action=repr(action), error=_words(error))
        if not isinstance(action, SetNodes):  # managed scaling starts nodes, too, one too many
            raise
    else:
        _log(tools, "done", action=repr(action))


def measure(tools: Tools, settings: Settings, values: dict[str, float]) -> None:
    """In the embedded metric format: CloudWatch Logs makes metrics of it."""
    metrics = {
        "Namespace": NAMESPACE,
        "Dimensions": [["Environment", "Fleet"]],
        "Metrics": [{"Name": name} for name in values],
    }
    head = {"Timestamp": int(tools.now() * 1000), "CloudWatchMetrics": [metrics]}
    names = {"Environment": settings.environment, "Fleet": settings.fleet}
    tools.write(json.dumps({"_aws": head, **names, **values}))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _log(tools: Tools, what: str, **values: object) -> None:
    tools.write(json.dumps({"waker": what, **values}, default=str))
