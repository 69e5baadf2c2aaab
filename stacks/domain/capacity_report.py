"""How nodes are bought, for readers: a part of the document of `plan --json`, and words."""

from __future__ import annotations

from typing import Any

from stacks.domain.capacity_plan import CapacityPlan


def capacity_document(capacity: CapacityPlan) -> dict[str, Any]:
    return {"name": capacity.name, "kind": capacity.kind, "id": capacity.id, "ids": list(capacity.ids)}


def capacity_text(capacity: CapacityPlan) -> str:
    bought = (
        capacity.id or ", ".join(capacity.ids) or ("no id needed" if capacity.is_bought else "not bought yet")
    )
    return f"capacity {capacity.name}: {capacity.kind}, {bought}"
