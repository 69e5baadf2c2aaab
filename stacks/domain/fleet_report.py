"""One fleet of a plan for readers, as a part of the document of `plan --json` and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from stacks.domain.capacity_report import capacity_document, capacity_text
from stacks.domain.findings import count_of
from stacks.domain.fleet_plan import FallbackPlan, FleetPlan
from stacks.domain.fleet_timeline import duration, parts_words
from stacks.domain.pinned import AmiPlan
from stacks.domain.serving import engine_on

UNKNOWN = "unknown"


def fleet_document(fleet: FleetPlan) -> dict[str, Any]:
    """`replicas_*` are what the file asks for, `replicas_*_rounded` what whole nodes hold. Seconds."""
    settings, each = fleet.settings, fleet.replicas_per_node
    return {
        "name": fleet.name,
        "instance_type": fleet.instance_type,
        "engine": settings.engine,
        "model": {"name": settings.model.name, "source": settings.model.source, "revision": settings.model.revision, "family": settings.model.family},
        "nodes_minimum": fleet.nodes_minimum,
        "nodes_maximum": fleet.nodes_maximum,
        "chips": fleet.chips,
        "replicas_minimum": fleet.replicas_minimum,
        "replicas_maximum": fleet.replicas_maximum,
        "replicas_minimum_rounded": fleet.nodes_minimum * each,
        "replicas_maximum_rounded": fleet.nodes_maximum * each,
        "replicas_per_node": each,
        "slices": [asdict(place) for place in fleet.slices],
        "chips_idle_per_node": fleet.chips_per_node - sum(len(place.devices) for place in fleet.slices),
        "tensor_parallel": settings.tensor_parallel,
        "logical_core_size": fleet.logical_core_size,
        "runs_on": settings.runs_on,
        "sdk": _sdk(fleet),
        "image": fleet.image.pinned_uri if fleet.image else None,
        "ami": _ami(fleet.ami),
        "capacity": capacity_document(fleet.capacity),
        "times": asdict(fleet.times),
        "start": [asdict(part) for part in fleet.start],
        "artifacts": settings.artifacts,
        "compile_on": settings.compile_on,
        "scale_to_zero": settings.scale_to_zero.model_dump() if settings.scale_to_zero else None,
        "fallback": _fallback(fleet.fallback) if fleet.fallback else None,
        "listener": _listener(fleet),
        "usd_per_million_tokens": None,
    }  # fmt: skip


def fleet_text(fleet: FleetPlan) -> Iterator[str]:
    settings, each = fleet.settings, fleet.replicas_per_node
    yield (
        f"fleet    {fleet.name}: {settings.model.name} by {settings.engine} on {fleet.nodes_minimum} to {fleet.nodes_maximum} x "
        f"{fleet.instance_type}, {capacity_text(fleet.capacity)}"
    )
    rounded = "" if _fills_nodes(fleet) else (
        f", rounded up to {fleet.nodes_minimum * each} to {fleet.nodes_maximum * each}, as nodes start whole"
    )  # fmt: skip
    yield (
        f"         {fleet.replicas_minimum} to {fleet.replicas_maximum} replicas{rounded}; {each} a node, tensor parallel "
        f"{settings.tensor_parallel}: {_slices(fleet)}"
    )
    if fleet.image is not None:
        state = "" if fleet.image.is_resolved else " (no digest yet: run `neuronkit lock`)"
        yield f"         image {fleet.image.pinned_uri}{state}; SDK {_sdk(fleet) or UNKNOWN}"
    yield f"         {_ami_words(fleet)}"
    yield f"         a start: {duration(fleet.start)} ({parts_words(fleet.start)})"
    for source in dict.fromkeys(f"{part.what}: {part.source}, {part.as_of}" for part in fleet.start):
        yield f"           {source}"
    yield f"         {_times_words(fleet)}"
    yield f"         {_listener_words(fleet)}; {_zero_words(fleet)}"
    if settings.artifacts == "efs":
        yield "         compiled graphs and model on EFS, which outlives the stack: `neuronkit destroy` removes it"
    if fleet.fallback is not None:
        yield f"         {_fallback_words(fleet.fallback)}"
    yield "         dollars per million tokens: unknown until `neuronkit bench-serving` has measured"


def _sdk(fleet: FleetPlan) -> str | None:
    """Of an image of the user's it is not known."""
    if fleet.image is None:
        return None
    engine = engine_on(fleet.settings.engine, fleet.instance_type.partition(".")[0])
    return fleet.image.sdk or (engine.sdk if engine and fleet.settings.image is None else None)


