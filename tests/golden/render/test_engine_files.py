"""What the containers of a fleet start, and ECS's view of it; what they must say is asserted in test_engine_containers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from stacks.domain.rendered_fleets import fleet_texts
from tests.environments import plan_of
from tests.unit.domain.test_engine_containers import CASES

FILES = [
    ("nxdi", "engine-0.sh"), ("nxdi", "engine-0-container.json"), ("nxdi-slices", "engine-1-container.json"),
    ("neuron", "engine-0.sh"), ("neuron-cpu", "compile.sh"), ("neuron-cpu", "compile-container.json"),
    ("neuron-cpu", "fallback.sh"), ("neuron-cpu", "fallback-container.json"), ("neuron-029", "engine-0-container.json"),
    ("encoder", "engine-0.sh"), ("encoder", "compile.sh"), ("inf1", "engine-0.sh"), ("custom", "engine-0.sh"),
]  # fmt: skip
PROGRAM = re.compile(r"printf %s '[A-Za-z0-9+/=]{100,}'")
"""It changes with each line of its payload, which has tests of its own."""


class Text(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "txt"


def texts(case: str) -> dict[str, Any]:
    plan = plan_of(CASES[case])
    return {path.name: text for path, text in fleet_texts(plan, plan.fleet("chat"))}


@pytest.mark.parametrize(("case", "name"), FILES)
def test_file(case: str, name: str, snapshot: SnapshotAssertion) -> None:
    assert PROGRAM.sub("printf %s '(a program of the kit)'", texts(case)[name]) == snapshot(
        extension_class=Text
    )
