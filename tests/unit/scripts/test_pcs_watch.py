"""What AWS PCS says while CloudFormation waits, and what is kept of it when a rollback has deleted the resource."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from scripts import pcs_status, pcs_watch
from scripts.aws import pcs
from scripts.aws.cloudformation import StackResource
from scripts.aws.pcs import PcsResource
from scripts.aws.translation import AccessDeniedError
from scripts.pcs_watch import PcsWatch
from tests.unit.scripts.fakes import a_cloud

ARN = "arn:aws:pcs:us-east-2:1:cluster/pcs_1"
GROUP = PcsResource(pcs.NODE_GROUP, "pcs_2", "trn2-us0", f"{ARN}/computenodegroup/pcs_2", "pcs_1", "CREATING")
FAILED = replace(GROUP, status="CREATE_FAILED", errors=("InsufficientInstanceCapacity: none left",))
RESOURCES = (
    StackResource("PcsCluster", ARN, "AWS::PCS::Cluster", "CREATE_COMPLETE", ""),
    StackResource("NodeGroup", GROUP.arn, "AWS::PCS::ComputeNodeGroup", "CREATE_IN_PROGRESS", ""),
    StackResource("Queue", "", "AWS::PCS::Queue", "CREATE_IN_PROGRESS", ""),
    StackResource("Old", f"{ARN}/queue/old", "AWS::PCS::Queue", "DELETE_COMPLETE", ""),
    StackResource("Logs", "group", "AWS::Logs::LogGroup", "CREATE_COMPLETE", ""),
)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> dict[str, PcsResource]:
    """What PCS has, by id; every question for anything else fails the test."""
    cluster = PcsResource(pcs.CLUSTER, "pcs_1", "pilot-train", ARN, "pcs_1", "ACTIVE")
    found = {"pcs_1": cluster, "pcs_2": GROUP}

    def find(cloud: Any, kind: str, cluster_id: str, id_: str) -> PcsResource | None:
        assert (kind, cluster_id, id_) in {
            (pcs.CLUSTER, "pcs_1", "pcs_1"),
            (pcs.NODE_GROUP, "pcs_1", "pcs_2"),
        }
        return found.get(id_)

    monkeypatch.setattr(pcs_status.pcs, "find", find)
    monkeypatch.setattr(pcs_watch.cloudformation, "resources", lambda cloud, stack: RESOURCES)
    return found


def test_only_what_exists_and_is_pcss_is_asked_about(account: dict[str, PcsResource]) -> None:
    found = pcs_status.pcs_resources(a_cloud(), RESOURCES)
    assert [one.name for one in found] == ["pilot-train", "trn2-us0"]


def test_a_part_without_its_cluster_cannot_be_asked_about(account: dict[str, PcsResource]) -> None:
    assert pcs_status.pcs_resources(a_cloud(), RESOURCES[1:]) == ()


def test_it_says_what_changed_and_after_a_while_the_same_again(account: dict[str, PcsResource]) -> None:
    said: list[str] = []
    watch = PcsWatch(a_cloud(), ("pilot-cluster-train",), said.append)
    for _ in range(12):
        watch.look()
    assert said == ["  AWS PCS: PCS node group trn2-us0 CREATING"] * 2
    account["pcs_2"] = replace(GROUP, status="ACTIVE")
    watch.look()
    assert len(said) == 2


def test_why_it_failed_outlives_the_resource(account: dict[str, PcsResource]) -> None:
    watch = PcsWatch(a_cloud(), ("pilot-cluster-train",), lambda _: None)
    account["pcs_2"] = FAILED
    watch.look()
    del account["pcs_2"]
    watch.look()
    assert watch.errors == (
        "PCS node group trn2-us0 (CREATE_FAILED): InsufficientInstanceCapacity: none left",
    )


def test_a_refused_question_is_said_once_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, said = threading.Semaphore(0), []

    def refused(cloud: Any, stack: str) -> Any:
        asked.release()
        raise AccessDeniedError("not allowed: cloudformation:ListStackResources")

    monkeypatch.setattr(pcs_watch.cloudformation, "resources", refused)
    monkeypatch.setattr(pcs_watch, "_POLLS_BETWEEN_LOOKS", 0.001)
    with PcsWatch(a_cloud(), ("pilot-cluster-train",), said.append) as watch:
        for _ in range(3):
            assert asked.acquire(timeout=10)
    assert watch.errors == ()
    assert said == ["  AWS PCS: could not be asked: not allowed: cloudformation:ListStackResources"]


def test_without_a_slurm_cluster_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcs_watch.threading.Thread, "start", lambda _: pytest.fail("a thread was started"))
    with PcsWatch(a_cloud(), (), lambda _: None) as watch:
        assert watch.errors == ()
