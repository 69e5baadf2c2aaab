"""What a shift costs and needs: the larger of what runs in windows and outside of them, not the sum of both sides."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import estimate, inventory_of
from stacks.domain.plan import Plan
from stacks.domain.plan_report import plan_text
from stacks.domain.quotas import needed_vcpus
from stacks.domain.shift_report import shift_document
from tests.environments import plan_of
from tests.unit.domain.shift_cases import BLOCK, RESERVATION, with_windows

INF, TRN = "L-1945791B", "L-2C3B7624"
VCPUS = 128
CLUSTER_GROUP = "train, and fleet chat in the windows of shift day"


def nodes(plan: Plan) -> dict[str, int]:
    return {group.name: group.nodes for group in inventory_of(plan).node_groups}


def plan(*, most: int = 8, floor: int = 1, **more: Any) -> Plan:
    """Four replicas a node, four nodes of training, a fleet of one node at least."""
    window = with_windows({"replicas": most}, replicas_floor=floor)
    return plan_of({**window, "fleets.chat.replicas.maximum": max(most, 8), **more})


@pytest.mark.parametrize(
    ("most", "floor", "groups", "at_once"),
    [
        (8, 1, {CLUSTER_GROUP: 4, "fleet chat": 1}, 5),
        (16, 1, {CLUSTER_GROUP: 4, "fleet chat": 1}, 5),
        (20, 1, {CLUSTER_GROUP: 4, "fleet chat": 1}, 5),
        (40, 1, {CLUSTER_GROUP: 4, "fleet chat": 1, "fleet chat, above its minimum": 5}, 10),
        (40, 9, {CLUSTER_GROUP: 4, "fleet chat": 1, "fleet chat, above its minimum": 5}, 10),
        (12, 5, {CLUSTER_GROUP: 4, "fleet chat": 1, "fleet chat, above its minimum": 1}, 6),
    ],
)
def test_nodes_and_vcpus_are_those_of_the_larger_side(
    most: int, floor: int, groups: dict[str, int], at_once: int
) -> None:
    """By hand: floor + training, or the widest window, whichever is more."""
    found = plan(most=most, floor=floor)
    assert nodes(found) == groups
    assert needed_vcpus(found, load_catalog()) == {TRN: at_once * VCPUS}
    assert shift_document(found, found.shift("day"))["nodes_at_once"] == at_once
    text = plan_text(found, estimate(found, load_catalog()), load_catalog())
    assert f"what can run at once, not the sum of both sides: {at_once} x trn1.32xlarge" in text


def test_what_no_window_uses_is_not_counted_either() -> None:
    found = plan(most=8, **{"fleets.chat.replicas.maximum": 40})
    assert nodes(found) == {CLUSTER_GROUP: 4, "fleet chat": 1}
    assert needed_vcpus(found, load_catalog()) == {TRN: 5 * VCPUS}


@pytest.mark.parametrize("capacity", [RESERVATION, BLOCK])
def test_a_reservation_of_both_sides_holds_each_node_once(capacity: dict[str, Any]) -> None:
    found = plan(most=20, **{"capacity.hourly": capacity})
    assert nodes(found) == {CLUSTER_GROUP: 4, "fleet chat": 1}


def test_two_types_under_one_quota_share_its_vcpus_and_the_cost_says_that_it_adds() -> None:
    found = plan(most=20, **{"clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 4})
    assert needed_vcpus(found, load_catalog()) == {TRN: 5 * VCPUS}, (
        "the window's, above a node and four small ones"
    )
    assert nodes(found) == {"train": 4, "fleet chat": 1, "fleet chat, above its minimum": 4}
    text = plan_text(found, estimate(found, load_catalog()), load_catalog())
    assert "two instance types: the cost adds both sides" in text


def test_two_quotas_add_up() -> None:
    found = plan(most=8, **{"fleets.chat.instance_type": "inf2.48xlarge", "fleets.chat.tensor_parallel": 8})
    fleet, cluster = found.fleet("chat"), found.cluster("train")
    of_fleet = fleet.nodes_maximum * fleet.vcpus_per_node
    assert needed_vcpus(found, load_catalog()) == {INF: of_fleet, TRN: cluster.vcpus}
