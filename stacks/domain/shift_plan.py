"""A shift worked out: windows in minutes, and what both sides have in each state.

Part of the plan. Nodes are whole: replicas round up to nodes, and a node of several slices serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from stacks.domain.environment import Environment, Window
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.windows import DAY_MINUTES, WeeklyWindow

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class ShiftPlan:
    name: str
    fleet: str
    cluster: str
    timezone: str
    windows: tuple[WeeklyWindow, ...]
    """In the order of the week."""
    replicas_floor: int
    replicas_per_node: int
    training_nodes: int
    """Of all cells, while the cluster has the capacity."""
    drain_minutes: int

    @property
    def nodes_floor(self) -> int:
        return self.nodes_for(self.replicas_floor)

    def nodes_for(self, replicas: int) -> int:
        return math.ceil(replicas / self.replicas_per_node)

    @property
    def nodes_serving(self) -> int:
        """In the widest window."""
        return self.nodes_for(self.replicas_maximum)

    @property
    def nodes_of_its_own(self) -> int:
        """Of the fleet's nodes, those that the cluster never gives up for it; both sides on one instance type."""
        return max(self.nodes_floor, self.nodes_serving - self.training_nodes)

    def whole(self, replicas: int) -> int:
        """What its nodes hold, as they start whole."""
        return self.nodes_for(replicas) * self.replicas_per_node

    @property
    def replicas_maximum(self) -> int:
        """Of the widest window: what an override to `serve` gives."""
        return max(window.replicas for window in self.windows)


def shift_plans(environment: Environment, fleets: Iterable[FleetPlan]) -> tuple[ShiftPlan, ...]:
    """Expects shifts in which no rule found an error."""
    by_name = {fleet.name: fleet for fleet in fleets}
    plans = []
    for name, shift in environment.shifts.items():
        cluster = environment.clusters[shift.cluster]
        plans.append(
            ShiftPlan(
                name=name,
                fleet=shift.fleet,
                cluster=shift.cluster,
                timezone=shift.timezone,
                windows=weekly_windows(shift.windows),
                replicas_floor=shift.replicas_floor,
                replicas_per_node=by_name[shift.fleet].replicas_per_node,
                training_nodes=cluster.nodes * cluster.cells,
                drain_minutes=shift.drain_minutes,
            )
        )
    return tuple(plans)


def weekly_windows(windows: Iterable[Window]) -> tuple[WeeklyWindow, ...]:
    """Each window once for each of its days, in the order of the week."""
    found = (of_day for window in windows for of_day in windows_by_day(window))
    return tuple(sorted(found, key=lambda window: window.week_start))


def windows_by_day(window: Window) -> tuple[WeeklyWindow, ...]:
    start, end = minute_of_day(window.start), minute_of_day(window.end)
    minutes = end - start if end > start else end - start + DAY_MINUTES
    return tuple(
        WeeklyWindow(WEEKDAYS.index(day), start, minutes, window.replicas)
        for day in dict.fromkeys(window.days)
    )


def minute_of_day(time: str) -> int:
    """Of HH:MM."""
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)
