"""The first deploy of a fleet lasts until it has started, whatever was killed before; what serves is never set to no task."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scripts.aws.cloudformation import Stack
from scripts.serving_fleets import first_deploy
from scripts.serving_fleets.first_deploy import is_first_deploy
from stacks.domain import names
from tests.unit.scripts.fakes import a_stack
from tests.unit.scripts.serving_fleets.world import GPU, NEURON, World, first, fleet_plan, stacks_of

PLAN = fleet_plan()
NAME = PLAN.stacks.of_fleet("chat")
MADE = stacks_of(PLAN, **{names.OUTPUT_GPU_TARGET_GROUP: GPU})[NAME]


def nothing_serves(world: World) -> None:
    world.health = {NEURON: ["initial", "unhealthy"], GPU: []}


def serves_on(group: str) -> Callable[[World], None]:
    def serve(world: World) -> None:
        world.health[group] = ["unhealthy", "healthy"]

    return serve


@pytest.mark.parametrize(
    ("stack", "state", "expected"),
    [
        (None, nothing_serves, True),
        (a_stack(NAME, "REVIEW_IN_PROGRESS"), nothing_serves, True),
        (a_stack(NAME, "ROLLBACK_COMPLETE"), nothing_serves, True),
        (a_stack(NAME, "DELETE_FAILED"), nothing_serves, True),
        (first(MADE), nothing_serves, True),
        (first(a_stack(NAME)), nothing_serves, True),
        (first(MADE), serves_on(NEURON), False),
        (first(MADE), serves_on(GPU), False),
        (MADE, nothing_serves, False),
        (a_stack(NAME, "UPDATE_ROLLBACK_COMPLETE"), nothing_serves, False),
    ],
)
def test_which_deploy_is_the_first(
    stack: Stack | None, state: Callable[[World], None], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    state(world)
    monkeypatch.setattr(first_deploy.cloudformation, "find_stack", lambda cloud, name: stack)
    assert is_first_deploy(world, NAME) is expected  # type: ignore[arg-type]
