"""Words and variables that `check` lets through, against what the kit makes of them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from stacks.domain.render.engine_container import COMMAND_BYTES_MAX
from stacks.domain.rendered_fleets import fleet_containers
from stacks.domain.rules.engine_arguments import TEXTS_BYTES_MAX
from tests.environments import plan_of
from tests.unit.domain.fleet_cases import custom, encoder, fleet, trn2

TASK_BYTES_MAX = 64 * 1024
OTHER_BYTES = 8 * 1024
"""Of the rest of a task definition: the exporter beside the engine, volumes, tags."""
GPU = {"instance_type": "g6.12xlarge", "capacity": "hourly"}


def as_long_as_allowed(character: str, copies: int) -> str:
    quoting = len(json.dumps(shlex.quote("")))
    each = len(json.dumps(shlex.quote(character * 10))) - len(json.dumps(shlex.quote(character * 9)))
    return character * ((TEXTS_BYTES_MAX // copies - quoting - 100) // each)


@pytest.mark.parametrize("character", ["x", "'", '"', "é", "\n"])
@pytest.mark.parametrize(
    "case",
    [
        lambda text: fleet(engine_arguments=["--x", text], fallback=GPU),
        lambda text: fleet(environment={"V": text}),
        lambda text: trn2(engine_arguments=["--x", text]),
        lambda text: trn2(environment={"V": text}, compile_on="cpu"),
        lambda text: encoder(environment={"V": text}),
        lambda text: custom(command=["serve", text[: len(text) // 2]], environment={"V": text[: len(text) // 4]}),
    ],
)  # fmt: skip
def test_a_task_definition_has_room(case: Any, character: str) -> None:
    plan = plan_of(case(as_long_as_allowed(character, 2)))
    for _, container in fleet_containers(plan, plan.fleet("chat")):
        assert len(container.command[0].encode()) < COMMAND_BYTES_MAX
        parts = [container.command, container.environment, container.secrets]
        assert len(json.dumps(parts)) < TASK_BYTES_MAX - OTHER_BYTES
