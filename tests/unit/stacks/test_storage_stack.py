"""The bucket: closed, encrypted, tidy, and still there when its stack is gone."""

from typing import Any

import pytest

from stacks.domain.names import OUTPUT_BUCKET
from tests.synthesized import PLAN_NAMES, Template, resources, storage, the_one

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]


@pytest.fixture(params=PLAN_NAMES)
def stack(request: pytest.FixtureRequest) -> Template:
    return storage(request.param)


def test_the_bucket_and_its_policy_outlive_the_stack(stack: Template) -> None:
    for id_ in ("Bucket", "BucketPolicy"):
        assert stack["Resources"][id_]["DeletionPolicy"] == "Retain"
        assert stack["Resources"][id_]["UpdateReplacePolicy"] == "Retain"


def test_nothing_empties_it_behind_our_back(stack: Template) -> None:
    assert set(stack["Resources"]) == {"Bucket", "BucketPolicy"}


def test_its_name_is_generated(stack: Template) -> None:
    assert "BucketName" not in the_one(stack, "AWS::S3::Bucket")
    assert stack["Outputs"][OUTPUT_BUCKET]["Value"] == {"Ref": "Bucket"}


def test_it_is_encrypted_and_closed_to_the_public(stack: Template) -> None:
    bucket = the_one(stack, "AWS::S3::Bucket")
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    (ownership,) = bucket["OwnershipControls"]["Rules"]
    assert ownership["ObjectOwnership"] == "BucketOwnerEnforced"


def test_it_refuses_connections_without_tls(stack: Template) -> None:
    (policy,) = resources(stack, "AWS::S3::BucketPolicy").values()
    denials = [s for s in policy["Properties"]["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
    (denial,) = denials
    assert denial["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert denial["Action"] == "s3:*"
    assert denial["Principal"] == {"AWS": "*"}


def test_what_is_overwritten_or_half_uploaded_does_not_stay_for_ever(stack: Template) -> None:
    bucket = the_one(stack, "AWS::S3::Bucket")
    rules: list[dict[str, Any]] = bucket["LifecycleConfiguration"]["Rules"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert {rule["Status"] for rule in rules} == {"Enabled"}
    assert [
        r["NoncurrentVersionExpiration"]["NoncurrentDays"]
        for r in rules
        if "NoncurrentVersionExpiration" in r
    ] == [3]
    aborts = [
        r["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"]
        for r in rules
        if "AbortIncompleteMultipartUpload" in r
    ]
    assert aborts == [1]
    assert not any("ExpirationInDays" in rule for rule in rules), "current checkpoints never expire"
