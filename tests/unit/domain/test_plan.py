"""The plan's arithmetic, against counts that the hardware pages give."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import estimate
from stacks.domain.lock import Lock, LockedAmi, LockedImage
from stacks.domain.pinned import UNRESOLVED_AMI, ImagePlan
from stacks.domain.plan_report import plan_document, plan_text
from stacks.domain.sizing import task_memory_mib
from tests.environments import plan_of, starter_plan

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("instance_type", "nodes", "chips", "physical", "logical", "efa"),
    [
        ("trn1.32xlarge", 4, 64, 128, 128, 32),
        ("trn1n.32xlarge", 2, 32, 64, 64, 32),
        ("trn2.48xlarge", 4, 64, 512, 256, 64),
        ("trn2.48xlarge", 1, 16, 128, 64, 16),
    ],
)
def test_cluster_totals(
    instance_type: str, nodes: int, chips: int, physical: int, logical: int, efa: int
) -> None:
    cluster = plan_of({"clusters.train.instance_type": instance_type, "clusters.train.nodes": nodes}).cluster(
        "train"
    )
    assert (cluster.chips, cluster.physical_cores, cluster.logical_cores, cluster.efa_interfaces) == (
        chips, physical, logical, efa,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "processes_per_node", "data", "cores_per_process"),
    [
        ({}, 1, 128, 32),
        ({"jobs.smoke.framework": "torch-neuronx"}, 32, 128, 1),
        ({"jobs.smoke.nodes": 2, "jobs.smoke.parallelism": {"tensor": 8}}, 1, 8, 32),
        ({"jobs.smoke.processes_per_node": 4}, 4, 128, 8),
    ],
)
def test_job_degrees(
    changes: dict[str, Any], processes_per_node: int, data: int, cores_per_process: int
) -> None:
    job = plan_of(changes).job("smoke")
    assert (job.processes_per_node, job.data_parallel, job.logical_cores_per_process) == (
        processes_per_node, data, cores_per_process,
    )  # fmt: skip
    assert job.processes == job.nodes * job.processes_per_node


def test_a_task_leaves_the_host_what_batch_was_seen_to_need() -> None:
    """torchx issue 795: 508,416 MiB never started on a 512 GiB host that had 507,821."""
    assert task_memory_mib(512) < 507_821
    assert task_memory_mib(32) <= 30 * 1024
    assert task_memory_mib(2048) > 1900 * 1024


@pytest.mark.parametrize(
    ("capacity", "setting", "nodes", "expected"),
    [
        ("on-demand", "auto", 4, True),
        ("on-demand", "auto", 1, False),
        ("on-demand", "no", 4, False),
        ("capacity-block", "auto", 4, False),
        ("reservation", "auto", 4, True),
    ],
)
def test_placement_group(capacity: str, setting: str, nodes: int, expected: bool) -> None:
    changes = {
        "capacity.hourly.kind": capacity,
        "clusters.train.placement_group": setting,
        "clusters.train.nodes": nodes,
    }
    assert plan_of(changes).cluster("train").placement_group is expected


def test_nothing_is_resolved_without_a_lock() -> None:
    plan = plan_of()
    ami, image = plan.cluster("train").ami, plan.job("smoke").image
    assert ami is not None
    assert ami.id == UNRESOLVED_AMI
    assert image is not None
    assert not image.is_resolved


def test_the_lock_resolves() -> None:
    unlocked = plan_of()
    ami, image = unlocked.cluster("train").ami, unlocked.job("smoke").image
    assert ami is not None
    assert image is not None
    lock = Lock(
        resolved_by="aws",
        region="us-east-2",
        amis={
            ami.reference: LockedAmi(id="ami-0123456789abcdef0", root_device_name="/dev/sda1", driver="2.30")
        },
        images={image.uri: LockedImage(digest=DIGEST)},
    )
    plan = plan_of(lock=lock)
    resolved, pinned = plan.cluster("train").ami, plan.job("smoke").image
    assert resolved is not None
    assert (resolved.id, resolved.root_device_name) == ("ami-0123456789abcdef0", "/dev/sda1")
    assert pinned is not None
    assert pinned.pinned_uri == image.uri.rpartition(":")[0] + "@" + DIGEST


@pytest.mark.parametrize(
    ("uri", "pinned"),
    [
        ("r.example/a/b:1", f"r.example/a/b@{DIGEST}"),
        ("r.example:5000/a/b:1", f"r.example:5000/a/b@{DIGEST}"),
        (f"r.example/a/b@{DIGEST}", f"r.example/a/b@{DIGEST}"),
    ],
)
def test_pinned_uri(uri: str, pinned: str) -> None:
    assert ImagePlan(uri, DIGEST, None, None).pinned_uri == pinned


def test_tags_of_the_kit_cannot_be_overridden() -> None:
    plan = plan_of({"tags": {"team": "a"}})
    assert dict(plan.tags) == {
        "team": "a",
        "neuronkit:environment": "pilot",
        "neuronkit:owner": "team",
        "neuronkit:lifetime-days": "7",
    }


def test_stack_names_are_in_order_of_creation() -> None:
    assert plan_of().stacks.all == ("pilot-network", "pilot-storage", "pilot-cluster-train")


def test_quota_needs_add_up_over_clusters_and_leave_blocks_out() -> None:
    second = {"scheduler": "batch", "instance_type": "trn1.32xlarge", "nodes": 2, "capacity": "hourly"}
    third = {"scheduler": "batch", "instance_type": "trn2.48xlarge", "nodes": 2, "capacity": "block"}
    plan = plan_of(
        {
            "clusters.more": second,
            "clusters.block": third,
            "capacity.block": {"kind": "capacity-block", "id": None},
        }
    )
    quotas = plan_document(plan, estimate(plan, load_catalog()), (), load_catalog())["quotas"]
    assert [(q["code"], q["needed_vcpus"]) for q in quotas] == [("L-2C3B7624", 6 * 128)]


def test_one_is_not_many() -> None:
    plan = starter_plan("trn1-first-hour")
    text = plan_text(plan, estimate(plan, load_catalog()), load_catalog())
    assert "1 chip, 2 physical cores" in text
    assert "1 node x 1 process," in text
    many = starter_plan("trn1-slurm")
    text = plan_text(many, estimate(many, load_catalog()), load_catalog())
    assert "64 chips, 128 physical cores" in text
    assert re.search(r"4 nodes x \d+ process", text)
