"""What a plan may say and nothing can build yet: chips that are only announced, clusters of several cells."""

from __future__ import annotations

from stacks.domain.errors import InputError
from stacks.domain.plan import Plan


def refuse_projected(plan: Plan) -> None:
    """For whatever writes files or asks AWS about nodes. Raises InputError."""
    if plan.projected:
        names = ", ".join(cluster.name for cluster in plan.projected)
        chip = plan.projected[0].chip
        raise InputError(
            f"{chip.name} is only announced ({names}): there is no type, no image and no driver for it",
            "`neuronkit check` and `neuronkit plan` work; take the cluster out for everything else",
        )


def refuse_unbuildable(plan: Plan) -> None:
    """For whatever makes stacks. Raises InputError."""
    refuse_projected(plan)
    several = [cluster for cluster in plan.clusters if cluster.cells > 1]
    if several:
        first = several[0]
        raise InputError(
            f"cluster {first.name} has {first.cells} cells: one file makes the stacks of one cell",
            f"write one file a cell, each with its own `name` and `cells: 1`, and {first.nodes_per_cell} nodes in it; "
            "`neuronkit check` and `neuronkit plan` work on the whole",
        )
