"""The container beside an engine that makes CloudWatch metrics of the engine's own (stacks/payload/exporter)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.render.engine import render
from stacks.domain.render.engine_container import COMMAND_SHELL, EngineContainer
from stacks.domain.render.travelling_program import travelling_program

STALL_SECONDS_MIN = 600
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ExporterContainer:
    """In the engine's image, essential: it ends when the engine stalls, and ECS replaces the task."""

    entry_point: tuple[str, ...]
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ExporterScript:
    template: ClassVar[str] = "serving/exporter.sh.j2"

    program: str


def exporter_container(
    environment: str,
    fleet: FleetPlan,
    engine: EngineContainer,
    side: Literal["neuron", "gpu"],
    host: str = LOOPBACK,
) -> ExporterContainer | None:
    """`host` is the engine's name where the two have no loopback in common. None for an engine without metrics."""
    if engine.metrics_path is None:
        return None
    variables = {
        "NEURONKIT_ENVIRONMENT": environment,
        "NEURONKIT_FLEET": fleet.name,
        "NEURONKIT_SIDE": side,
        "NEURONKIT_ENGINE_HOST": host,
        "NEURONKIT_ENGINE_PORT": str(engine.port),
        "NEURONKIT_HEALTH_PATH": engine.health_path,
        "NEURONKIT_METRICS_PATH": engine.metrics_path,
        "NEURONKIT_STALL_SECONDS": str(stall_seconds(fleet)),
    }
    script = render(ExporterScript(travelling_program("exporter")))
    return ExporterContainer(COMMAND_SHELL, (script,), tuple(variables.items()))


def stall_seconds(fleet: FleetPlan) -> int:
    """Twice the longest wait for a first token: a long prefill makes no token, and is no stall."""
    return max(STALL_SECONDS_MIN, 2 * fleet.settings.first_token_seconds)
