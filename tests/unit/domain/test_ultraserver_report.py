"""What the plan says of the groups in which a job's nodes work."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import estimate
from stacks.domain.plan_report import plan_document, plan_text
from tests.environments import plan_of

MEMBERS = {"clusters.train.instance_type": "trn2u.48xlarge", "clusters.train.nodes": 8}
GEN2 = {
    "clusters.train.instance_type": "trn3p.48xlarge",
    "clusters.train.shape": "trn3-gen2",
    "clusters.train.logical_core_size": 2,
    "clusters.train.nodes": 36,
}


@pytest.mark.parametrize(
    ("changes", "groups", "words"),
    [
        (MEMBERS, (4, 2), "in 2 groups of 4 of the 4 nodes of a Trn2 UltraServer, mode 1; ranks by UltraServer and node in it"),
        ({**MEMBERS, "jobs.smoke.ultraserver_nodes": 2}, (2, 4), "in 4 groups of 2 of the 4 nodes of a Trn2 UltraServer, mode 3 or 2;"),
        (GEN2, (36, 1), "in 1 group of 36 of the 36 nodes of a Trn3 Gen2 UltraServer, of a mode that no source states;"),
        ({}, (None, None), ""),
    ],
)  # fmt: skip
def test_the_groups_of_a_job(
    changes: dict[str, Any], groups: tuple[int | None, int | None], words: str
) -> None:
    plan = plan_of(changes)
    cost = estimate(plan, load_catalog())
    job = plan_document(plan, cost, (), load_catalog())["jobs"][0]
    assert (job["ultraserver_nodes"], job["ultraserver_groups"]) == groups
    text = plan_text(plan, cost, load_catalog())
    assert words in text
    assert ("ranks by UltraServer" in text) == bool(words)
