"""A fleet's containers as files: what each starts, and what ECS is told of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath

from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import OUTPUT_BUCKET
from stacks.domain.plan import Plan
from stacks.domain.render.container_definition import container_definition
from stacks.domain.render.engine_container import EngineContainer
from stacks.domain.render.engines import compile_container, engine_container, fallback_container


def fleet_containers(plan: Plan, fleet: FleetPlan) -> Iterator[tuple[str, EngineContainer]]:
    """By what they are called: one engine for each slice of a node, the compile task, the GPU side."""
    for place in fleet.slices:
        yield f"engine-{place.index}", engine_container(plan, fleet, place)
    compiles = compile_container(plan, fleet)
    if compiles is not None:
        yield "compile", compiles
    if fleet.fallback is not None:
        yield "fallback", fallback_container(plan, fleet)


def fleet_texts(plan: Plan, fleet: FleetPlan) -> Iterator[tuple[PurePosixPath, str]]:
    place = PurePosixPath("fleets", fleet.name)
    bucket = f"<{OUTPUT_BUCKET} of stack {plan.stacks.storage}>"
    for name, container in fleet_containers(plan, fleet):
        definition = container_definition(name, container, bucket)
        yield place / f"{name}.sh", container.command[0]
        yield place / f"{name}-container.json", json.dumps(definition, indent=2, ensure_ascii=False) + "\n"
