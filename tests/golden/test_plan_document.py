"""`plan --json` is a stable shape that other programs rely on."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import estimate
from stacks.domain.plan_report import plan_document
from stacks.domain.render.starters import STARTERS
from tests.environments import starter_plan


@pytest.mark.parametrize("starter", STARTERS)
def test_plan_document(starter: str, snapshot: SnapshotAssertion) -> None:
    plan = starter_plan(starter)
    document = plan_document(plan, estimate(plan, load_catalog()), (), load_catalog())
    assert document == snapshot(extension_class=JSONSnapshotExtension, name=starter)
    assert set(document) >= {
        "environment",
        "clusters",
        "jobs",
        "fleets",
        "cost",
        "quotas",
        "timeline",
        "findings",
    }
    assert set(document["cost"]) >= {"usd_per_hour", "usd_upfront", "usd_lifetime", "lines", "unknown"}
