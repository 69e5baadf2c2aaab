"""UltraServers, unlisted types, projections, cells and brought networks in the plan; and that size costs nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.loading import check
from stacks.domain.buildable import refuse_projected, refuse_unbuildable
from stacks.domain.catalog import load_catalog
from stacks.domain.cost import estimate
from stacks.domain.errors import InputError
from stacks.domain.findings import FindingsError
from stacks.domain.live import LiveFacts
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.plan_report import plan_document, plan_text
from stacks.domain.rendered_files import rendered_files
from stacks.domain.rules import not_checked, run_rules
from stacks.domain.selection import select
from stacks.domain.software import choose_image
from stacks.domain.unlisted_types import with_named_types
from tests.environments import changed, loaded, plan_of
from tests.unit.domain.ultraserver_cases import BROUGHT, trainium4, trn3, ultraservers

CELLS = ultraservers(2404, **{"clusters.train.cells": 13, "budget_usd": 1e9})
"""7,813 UltraServers."""


def document(plan: Plan) -> dict[str, Any]:
    return plan_document(plan, estimate(plan, load_catalog()), (), load_catalog())


def text(plan: Plan) -> str:
    return plan_text(plan, estimate(plan, load_catalog()), load_catalog())


@pytest.mark.parametrize(
    ("changes", "nodes", "ultraserver_count", "per_ultraserver", "chips", "vcpus", "memory_gib", "efa"),
    [
        (ultraservers(4), 4, 1, 64, 64, 768, 8192, 64),
        (ultraservers(8), 8, 2, 64, 128, 1536, 16384, 128),
        (ultraservers(6), 6, None, 64, 96, 1152, 12288, 96),
        (trn3("trn3-gen1"), 4, 1, 64, 64, 768, 8192, 64),
        (trn3("trn3-gen2", **{"clusters.train.nodes": 36}), 36, 1, 144, 144, 2304, 27648, 144),
        (trn3("trn3-gen2", **{"clusters.train.nodes": 72}), 72, 2, 144, 288, 4608, 55296, 288),
        (CELLS, 31_252, 7_813, 64, 500_032, 6_000_384, 64_004_096, 500_032),
        ({}, 4, None, None, 64, 512, 2048, 32),
    ],
)
def test_totals_are_those_of_the_hardware_pages(
    changes: dict[str, Any], nodes: int, ultraserver_count: int | None, per_ultraserver: int | None, chips: int, vcpus: int,
    memory_gib: int, efa: int,
) -> None:  # fmt: skip
    plan = plan_of(changes)
    cluster, (found,) = plan.cluster("train"), document(plan)["clusters"]
    assert (found["nodes"], found["chips"], found["ultraservers"], found["chips_per_ultraserver"]) == (
        nodes, chips, ultraserver_count, per_ultraserver,
    )  # fmt: skip
    assert (cluster.vcpus, cluster.nodes * cluster.memory_gib_per_node) == (vcpus, memory_gib)
    assert found["efa_interfaces"] == efa


@pytest.mark.parametrize("size", [1, 2])
def test_trn3_has_the_logical_cores_that_the_file_says(size: int) -> None:
    cluster = plan_of({**trn3(), "clusters.train.logical_core_size": size}).cluster("train")
    assert (cluster.physical_cores_per_node, cluster.logical_cores_per_node) == (128, 128 // size)


def test_a_job_runs_in_one_cell() -> None:
    assert plan_of(CELLS).job("smoke").nodes == 2404


def test_an_unlisted_type_is_marked_and_has_no_facts_that_nobody_states() -> None:
    file = loaded(changed(trn3()))
    catalog = with_named_types(file.environment, load_catalog())
    made = catalog.instance_types["trn3.48xlarge"]
    assert not made.api_known
    assert made.zone_ids == {}
    assert made.purchase_options == frozenset()
    assert (made.quota_code_on_demand, made.quota_code_spot, made.prices) == (None, None, ())
    assert made.sources
    assert "trn3.48xlarge" not in load_catalog().instance_types

    plan = plan_of(trn3())
    (cluster,) = document(plan)["clusters"]
    assert cluster["instance_type_is_listed"] is False
    assert cluster["efa_interfaces_are_assumed"] is True
    assert document(plan)["cost"]["usd_per_hour"] is None
    assert "unverified" in text(plan)
    assert "assumed EFA interfaces" in text(plan)


def test_images_of_an_unlisted_type_are_those_of_its_family() -> None:
    wanted = choose_image("jax", "trn3")
    assert wanted is not None
    for name in ("trn3.48xlarge", "trn3pd98.48xlarge", "whatever.large"):
        selected = select(loaded(changed(trn3("trn3-gen1", name))).environment, load_catalog())
        assert selected.images["smoke"].known == wanted


def test_where_an_unlisted_type_is_offered_was_not_checked(tmp_path: Path) -> None:
    file = loaded(changed(trn3(**{"capacity.hourly.kind": "capacity-block"})), tmp_path)
    found = {finding.id for finding in run_rules(file, load_catalog())}
    assert not found & {"NK206", "NK207", "NK218"}
    plan = plan_of(trn3(**{"capacity.hourly.kind": "capacity-block"}))
    skipped = {n.id: n.why for n in not_checked(file, plan, load_catalog(), LiveFacts())}
    assert all("trn3.48xlarge" in skipped[id_] for id_ in ("NK206", "NK207", "NK218"))


@pytest.mark.parametrize("name", ["trn3.48xlarge", "Trn3x.large", "trn3p.48xlarge"])
def test_a_trn3_name_without_a_shape_is_told_of_the_shapes(name: str, tmp_path: Path) -> None:
    (finding,) = (
        f
        for f in run_rules(loaded(changed({"clusters.train.instance_type": name}), tmp_path), load_catalog())
        if f.id == "NK204"
    )
    assert "shape: trn3-gen1" in finding.fix
    assert "trn3-gen2" in finding.fix


class TestProjection:
    @pytest.mark.parametrize(("assumed", "chips"), [(None, None), (16, 64), (36, 144)])
    def test_chips_are_what_the_file_assumes_or_unknown(self, assumed: int | None, chips: int | None) -> None:
        plan = plan_of(trainium4(**{"clusters.train.assumed_chips_per_node": assumed}))
        (cluster,) = document(plan)["clusters"]
        assert (cluster["nodes"], cluster["chips"]) == (4, chips)
        unknown = {key for key, value in cluster.items() if value is None}
        assert unknown >= {
            "physical_cores",
            "logical_cores",
            "logical_core_size",
            "efa_interfaces",
            "ultraservers",
            "ami",
        }
        assert ("your assumption" in text(plan)) is (assumed is not None)
        assert document(plan)["cost"]["usd_per_hour"] is None

    def test_its_jobs_are_not_planned_and_it_has_no_stack(self) -> None:
        plan = plan_of(trainium4())
        assert plan.jobs == ()
        assert plan.stacks.clusters == ()

    def test_nothing_can_be_built_of_it(self) -> None:
        plan = plan_of(trainium4())
        for refuse in (refuse_projected, refuse_unbuildable):
            with pytest.raises(InputError, match="trainium4 is only announced"):
                refuse(plan)
        with pytest.raises(InputError, match="trainium4 is only announced"):
            rendered_files(plan, None, lambda job: Path())

    def test_clusters_beside_it_are_planned(self) -> None:
        other = {"scheduler": "batch", "instance_type": "trn1.32xlarge", "nodes": 2, "capacity": "hourly"}
        plan = plan_of(trainium4(**{"clusters.now": other, "jobs.smoke.cluster": "now"}))
        assert [cluster["name"] for cluster in document(plan)["clusters"]] == ["now", "train"]
        assert plan.job("smoke").nodes == 2


def test_several_cells_make_no_stacks_but_files() -> None:
    plan = plan_of(CELLS)
    with pytest.raises(InputError, match="13 cells"):
        refuse_unbuildable(plan)
    refuse_projected(plan)
    refuse_unbuildable(plan_of())


class TestBroughtNetwork:
    def test_it_has_no_stack_no_range_and_no_nat_gateway(self) -> None:
        plan, own = plan_of(BROUGHT), plan_of()
        assert plan.stacks.all == ("pilot-storage", "pilot-cluster-train")
        assert own.stacks.all == ("pilot-network", "pilot-storage", "pilot-cluster-train")
        assert plan.vpc_cidr is None
        assert not any("NAT" in line.what for line in estimate(plan, load_catalog()).lines)
        assert "never changed or deleted: vpc-0123456789abcdef0" in text(plan)

    def test_what_a_misspelt_id_leads_to_blames_only_the_id(self, tmp_path: Path) -> None:
        file = tmp_path / "pilot.yaml"
        file.write_text(changed({**BROUGHT, "network.subnet_id": "subnet-nine"}), encoding="utf-8")
        with pytest.raises(FindingsError) as caught:
            check(file)
        assert [f.path for f in caught.value.findings] == ["network.subnet_id"]


def objects(value: object) -> Iterator[object]:
    """Everything that a plan holds, at any depth."""
    yield value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from objects(getattr(value, field.name))
    elif isinstance(value, tuple | list | frozenset):
        for item in value:
            yield from objects(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from objects(item)


@pytest.mark.parametrize("base", [ultraservers(4), trn3(), {}, trainium4()])
def test_a_plan_holds_nothing_for_each_node(base: dict[str, Any]) -> None:
    """So neither time nor memory grows with the nodes."""
    small = plan_of({**base, "clusters.train.nodes": 4})
    large = plan_of({**base, "clusters.train.nodes": 100_000, "clusters.train.cells": 1000})
    assert sum(1 for _ in objects(small)) == sum(1 for _ in objects(large))
    assert len(list(objects(document(small)))) == len(list(objects(document(large))))


def test_nodes_of_ultraservers_make_a_whole_number_or_none_for_any_count() -> None:
    for nodes in range(1, 200):
        cluster: ClusterPlan = plan_of(ultraservers(nodes)).cluster("train")
        assert cluster.ultraservers == (nodes // 4 if nodes % 4 == 0 else None)
