"""SSM, KMS, ECS, the tagging API and private ECR: one or two calls each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.stub import Stubber

from scripts.aws import ecr, ecs, kms, ssm, tagging
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, AwsError
from scripts.teardown.fleet_removals import FLEET_REMOVALS
from scripts.teardown.slow_removals import is_not_yet

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
URI = "111122223333.dkr.ecr.us-west-2.amazonaws.com/team/train:v1"


def test_a_parameter_that_is_not_there_is_none(cloud: Cloud) -> None:
    assert ssm.find_parameter(cloud, "/a/b") is None
    cloud.client("ssm").put_parameter(Name="/a/b", Value="ami-1", Type="String")
    assert ssm.find_parameter(cloud, "/a/b") == "ami-1"


def test_a_key_on_its_way_out_says_so(cloud: Cloud) -> None:
    key = cloud.client("kms").create_key()["KeyMetadata"]["KeyId"]
    assert kms.key_state(cloud, key) == "Enabled"
    cloud.client("kms").schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    assert kms.key_state(cloud, key) == "PendingDeletion"
    assert kms.key_state(cloud, "arn:aws:kms:us-east-2:123456789012:key/gone") is None


def test_tagged_arns_come_sorted_from_all_pages(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    filters = [{"Key": "k", "Values": ["v"]}]
    tag_api = stub("resourcegroupstaggingapi")
    tag_api.add_response(
        "get_resources",
        {"ResourceTagMappingList": [{"ResourceARN": "arn:b"}], "PaginationToken": "more"},
        {"TagFilters": filters},
    )
    tag_api.add_response(
        "get_resources",
        {"ResourceTagMappingList": [{"ResourceARN": "arn:a"}], "PaginationToken": ""},
        {"TagFilters": filters, "PaginationToken": "more"},
    )
    assert tagging.arns_with_tag(cloud, "k", "v") == ("arn:a", "arn:b")


def test_a_provider_that_ecs_keeps_is_a_refusal_though_the_call_succeeds(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    arn = "arn:aws:ecs:us-east-2:1:capacity-provider/p"
    asked = {"capacityProvider": arn}
    stub("ecs").add_response(
        "delete_capacity_provider", {"capacityProvider": {"updateStatus": "DELETE_IN_PROGRESS"}}, asked
    )
    ecs.delete_capacity_provider(cloud, arn)
    stub("ecs").add_client_error(
        "delete_capacity_provider",
        "ClientException",
        "The specified capacity provider does not exist. Specify a valid name or ARN and try again.",
    )
    ecs.delete_capacity_provider(cloud, arn)
    kept = {"updateStatus": "DELETE_FAILED", "updateStatusReason": "it is associated with cluster c"}
    stub("ecs").add_response("delete_capacity_provider", {"capacityProvider": kept}, asked)
    with pytest.raises(AwsError, match="associated with cluster c") as refused:
        ecs.delete_capacity_provider(cloud, arn)
    assert is_not_yet(refused.value)


def test_ecs_tells_the_living_from_the_records(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    cluster, task = "arn:aws:ecs:us-east-2:1:cluster/c", "arn:aws:ecs:us-east-2:1:task/c/1"
    for status, alive in (("ACTIVE", True), ("INACTIVE", False)):
        stub("ecs").add_response(
            "describe_clusters", {"clusters": [{"status": status}]}, {"clusters": [cluster]}
        )
        assert ecs.cluster_is_active(cloud, cluster) is alive
    for status, started_by, alive in (
        ("RUNNING", "neuronkit-compile", True),
        ("STOPPED", "neuronkit-compile", False),
        ("RUNNING", "ecs-svc/1234", False),
    ):
        described = {"taskArn": task, "lastStatus": status, "startedBy": started_by}
        stub("ecs").add_response("describe_tasks", {"tasks": [described]}, {"cluster": "c", "tasks": [task]})
        assert ecs.lone_task_runs(cloud, task) is alive


def test_a_provider_that_ecs_does_not_delete_is_not_waited_for(stubbed: Stubbed) -> None:
    """The deletion itself is answered with success."""
    cloud, stub = stubbed
    look = FLEET_REMOVALS[ecs.CAPACITY_PROVIDER].look
    arn = "arn:aws:ecs:us-east-2:1:capacity-provider/p"
    asked = {"capacityProviders": [arn]}
    kept = {"updateStatus": "DELETE_FAILED", "updateStatusReason": "it is in use by cluster c"}
    for more, busy, failed in (({"updateStatus": "DELETE_IN_PROGRESS"}, True, False), (kept, False, True)):
        raw = {"capacityProviderArn": arn, "name": "p", "status": "ACTIVE", **more}
        stub("ecs").add_response("describe_capacity_providers", {"capacityProviders": [raw]}, asked)
        seen = look(cloud, arn)
        assert seen is not None
        assert (seen.is_busy, seen.has_failed) == (busy, failed)
    assert seen is not None
    assert seen.why == "it is in use by cluster c"
    inactive = {"capacityProviders": [{"capacityProviderArn": arn, "name": "p", "status": "INACTIVE"}]}
    missing = {"capacityProviders": [], "failures": [{"arn": arn, "reason": "MISSING"}]}
    for gone in (inactive, missing):
        stub("ecs").add_response("describe_capacity_providers", gone, asked)
        assert look(cloud, arn) is None


def test_the_digest_of_a_private_image_is_asked_for_as_a_pull_would(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    asked = {"registryId": "111122223333", "repositoryName": "team/train", "imageIds": [{"imageTag": "v1"}]}
    digest = "sha256:" + "a" * 64
    stub("ecr").add_response("batch_get_image", {"images": [{"imageId": {"imageDigest": digest}}]}, asked)
    assert ecr.find_digest(cloud, URI) == digest
    stub("ecr").add_response("batch_get_image", {"images": []}, asked)
    assert ecr.find_digest(cloud, URI) is None
    stub("ecr").add_client_error("batch_get_image", "RepositoryNotFoundException")
    assert ecr.find_digest(cloud, URI) is None
    stub("ecr").add_client_error("batch_get_image", "AccessDeniedException")
    with pytest.raises(AccessDeniedError, match="ecr:BatchGetImage"):
        ecr.find_digest(cloud, URI)


URIS = [
    (URI, True),
    ("public.ecr.aws/neuron/jax:1", False),
    ("ghcr.io/me/train:1", False),
    ("111122223333.dkr.ecr.us-west-2.amazonaws.com/team/train@sha256:" + "a" * 64, False),
]


@pytest.mark.parametrize(("uri", "private"), URIS)
def test_private_registries_are_known_by_their_name(uri: str, private: bool) -> None:
    assert ecr.is_private(uri) is private
    if private:
        assert ecr.region_of(uri) == "us-west-2"
