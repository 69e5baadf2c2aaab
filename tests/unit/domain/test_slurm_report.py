"""What `plan` says of a Slurm cluster, as a document, as text, and in time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.cluster_report import cluster_document, cluster_text
from stacks.domain.cost import estimate
from stacks.domain.live import LiveFacts
from stacks.domain.plan_report import plan_document, plan_text
from stacks.domain.timeline import timeline
from tests.environments import plan_of
from tests.live_answers import block
from tests.unit.domain.slurm_cases import IDS, bought, lustre, slurm, ultraservers
from tests.unit.domain.ultraserver_cases import TYPE, trn3


def document(changes: dict[str, Any]) -> dict[str, Any]:
    return cluster_document(plan_of(changes).clusters[0])


def text(changes: dict[str, Any]) -> str:
    return "\n".join(cluster_text(plan_of(changes).clusters[0]))


def test_a_batch_cluster_has_no_slurm() -> None:
    assert document({})["slurm"] is None


def test_a_dynamic_cluster() -> None:
    found = document(slurm())["slurm"]
    assert found["node_groups"] == [
        {
            "name": "trn1-32xlarge",
            "scaling": "dynamic",
            "nodes_min": 0,
            "nodes_max": 4,
            "features": ["trn1"],
            "capacity_id": None,
        }
    ]
    assert (found["version"], found["end_of_life"]) == ("25.11", None)
    assert (found["cpus_per_node"], found["gres_per_node"]) == (64, 16)
    assert found["shared_storage"] == {"kind": "efs", "capacity_gib": None, "mount_point": "/shared"}


def test_ultraservers_are_groups_with_their_reservations() -> None:
    found = document(ultraservers(8, **bought(*IDS[:2])))
    assert [(g["name"], g["scaling"], g["capacity_id"]) for g in found["slurm"]["node_groups"]] == [
        ("trn2u-48xlarge-us0", "static", IDS[0]),
        ("trn2u-48xlarge-us1", "static", IDS[1]),
    ]
    assert found["capacity"]["ids"] == IDS[:2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (slurm(), "dynamic, up to 4 nodes with jobs, ended after 10 min without one"),
        (slurm(minimum_nodes=4), "static, 4 nodes always"),
        (slurm(), "its end on PCS is not published"),
        (slurm(version="25.05", gres=0), "until 2026-11-30"),
        (slurm(version="25.05", gres=0), "no devices"),
        ({**slurm(), TYPE: "trn2.48xlarge"}, "96 CPUs (one a core) and 16 neuron devices"),
        ({**slurm(), **trn3()}, "unknown CPUs"),
        (lustre(2400), "lustre at /shared, 2,400 GiB"),
        (slurm(), "run `neuronkit image build`"),
        (ultraservers(8, **bought(*IDS[:2])), f"capacity-block, {IDS[0]}, {IDS[1]}"),
    ],
)
def test_the_text_says_it(changes: dict[str, Any], words: str) -> None:
    assert words in text(changes)


def test_a_job_in_a_virtual_environment_claims_no_image() -> None:
    plan = plan_of(slurm())
    cost = estimate(plan, load_catalog())
    (job,) = plan_document(plan, cost, (), load_catalog())["jobs"]
    assert (job["image"], job["sdk"], job["virtual_environment"]) == (
        None,
        None,
        "/opt/aws_neuronx_venv_jax*",
    )
    assert "public.ecr.aws" not in plan_text(plan, cost, load_catalog())


def test_a_job_in_a_container_names_it() -> None:
    plan = plan_of(slurm(runs_in="apptainer"))
    (job,) = plan_document(plan, estimate(plan, load_catalog()), (), load_catalog())["jobs"]
    assert job["image"].startswith("public.ecr.aws/")
    assert job["virtual_environment"] is None


@pytest.mark.parametrize(("changes", "number"), [({}, 2), (slurm(), 1)])
def test_only_batch_leaves_job_definitions(changes: dict[str, Any], number: int) -> None:
    plan = plan_of(changes)
    found = plan_document(plan, estimate(plan, load_catalog()), (), load_catalog())
    assert len(found["leftovers_to_expect"]) == number


class TestTimeline:
    def events(self, changes: dict[str, Any], live: LiveFacts = LiveFacts()) -> dict[str, str]:  # noqa: B008
        return {event["at"]: event["what"] for event in timeline(plan_of(changes), live)}

    def test_the_image_comes_first(self) -> None:
        assert next(iter(self.events(slurm()))) == "before deploy"
        assert "before deploy" not in self.events(slurm(ami="ami-0123456789abcdef0"))
        assert "before deploy" not in self.events({})

    @pytest.mark.parametrize(
        ("minimum", "words", "at"),
        [
            (0, "nodes start only with a job", "first job on train + up to 30 min"),
            (4, "all nodes of train start at once", "deploy + up to 30 min"),
        ],
    )
    def test_when_nodes_start(self, minimum: int, words: str, at: str) -> None:
        found = self.events(slurm(minimum_nodes=minimum))
        assert words in found["deploy"]
        assert at in found

    def test_the_first_blocks_end_decides(self) -> None:
        ends = [datetime(2026, 12, day, 11, 30, tzinfo=UTC) for day in (9, 8)]
        told = {id_: block(id=id_, end=end) for id_, end in zip(IDS, ends, strict=False)}
        plan = ultraservers(8, **bought(*IDS[:2]))
        assert any(
            at.startswith("2026-12-08 10:30 UTC") for at in self.events(plan, LiveFacts(reservations=told))
        )
        partly = LiveFacts(reservations={IDS[0]: told[IDS[0]]})
        assert not any(at.startswith("2026") for at in self.events(plan, partly))
