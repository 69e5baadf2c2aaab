"""The sidecar that reads an engine's metrics, in the engine's own image. See stacks/payload/exporter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.render.engine import render
from stacks.domain.render.engine_container import COMMAND_SHELL, EngineContainer
from stacks.domain.render.travelling_program import travelling_program

EXPORTER_MEMORY_MIB = 128
STALL_SECONDS_MIN = 600
NEURON, GPU = "neuron", "gpu"
"""The metrics' dimension Side."""


@dataclass(frozen=True, slots=True)
class ExporterScript:
    template: ClassVar[str] = "serving/exporter.sh.j2"

    program: str


@dataclass(frozen=True, slots=True)
class ExporterContainer:
    image: str
    entry_point: tuple[str, ...]
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    essential: bool
    """Ends the task when the engine stalls. Not with an image of the user's, which may have no Python."""
    memory_reservation_mib: int


def exporter_container(
    environment: str, fleet: FleetPlan, engine: EngineContainer, *, side: str, engine_host: str | None
) -> ExporterContainer | None:
    """None where the engine has no metrics. `engine_host` None: they share a loopback."""
    if engine.metrics_path is None:
        return None
    variables = {
        "NEURONKIT_ENVIRONMENT": environment,
        "NEURONKIT_FLEET": fleet.name,
        "NEURONKIT_SIDE": side,
        "NEURONKIT_ENGINE_PORT": str(engine.port),
        "NEURONKIT_HEALTH_PATH": engine.health_path,
        "NEURONKIT_METRICS_PATH": engine.metrics_path,
        "NEURONKIT_STALL_SECONDS": str(stall_seconds(fleet)),
        **({"NEURONKIT_ENGINE_HOST": engine_host} if engine_host else {}),
    }
    return ExporterContainer(
        image=engine.image,
        entry_point=COMMAND_SHELL,
        command=(render(ExporterScript(travelling_program("exporter"))),),
        environment=tuple(sorted(variables.items())),
        essential=side == GPU or fleet.settings.engine != "custom",
        memory_reservation_mib=EXPORTER_MEMORY_MIB,
    )


def stall_seconds(fleet: FleetPlan) -> int:
    """Twice the longest wait for a first token: a long prefill makes no token, and is no stall."""
    return max(STALL_SECONDS_MIN, 2 * fleet.settings.first_token_seconds)
