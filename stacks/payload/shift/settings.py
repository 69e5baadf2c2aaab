"""What the stack tells the function by its variables, and what follows from it at a moment. Pure."""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from shift.override import Override
from shift.sides import Goal
from shift.windows import SERVE, TRAIN, WeeklyWindow, phase_at


@dataclass(frozen=True, slots=True)
class Settings:
    environment: str
    shift: str
    fleet_stack: str
    cluster_stack: str
    cluster: str
    bucket: str
    prefix: str
    parameter: str
    state_parameter: str
    zone: ZoneInfo
    windows: tuple[WeeklyWindow, ...]
    drain_minutes: int
    replicas_per_node: int
    floor_nodes: int

    def nodes_for(self, replicas: int) -> int:
        """Whole ones, and never below the floor."""
        return max(self.floor_nodes, -(-replicas // self.replicas_per_node))


def read_settings(variables: Mapping[str, str]) -> Settings:
    zone = io.BytesIO(zlib.decompress(base64.b64decode(variables["NEURONKIT_ZONE_RULES"])))
    return Settings(
        environment=variables["NEURONKIT_ENVIRONMENT"],
        shift=variables["NEURONKIT_SHIFT"],
        fleet_stack=variables["NEURONKIT_FLEET_STACK"],
        cluster_stack=variables["NEURONKIT_CLUSTER_STACK"],
        cluster=variables["NEURONKIT_CLUSTER"],
        bucket=variables["NEURONKIT_BUCKET"],
        prefix=variables["NEURONKIT_PREFIX"],
        parameter=variables["NEURONKIT_PARAMETER"],
        state_parameter=variables["NEURONKIT_STATE_PARAMETER"],
        zone=ZoneInfo.from_file(zone, key=variables["NEURONKIT_ZONE"]),
        windows=tuple(WeeklyWindow(*window) for window in json.loads(variables["NEURONKIT_WINDOWS"])),
        drain_minutes=int(variables["NEURONKIT_DRAIN_MINUTES"]),
        replicas_per_node=int(variables["NEURONKIT_REPLICAS_PER_NODE"]),
        floor_nodes=int(variables["NEURONKIT_FLOOR_NODES"]),
    )


def goal_at(settings: Settings, override: Override, now: datetime) -> Goal:
    if override.holds_at(now):
        state = SERVE if override.mode == "serve" else TRAIN
        widest = max(window.replicas for window in settings.windows)
        until = f" until {override.until.isoformat()}" if override.until else ""
        words = f"override {override.mode}{until}: {override.reason or 'no reason given'}"
        return _goal(settings, state, override.changed_at or now, widest if state == SERVE else None, words)
    phase = phase_at(settings.windows, settings.zone, settings.drain_minutes, now)
    since = max([phase.since, *_ends(override, now)])
    words = override.complaint or f"timetable in {settings.zone.key}"
    return _goal(settings, phase.state, since, phase.replicas, words)


def _ends(override: Override, now: datetime) -> list[datetime]:
    """When an override that is over left it to the timetable again."""
    return [time for time in (override.changed_at, override.until) if time is not None and time <= now]


def _goal(settings: Settings, state: str, since: datetime, replicas: int | None, words: str) -> Goal:
    floor = settings.floor_nodes
    nodes = floor if replicas is None else settings.nodes_for(replicas)
    return Goal(state, since, nodes, floor, words)
