"""One shift of a plan for readers, as a part of the document of `plan --json` and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stacks.domain.findings import count_of
from stacks.domain.plan import Plan
from stacks.domain.shift_plan import ShiftPlan


def shift_document(plan: Plan, shift: ShiftPlan) -> dict[str, Any]:
    return {
        "name": shift.name,
        "fleet": shift.fleet,
        "cluster": shift.cluster,
        "timezone": shift.timezone,
        "drain_minutes": shift.drain_minutes,
        "training_nodes": shift.training_nodes,
        "serving_nodes_floor": shift.nodes_floor,
        "serving_nodes_maximum": shift.nodes_serving,
        "nodes_at_once": _at_once(plan, shift),
    }


def shift_text(plan: Plan, shift: ShiftPlan) -> Iterator[str]:
    yield (
        f"shift    {shift.name}: {shift.cluster} trains on {count_of(shift.training_nodes, 'node')}; in windows "
        f"({shift.timezone}) {shift.fleet} serves on {count_of(shift.nodes_serving, 'node')} at most, outside on "
        f"{shift.nodes_floor}"
    )
    at_once = _at_once(plan, shift)
    if at_once is None:
        yield "         two instance types: the cost adds both sides, which is more than can run at once"
    else:
        yield (
            f"         cost and quotas count what can run at once, not the sum of both sides: {at_once} x "
            f"{plan.fleet(shift.fleet).instance_type}"
        )


def _at_once(plan: Plan, shift: ShiftPlan) -> int | None:
    """None: the sides are of two instance types."""
    if plan.fleet(shift.fleet).instance_type != plan.cluster(shift.cluster).instance_type:
        return None
    return shift.training_nodes + shift.nodes_of_its_own
