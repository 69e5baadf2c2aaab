"""PCS, through queued answers: moto has none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts.aws import pcs
from scripts.aws.cloud import Cloud
from scripts.aws.pcs import PcsResource
from scripts.aws.translation import AccessDeniedError, AwsError

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
NOW = datetime(2026, 11, 30, tzinfo=UTC)
ARN = "arn:aws:pcs:us-east-2:123456789012:cluster/pcs_1"


def summary(id_: str, status: str = "ACTIVE", **more: Any) -> dict[str, Any]:
    dates = {"createdAt": NOW, "modifiedAt": NOW}
    return {"name": f"name-{id_}", "id": id_, "arn": f"{ARN}/x/{id_}", "status": status, **dates, **more}


def test_a_cluster_and_its_parts(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("pcs").add_response("list_clusters", {"clusters": [summary("pcs_1")], "nextToken": "more"}, {})
    stub("pcs").add_response("list_clusters", {"clusters": [summary("pcs_2")]}, {"nextToken": "more"})
    in_cluster = {"clusterIdentifier": "pcs_1"}
    stub("pcs").add_response(
        "list_queues", {"queues": [summary("q", "CREATING", clusterId="pcs_1")]}, in_cluster
    )
    stub("pcs").add_response(
        "list_compute_node_groups", {"computeNodeGroups": [summary("g", clusterId="pcs_1")]}, in_cluster
    )
    assert [(one.id, one.cluster_id) for one in pcs.clusters(cloud)] == [
        ("pcs_1", "pcs_1"),
        ("pcs_2", "pcs_2"),
    ]
    parts = pcs.parts(cloud, "pcs_1")
    assert [(one.kind, one.id, one.is_busy) for one in parts] == [
        (pcs.QUEUE, "q", True),
        (pcs.NODE_GROUP, "g", False),
    ]


def group(status: str, **more: Any) -> dict[str, Any]:
    return {
        "computeNodeGroup": summary(
            "g",
            status,
            clusterId="pcs_1",
            subnetIds=["subnet-1"],
            iamInstanceProfileArn="arn:aws:iam::123456789012:instance-profile/p",
            scalingConfiguration={"minInstanceCount": 0, "maxInstanceCount": 2},
            instanceConfigs=[{"instanceType": "trn1.32xlarge"}],
            **more,
        )
    }


ASKED = {"clusterIdentifier": "pcs_1", "computeNodeGroupIdentifier": "g"}


def test_why_a_group_failed_is_with_it(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    errors = [{"code": "InsufficientInstanceCapacity", "message": "none left"}]
    stub("pcs").add_response("get_compute_node_group", group("CREATE_FAILED", errorInfo=errors), ASKED)
    found = pcs.find(cloud, pcs.NODE_GROUP, "pcs_1", "g")
    assert found is not None
    assert found.errors == ("InsufficientInstanceCapacity: none left",)


def test_what_is_gone_is_none_however_pcs_says_so(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("pcs").add_response("get_compute_node_group", group("DELETED"), ASKED)
    assert pcs.find(cloud, pcs.NODE_GROUP, "pcs_1", "g") is None
    for operation in ("get_compute_node_group", "delete_compute_node_group"):
        stub("pcs").add_client_error(operation, "ResourceNotFoundException", "gone")
    assert pcs.find(cloud, pcs.NODE_GROUP, "pcs_1", "g") is None
    pcs.delete(cloud, pcs.NODE_GROUP, "pcs_1", "g")
    for operation in ("list_queues", "list_compute_node_groups", "list_tags_for_resource"):
        stub("pcs").add_client_error(operation, "ResourceNotFoundException", "gone")
    assert pcs.parts(cloud, "pcs_1") == ()
    assert pcs.tags(cloud, ARN) == {}


@pytest.mark.parametrize(
    ("kind", "operation", "parameters"),
    [
        (pcs.CLUSTER, "delete_cluster", {"clusterIdentifier": "x"}),
        (pcs.NODE_GROUP, "delete_compute_node_group", {"clusterIdentifier": "c", "computeNodeGroupIdentifier": "x"}),
        (pcs.QUEUE, "delete_queue", {"clusterIdentifier": "c", "queueIdentifier": "x"}),
    ],
)  # fmt: skip
def test_each_kind_is_deleted_by_its_own_call(
    stubbed: Stubbed, kind: str, operation: str, parameters: dict[str, str]
) -> None:
    cloud, stub = stubbed
    stub("pcs").add_response(operation, {}, parameters)
    pcs.delete(cloud, kind, "x" if kind == pcs.CLUSTER else "c", "x")


def test_a_conflict_and_a_missing_permission_are_told(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("pcs").add_client_error("delete_cluster", "ConflictException", "has node groups")
    with pytest.raises(AwsError) as conflict:
        pcs.delete(cloud, pcs.CLUSTER, "c", "c")
    assert conflict.value.code == "ConflictException"
    stub("pcs").add_client_error("list_clusters", "AccessDeniedException", "no")
    with pytest.raises(AccessDeniedError, match="pcs:ListClusters"):
        pcs.clusters(cloud)


def test_the_states_that_count_as_busy_are_the_apis() -> None:
    busy = [
        PcsResource(pcs.QUEUE, "q", "q", "arn", "c", status)
        for status in ("CREATING", "ACTIVE", "DELETE_FAILED", "SUSPENDED")
    ]
    assert [one.is_busy for one in busy] == [True, False, False, False]