def _fills_nodes(fleet: FleetPlan) -> bool:
    each = fleet.replicas_per_node
    return fleet.replicas_minimum % each == 0 and fleet.replicas_maximum % each == 0


def _slices(fleet: FleetPlan) -> str:
    def numbers(devices: tuple[int, ...]) -> str:
        return f"{devices[0]}" if len(devices) == 1 else f"{devices[0]}-{devices[-1]}"

    if fleet.settings.runs_on == "managed-instances":
        return "all devices of the instance"
    held = "; ".join(f"devices {numbers(place.devices)} on port {place.port}" for place in fleet.slices)
    idle = fleet.chips_per_node - sum(len(place.devices) for place in fleet.slices)
    return f"{held}; {count_of(idle, 'chip')} of each node idle" if idle else held


def _ami(ami: AmiPlan | None) -> dict[str, Any] | None:
    if ami is None:
        return None
    return {"reference": ami.reference, "id": ami.id if ami.is_resolved else None, "driver": ami.driver}


def _ami_words(fleet: FleetPlan) -> str:
    if fleet.ami is None:
        return "AMI and driver: AWS's choice (Managed Instances), not published"
    resolved = fleet.ami.id if fleet.ami.is_resolved else "unresolved: run `neuronkit lock`"
    return f"AMI {fleet.ami.reference}: {resolved}; driver {fleet.ami.driver or UNKNOWN}"


def _times_words(fleet: FleetPlan) -> str:
    times = fleet.times
    return (
        f"seconds: idle timeout {times.idle_timeout} < keep-alive {times.keep_alive}; drain {times.deregistration_delay}, "
        f"stop {times.stop}; grace {times.grace}; between steps up {times.scale_out_cooldown}, down {times.scale_in_cooldown}"
    )


def _listener(fleet: FleetPlan) -> dict[str, Any]:
    listener = fleet.settings.listener
    return {
        "protocol": "HTTPS" if listener.certificate else "HTTP",
        "public": listener.public,
        "jwt_issuer": listener.jwt.issuer if listener.jwt else None,
        "open_without_authentication": listener.open_without_authentication,
    }


def _listener_words(fleet: FleetPlan) -> str:
    found = _listener(fleet)
    where = "from the internet" if found["public"] else "inside the VPC"
    who = f"tokens of {found['jwt_issuer']}" if found["jwt_issuer"] else "no tokens asked for"
    return f"{found['protocol']} {where}, {who}"


def _zero_words(fleet: FleetPlan) -> str:
    settings = fleet.settings.scale_to_zero
    if settings is None:
        return "never at zero"
    answer = (
        "503 with Retry-After"
        if settings.answer == "retry"
        else f"held for {settings.hold_seconds} s, then 503"
    )
    return f"at zero after {settings.idle_minutes} min without a request; who wakes it gets: {answer}"


def _fallback(fallback: FallbackPlan) -> dict[str, Any]:
    return {
        "instance_type": fallback.instance_type,
        "mode": fallback.mode,
        "weight_percent": fallback.weight_percent,
        "nodes_maximum": fallback.nodes_maximum,
        "replicas_minimum": fallback.replicas_minimum,
        "replicas_maximum": fallback.replicas_maximum,
        "gpus_per_replica": fallback.gpus_per_replica,
        "image": fallback.image.pinned_uri if fallback.image else None,
        "ami": _ami(fallback.ami),
        "capacity": capacity_document(fallback.capacity),
        "usd_per_million_tokens": None,
    }  # fmt: skip


def _fallback_words(fallback: FallbackPlan) -> str:
    when = {
        "overflow": "while Neuron has no healthy replica or no capacity",
        "weighted": f"for {fallback.weight_percent}% of requests, always",
        "model": "for all requests, as Neuron does not support the model",
    }[fallback.mode]
    cold = "; the first request then waits for a cold start" if not fallback.replicas_minimum else ""
    return (
        f"GPU fallback {when}: {fallback.replicas_minimum} to {fallback.replicas_maximum} replicas on {fallback.instance_type}, "
        f"{capacity_text(fallback.capacity)}{cold}"
    )
