"""When a fleet serves: its first start, its wakes, its updates, and its end with a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.serving import StartPart, start_parts

COMPILE = "compile"
SCALE_IN_MINUTES = 15
SCALE_IN_SOURCE = "ECS developer guide, cluster-auto-scaling"


def fleet_events(fleet: FleetPlan) -> Iterator[dict[str, str]]:
    """As offsets; each duration is from its parts, whose sources `fleets` of the document names."""
    yield from _first_start(fleet)
    settings = fleet.settings
    if settings.scale_to_zero is not None:
        yield _event(
            f"{fleet.name}: {settings.scale_to_zero.idle_minutes} min without a request",
            f"the last replica ends; its node is paid for {SCALE_IN_MINUTES} min more at least ({SCALE_IN_SOURCE})",
        )
        yield _event(
            f"{fleet.name}: first request after that",
            f"answers in {duration(fleet.start)}: {parts_words(fleet.start)}",
        )
    if fleet.nodes_minimum <= 1:
        yield _event(
            f"update of {fleet.name}",
            f"while one node serves, its replicas end before the new ones start: nobody answers on Neuron for {duration(fleet.start)}",
        )
    if fleet.capacity.kind == "capacity-block":
        yield _event("block end", f"EC2 takes the nodes of fleet {fleet.name}: nothing serves on Neuron then")


def _first_start(fleet: FleetPlan) -> Iterator[dict[str, str]]:
    everything = start_parts(fleet.settings.engine)
    compiles_before = any(part.what == COMPILE for part in everything) and not any(
        part.what == COMPILE for part in fleet.start
    )
    if compiles_before:
        compiling = [part for part in everything if part.what == COMPILE]
        where = "without chips" if fleet.settings.compile_on == "cpu" else "on a paid node of the fleet"
        yield _event(
            f"first start of {fleet.name}",
            f"one task compiles {where}, {duration(compiling)}, and again for each new SDK, type, model and shape",
        )
    yield _event(
        f"{'then' if compiles_before else f'first start of {fleet.name}'}",
        f"a replica of {fleet.name} answers after {duration(fleet.start)}: {parts_words(fleet.start)}",
    )


def duration(parts: Iterable[StartPart]) -> str:
    found = tuple(parts)
    low, high = sum(part.low_seconds for part in found), sum(part.high_seconds for part in found)
    return f"about {_minutes(low)} to {_minutes(high)} min"


def parts_words(parts: Iterable[StartPart]) -> str:
    return ", ".join(
        f"{part.what} {_minutes(part.low_seconds)} to {_minutes(part.high_seconds)} min" for part in parts
    )


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:.3g}"


def _event(at: str, what: str) -> dict[str, str]:
    return {"at": at, "what": what}
