from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.stub import Stubber

from scripts.aws import s3
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, AwsError

Stubbed = tuple[Cloud, Callable[[str], Stubber]]


@pytest.fixture
def bucket(cloud: Cloud) -> str:
    cloud.client("s3").create_bucket(
        Bucket="pilot-storage-1", CreateBucketConfiguration={"LocationConstraint": cloud.region}
    )
    return "pilot-storage-1"


def test_of_two_who_create_the_same_object_one_wins(cloud: Cloud, bucket: str) -> None:
    assert s3.create_json(cloud, bucket, "run.json", {"owner": "a"}) is not None
    assert s3.create_json(cloud, bucket, "run.json", {"owner": "b"}) is None
    stored = s3.read_json(cloud, bucket, "run.json")
    assert stored is not None
    assert stored.body == {"owner": "a"}
    assert stored.age_seconds < 60


def test_an_object_is_replaced_only_as_it_was_read(cloud: Cloud, bucket: str) -> None:
    first = s3.create_json(cloud, bucket, "run.json", {"owner": "a"})
    assert first is not None
    second = s3.replace_json(cloud, bucket, "run.json", {"owner": "b"}, first)
    assert second is not None
    assert s3.replace_json(cloud, bucket, "run.json", {"owner": "c"}, first) is None
    stored = s3.read_json(cloud, bucket, "run.json")
    assert stored is not None
    assert (stored.body, stored.etag) == ({"owner": "b"}, second)


def test_the_condition_is_sent_to_s3(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    expected = {"Bucket": "b", "Key": "k", "Body": b'{\n  "a": 1\n}', "IfNoneMatch": "*"}
    stub("s3").add_client_error(
        "put_object", "PreconditionFailed", http_status_code=412, expected_params=expected
    )
    assert s3.create_json(cloud, "b", "k", {"a": 1}) is None
    stub("s3").add_client_error("put_object", "AccessDenied")
    with pytest.raises(AccessDeniedError):
        s3.create_json(cloud, "b", "k", {"a": 1})


def test_what_is_not_there_is_none(cloud: Cloud, bucket: str) -> None:
    assert not s3.exists(cloud, bucket, "k")
    assert s3.read_json(cloud, bucket, "k") is None
    assert s3.read_bytes(cloud, bucket, "k") is None
    assert s3.bucket_tags(cloud, bucket) == {}
    assert s3.bucket_tags(cloud, "no-such-bucket") is None


def test_a_refused_look_is_not_an_absence(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("s3").add_client_error("head_object", "403", http_status_code=403)
    with pytest.raises(AccessDeniedError, match="s3:GetObject"):
        s3.exists(cloud, "b", "k")


def test_folders_are_one_level_deep(cloud: Cloud, bucket: str) -> None:
    for key in (
        "runs/smoke/smoke-1/run.json",
        "runs/smoke/smoke-1/checkpoints/a",
        "runs/smoke/smoke-2/run.json",
        "runs/other/x/y",
    ):
        s3.put(cloud, bucket, key, b"")
    assert s3.folders(cloud, bucket, "runs/smoke/") == ("smoke-1", "smoke-2")


def test_buckets_are_found_by_prefix(cloud: Cloud, bucket: str) -> None:
    client = cloud.client("s3")
    client.create_bucket(Bucket="other", CreateBucketConfiguration={"LocationConstraint": cloud.region})
    client.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    assert s3.buckets_with_prefix(cloud, "pilot-") == (bucket,)
    assert s3.bucket_tags(cloud, bucket) == {"a": "b"}


def test_emptying_takes_versions_markers_and_unfinished_uploads_with_it(cloud: Cloud, bucket: str) -> None:
    client = cloud.client("s3")
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for content in (b"one", b"two"):
        s3.put(cloud, bucket, "k", content)
    s3.put(cloud, bucket, "gone", b"x")
    client.delete_object(Bucket=bucket, Key="gone")
    client.create_multipart_upload(Bucket=bucket, Key="half")
    counted = s3.contents(cloud, bucket)
    assert (counted.objects, counted.bytes, counted.is_complete) == (3, 7, True)
    said: list[int] = []
    s3.empty_and_delete(cloud, bucket, said.append)
    assert said == [4]
    assert s3.bucket_tags(cloud, bucket) is None
    s3.empty_and_delete(cloud, bucket, said.append)


def test_an_object_that_stays_stops_the_emptying_with_its_reason(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    version = {"Key": "k", "VersionId": "v"}
    stub("s3").add_response("list_object_versions", {"Versions": [version]}, {"Bucket": "b", "MaxKeys": 1000})
    stub("s3").add_response(
        "delete_objects",
        {"Errors": [{**version, "Code": "AccessDenied", "Message": "object lock"}]},
        {"Bucket": "b", "Delete": {"Objects": [version], "Quiet": True}},
    )
    with pytest.raises(AwsError, match=r"object k of bucket b .*object lock"):
        s3.empty_and_delete(cloud, "b", lambda _: None)
