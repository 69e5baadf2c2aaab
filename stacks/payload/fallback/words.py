"""A decision in words, for the log and for whoever asks `status`."""

from __future__ import annotations

from datetime import UTC, datetime

from fallback.decisions import Decision
from fallback.health import UP_CHECKS, good_in_a_row
from fallback.observed import Observation, Settings, Side

WORDS_MAXIMUM = 700


def words(settings: Settings, seen: Observation, decision: Decision, now: float) -> str:
    parts = [
        _who_serves(decision),
        _why(settings, seen, decision),
        _gpu_count(seen, decision),
        _override(seen, now),
    ]
    return " ".join(part for part in parts if part)[:WORDS_MAXIMUM]


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _who_serves(decision: Decision) -> str:
    if decision.share is None:
        return "The waker has the rule."
    since = f" since {moment(decision.memory.since)}" if decision.memory.since is not None else ""
    if decision.share in (0, 100):
        return f"Requests go to {'GPU' if decision.share else 'Neuron'}{since}."
    return f"{decision.share} % of requests go to GPU, the rest to Neuron{since}."


def _why(settings: Settings, seen: Observation, decision: Decision) -> str:
    neuron, gpu = seen.neuron, seen.gpu
    good = good_in_a_row(decision.memory.neuron)
    texts = {
        "none": f"Neuron serves with {neuron.serving}.",
        "no-healthy-target": f"Neuron has no serving target ({_ails(neuron)}).",
        "no-capacity": f"Neuron gets no capacity: {neuron.refused or _ails(neuron)}.",
        "short-of-capacity": f"Neuron has {neuron.running} of {neuron.desired} replicas: {neuron.refused}.",
        "recovering": f"Neuron serves again: {good} of {UP_CHECKS} good checks.",
        "returning": "Neuron serves again; requests return.",
        "deploying": "A deployment of Neuron goes on: no failure.",
        "weighted": f"The file gives GPU {settings.base_share} %.",
        "model": f"The file gives GPU the whole model{_because(settings.model_reason)}.",
        "gpu-down": f"GPU has no serving target ({_ails(gpu)}).",
        "off": "Nobody asks for a replica of either side: nothing is done.",
        "asleep": "The fleet is asleep: the next request wakes it.",
        "waking": f"The fleet wakes: {neuron.running} of {neuron.desired} replicas run.",
        "nobody-serves": f"Neither side serves: Neuron {_ails(neuron)}; GPU {_ails(gpu)}. "
        "The weights stay where something may come up.",
        "too-many-switches": "Weights changed too often in the last hour: they stay while a target serves where they are.",
    }
    return texts.get(decision.reason, "")


def _because(reason: str) -> str:
    return f", because {reason}" if reason else ""


def _ails(side: Side) -> str:
    if side.withdrawn:
        return "a shift has it, its maximum is 0"
    if side.desired == 0:
        return "no replica is asked for"
    if side.erring:
        return f"{side.errors:g} of {side.requests:g} answers were 5xx"
    if side.healthy and side.stalled >= side.healthy:
        return f"{side.stalled} healthy, but its engine makes no progress"
    refused = f"; {side.refused}" if side.refused else ""
    return f"{side.running} running and {side.pending} pending of {side.desired}, {side.healthy} healthy{refused}"


def _gpu_count(seen: Observation, decision: Decision) -> str:
    if decision.gpu_desired is not None:
        return f"GPU replicas asked for: {decision.gpu_desired} instead of {seen.gpu.desired}."
    if decision.gpu_missing:
        return f"GPU is needed and does not serve yet: {_ails(seen.gpu)}."
    return f"GPU: {seen.gpu.serving} serving of {seen.gpu.desired}."


def _override(seen: Observation, now: float) -> str:
    override = seen.override
    if override.complaint:
        return f"The override is not obeyed: {override.complaint}."
    if override.at(now) == "auto":
        return ""
    until = f"until {moment(override.until)}" if override.until is not None else "until it is taken back"
    return f"Override: {override.mode}, {until}."
