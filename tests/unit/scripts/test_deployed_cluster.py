"""What a cluster's template says of its nodes and capacity, whatever the file says by now."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripts.deployed_cluster import DeployedCluster, capacity_of, read_cluster, require_room, room_words
from stacks.domain.capacity_plan import CapacityPlan
from stacks.domain.catalog import load_catalog
from stacks.domain.errors import WorldError
from tests import synthesized
from tests.environments import plan_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "stacks" / "__snapshots__" / "test_templates"
LISTED = [
    name
    for name, plan in synthesized.plans().items()
    if plan.clusters and name != "trn3-gen2"  # whose type only the file knows
]
PLAN = plan_of()
CLUSTER, JOB = PLAN.clusters[0], PLAN.jobs[0]
FOUR = DeployedCluster("trn1.32xlarge", 4, "on-demand", ())


def golden(plan_name: str, stack: str) -> dict[str, Any]:
    file = GOLDEN / f"test_template[{plan_name}--{stack}].json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("plan_name", LISTED)
def test_what_is_deployed_is_what_was_planned(plan_name: str) -> None:
    plan = synthesized.plans()[plan_name]
    for cluster in plan.clusters:
        stack = plan.stacks.of_cluster(cluster.name)
        found = read_cluster(golden(plan_name, stack), load_catalog())
        assert found is not None
        assert (found.instance_type, found.nodes) == (cluster.instance_type, cluster.nodes)
        if cluster.capacity.is_bought:
            assert capacity_of(cluster, found) == cluster.capacity
        require_room(replace(JOB, nodes=cluster.nodes), cluster, found)


def test_a_stack_without_nodes_says_nothing() -> None:
    assert read_cluster({}, load_catalog()) is None
    assert capacity_of(CLUSTER, None) == CLUSTER.capacity


def test_a_type_that_the_catalog_does_not_know_leaves_its_capacity_readable() -> None:
    plan = synthesized.plans()["trn3-gen2"]
    found = read_cluster(golden("trn3-gen2", "pilot-cluster-train"), load_catalog())
    assert found is not None
    assert (found.instance_type, found.nodes) == (None, None)
    assert capacity_of(plan.clusters[0], found).kind == plan.clusters[0].capacity.kind
    require_room(replace(JOB, nodes=1000), plan.clusters[0], found)


def test_ids_are_those_of_the_template() -> None:
    on_block = replace(CLUSTER, capacity=CapacityPlan("block", "capacity-block", None))
    one = replace(FOUR, capacity_kind="capacity-block", capacity_ids=("cr-1",))
    assert capacity_of(on_block, one) == CapacityPlan("block", "capacity-block", "cr-1")
    two = replace(one, capacity_ids=("cr-1", "cr-2"))
    assert capacity_of(on_block, two) == CapacityPlan("block", "capacity-block", None, ("cr-1", "cr-2"))


def test_a_job_that_could_wait_for_ever_is_refused() -> None:
    grown = replace(CLUSTER, nodes=40)
    with pytest.raises(WorldError) as caught:
        require_room(replace(JOB, nodes=40), grown, FOUR)
    assert "the deployed cluster train takes 4 nodes, the job asks for 40" in caught.value.message
    assert "`neuronkit deploy FILE` first" in caught.value.message
    with pytest.raises(WorldError, match=r"has trn1\.32xlarge, job smoke was planned for trn2\.48xlarge"):
        require_room(JOB, replace(CLUSTER, instance_type="trn2.48xlarge"), FOUR)


@pytest.mark.parametrize(
    ("in_file", "nodes", "words"),
    [(40, 40, "`neuronkit deploy FILE` first, the file has 40"), (4, 5, "raise the cluster's `nodes`"), (4, 4, None)],
)  # fmt: skip
def test_the_advice_goes_by_what_the_file_has(in_file: int, nodes: int, words: str | None) -> None:
    said = room_words(replace(CLUSTER, nodes=in_file), FOUR, nodes)
    assert words in said if words is not None and said is not None else said == words
