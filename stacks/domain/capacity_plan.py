"""How nodes are bought: of a cluster, of a fleet, of a fleet's GPU group."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.environment import Environment


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    name: str
    kind: str
    id: str | None
    """None with on-demand and spot, or while a reservation or block is not bought."""
    ids: tuple[str, ...] = ()
    """Instead of `id`: one for each UltraServer."""

    @property
    def is_bought(self) -> bool:
        return self.kind in ("on-demand", "spot") or self.id is not None or bool(self.ids)


def capacity_plan(environment: Environment, name: str) -> CapacityPlan:
    """Of an entry under `capacity`."""
    capacity = environment.capacity[name]
    return CapacityPlan(name, capacity.kind, capacity.id, capacity.ids)
