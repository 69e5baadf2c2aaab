"""Every finding about a value points to that value: each scalar of each starter is spoilt in turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, ScalarNode

from stacks.domain.catalog import load_catalog
from stacks.domain.environment import Loaded, read
from stacks.domain.environment.source import parse
from stacks.domain.findings import FindingsError
from stacks.domain.render.starters import STARTERS, starter_text
from stacks.domain.rules import run_rules

# Free text that no wrong text exists for; a mapping in its place is wrong everywhere.
SPOILT = "{spoilt: [1]}"


def scalars(text: str) -> list[tuple[str, int, int, int]]:
    """(path, line, column, end column) of every value, read by ruamel.yaml alone."""
    found: list[tuple[str, int, int, int]] = []

    def walk(node: object, path: str) -> None:
        if isinstance(node, MappingNode):
            for key, value in node.value:
                walk(value, f"{path}.{key.value}" if path else key.value)
        elif isinstance(node, ScalarNode):
            end = node.end_mark.column
            found.append((path, node.start_mark.line, node.start_mark.column, end))
        else:
            for index, item in enumerate(node.value):  # type: ignore[attr-defined]
                walk(item, f"{path}[{index}]")

    walk(YAML().compose(text), "")
    return found


def cases() -> list[object]:
    result = []
    for starter in STARTERS:
        text = starter_text(starter, name="pilot", file="pilot.yaml", schema="schema.json")
        for place in scalars(text):
            result.append(pytest.param(text, place, id=f"{starter}-{place[0]}"))
    return result


@pytest.mark.parametrize(("text", "place"), cases())
def test_the_reported_place_is_the_spoilt_scalars(text: str, place: tuple[str, int, int, int]) -> None:
    path, line, column, end = place
    lines = text.splitlines()
    lines[line] = lines[line][:column] + SPOILT + lines[line][end:]
    source = parse("\n".join(lines), "pilot.yaml")
    with pytest.raises(FindingsError) as caught:
        read(source)
    assert [(f.path, f.line, f.column) for f in caught.value.findings] == [(path, line + 1, column + 1)]


@pytest.mark.parametrize("starter", STARTERS)
def test_rules_point_to_the_value_that_they_name(starter: str) -> None:
    text = starter_text(starter, name="pilot", file="pilot.yaml", schema="schema.json")
    for zone in ("use1-az6", "use2-az3", "aps2-az1"):
        text = text.replace(zone, "euw1-az1")
    source = parse(text, "pilot.yaml")
    findings = run_rules(Loaded(read(source), source, Path("pilot.yaml")), load_catalog())
    line = next(n for n, content in enumerate(text.splitlines(), 1) if "euw1-az1" in content)
    column = text.splitlines()[line - 1].index("euw1-az1") + 1
    assert [(f.line, f.column) for f in findings if f.id == "NK202"] == [(line, column)]
