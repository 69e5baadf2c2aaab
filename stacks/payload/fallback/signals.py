"""What AWS answers -> a side as the decision sees it. Pure: answers are plain dictionaries as boto3 gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fallback.observed import Side, Weights

Answer = Mapping[str, Any]

REFUSED_SECONDS = 3600
"""An older refusal says nothing: Auto Scaling tries again within minutes."""
REFUSED_LETTERS = 160
NOT_PLACED = re.compile(r"unable to place a task|capacity is unavailable", re.IGNORECASE)
STEADY = re.compile(r"has reached a steady state", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SideMetrics:
    """Of the last minutes; None where CloudWatch has no data."""

    waiting_per_replica: float | None = None
    progress: float | None = None
    """Average over the side's engines: 1 all make progress, 0 none does."""
    requests: float | None = None
    errors: float | None = None


class RuleError(Exception):
    """The listener rule is not the one that this function was made for."""


def side(
    services: Sequence[Answer],
    target_health: Answer,
    activities: Sequence[Answer],
    metrics: SideMetrics,
    now: float,
    scalable_targets: Sequence[Answer] = (),
) -> Side:
    """`activities` newest first, as Auto Scaling gives them."""
    healthy = sum(
        target["TargetHealth"]["State"] == "healthy" for target in target_health["TargetHealthDescriptions"]
    )
    alive = [service for service in services if service.get("status") == "ACTIVE"]
    return Side(
        healthy=healthy,
        desired=sum(service["desiredCount"] for service in alive),
        running=sum(service["runningCount"] for service in alive),
        pending=sum(service["pendingCount"] for service in alive),
        deploying=any(_deploying(service) for service in alive),
        refused=_refused(alive, activities, now),
        withdrawn=bool(scalable_targets) and all(t["MaxCapacity"] == 0 for t in scalable_targets),
        stalled=_stalled(healthy, metrics.progress),
        waiting=None if metrics.waiting_per_replica is None else metrics.waiting_per_replica * healthy,
        requests=metrics.requests,
        errors=0.0 if metrics.errors is None and metrics.requests is not None else metrics.errors,
    )


def weights(rule: Answer, neuron: str, gpu: str, waker: str) -> Weights:
    """Of the rule's forward action; a group that it does not name has 0."""
    found = {group["TargetGroupArn"]: int(group.get("Weight", 1)) for group in forwarded_groups(rule)}
    if unknown := set(found) - {neuron, gpu, waker}:
        raise RuleError(f"the rule forwards to {', '.join(sorted(unknown))}, which is no group of this fleet")
    return Weights(found.get(neuron, 0), found.get(gpu, 0), found.get(waker, 0))


def forwarded_groups(rule: Answer) -> list[dict[str, Any]]:
    forward = next((action for action in rule["Actions"] if action["Type"] == "forward"), None)
    if forward is None:
        raise RuleError("the rule has no forward action")
    groups = forward.get("ForwardConfig", {}).get("TargetGroups")
    return list(groups) if groups else [{"TargetGroupArn": forward["TargetGroupArn"], "Weight": 1}]


def actions_with(rule: Answer, neuron: str, gpu: str, waker: str, wanted: Weights) -> list[dict[str, Any]]:
    """The rule's actions with these weights; all else, such as the check of tokens, as it was."""
    pairs = [(neuron, wanted.neuron), (gpu, wanted.gpu), *([(waker, wanted.waker)] if waker else [])]
    groups = [{"TargetGroupArn": arn, "Weight": weight} for arn, weight in pairs]
    actions = []
    for action in rule["Actions"]:
        new = dict(action)
        if new["Type"] == "forward":
            new.pop("TargetGroupArn", None)
            new["ForwardConfig"] = {**new.get("ForwardConfig", {}), "TargetGroups": groups}
        actions.append(new)
    return actions


def _deploying(service: Answer) -> bool:
    return any(
        deployment.get("rolloutState") == "IN_PROGRESS" for deployment in service.get("deployments", ())
    )


def _stalled(healthy: int, progress: float | None) -> int:
    return 0 if progress is None else healthy - round(healthy * max(0.0, min(1.0, progress)))


def _refused(services: Sequence[Answer], activities: Sequence[Answer], now: float) -> str:
    """The newest word of Auto Scaling counts; ECS's only while Auto Scaling has not begun to start something since."""
    launches = [a for a in activities if str(a.get("Description", "")).startswith("Launching")]
    launch = launches[0] if launches else None
    if launch is not None and launch.get("StatusCode") == "Failed" and _recent(launch["StartTime"], now):
        return _short(launch.get("StatusMessage") or launch["Description"])
    since = launch["StartTime"].timestamp() if launch is not None else 0.0
    for service in services:
        event = _last_refusal(service.get("events", ()))
        if event and event["createdAt"].timestamp() > since and _recent(event["createdAt"], now):
            return _short(event["message"])
    return ""


def _last_refusal(events: Sequence[Answer]) -> Answer | None:
    """Events come newest first; what was before the last steady state is over."""
    for event in events:
        if STEADY.search(event["message"]):
            return None
        if NOT_PLACED.search(event["message"]):
            return event
    return None


def _recent(moment: datetime, now: float) -> bool:
    return now - moment.timestamp() < REFUSED_SECONDS


def _short(text: str) -> str:
    return " ".join(text.split())[:REFUSED_LETTERS]
