"""The starters of UltraServers: what their comments say one may change them to."""

from __future__ import annotations

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.findings import has_errors
from stacks.domain.render.starters import starter_text
from stacks.domain.rules import run_rules
from tests.environments import loaded

TO_GEN2 = {
    "shape: trn3-gen1": "shape: trn3-gen2",
    "    nodes: 4 ": "    nodes: 36 ",
    "minimum_nodes: 4 ": "minimum_nodes: 36 ",
    "gres: 16 ": "gres: 4 ",
    "ultraserver_nodes: 4 ": "ultraserver_nodes: 36 ",
}


def findings(starter: str, changes: dict[str, str]) -> dict[str, str]:
    text = starter_text(starter, name="pilot", file="pilot.yaml", schema="schema.json")
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    found = run_rules(loaded(text), load_catalog())
    assert not has_errors(found), [f.text() for f in found]
    return {f.id: f.message for f in found}


@pytest.mark.parametrize("size", [36, 4, 2])
def test_gen1_becomes_gen2_as_the_comment_says(size: int) -> None:
    found = findings("trn3-ultraserver", {**TO_GEN2, "ultraserver_nodes: 4 ": f"ultraserver_nodes: {size} "})
    assert f"groups of {size} nodes" in found["NK615"]


@pytest.mark.parametrize("starter", ["trn2-ultraserver", "trn3-ultraserver"])
@pytest.mark.parametrize("size", [4, 2, 1])
def test_groups_of_every_size_that_the_comment_names(starter: str, size: int) -> None:
    assert "NK615" not in findings(starter, {"ultraserver_nodes: 4 ": f"ultraserver_nodes: {size} "})


def test_another_name_of_the_type_is_taken() -> None:
    found = findings("trn3-ultraserver", {"instance_type: trn3.48xlarge ": "instance_type: given.to-you "})
    assert "NK601" in found
    assert "NK603" not in found
