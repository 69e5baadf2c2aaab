"""S3: objects that nobody may overwrite, and emptying a bucket with all its versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE = "s3"
_DELETE_AT_ONCE = 1000
_GONE = ("NoSuchBucket", "404", "NotFound", "NoSuchKey")


@dataclass(frozen=True, slots=True)
class StoredJson:
    """`etag` names this very content: see `replace_json`."""

    body: dict[str, Any]
    etag: str
    age_seconds: float
    """By AWS's own clock, when it was read."""


@dataclass(frozen=True, slots=True)
class Contents:
    objects: int
    bytes: int
    is_complete: bool
    """False when there is more than was counted."""


def buckets_with_prefix(cloud: Cloud, prefix: str) -> tuple[str, ...]:
    """Of this account, in this region."""
    raw_buckets = cloud.pages(_SERVICE, "list_buckets", "Buckets", Prefix=prefix, BucketRegion=cloud.region)
    return tuple(raw["Name"] for raw in raw_buckets if raw["Name"].startswith(prefix))


def bucket_tags(cloud: Cloud, bucket: str) -> dict[str, str] | None:
    """None when there is no such bucket."""
    try:
        answer = cloud.call(_SERVICE, "get_bucket_tagging", Bucket=bucket)
    except AwsError as error:
        if error.code == "NoSuchTagSet":
            return {}
        if error.code in _GONE:
            return None
        raise
    return {tag["Key"]: tag["Value"] for tag in answer["TagSet"]}


def contents(cloud: Cloud, bucket: str, pages_max: int = 10) -> Contents:
    """Counts versions, a thousand a page, up to a limit."""
    objects = size = 0
    for version in cloud.pages(
        _SERVICE,
        "list_object_versions",
        "Versions",
        Bucket=bucket,
        PaginationConfig={"MaxItems": pages_max * _DELETE_AT_ONCE},
    ):
        objects += 1
        size += version.get("Size", 0)
    return Contents(objects, size, is_complete=objects < pages_max * _DELETE_AT_ONCE)


def exists(cloud: Cloud, bucket: str, key: str) -> bool:
    try:
        cloud.call(_SERVICE, "head_object", Bucket=bucket, Key=key)
    except AwsError as error:
        if error.code in _GONE:
            return False
        raise
    return True


def put(cloud: Cloud, bucket: str, key: str, content: bytes) -> None:
    cloud.call(_SERVICE, "put_object", Bucket=bucket, Key=key, Body=content)


def create_json(cloud: Cloud, bucket: str, key: str, body: Mapping[str, Any]) -> str | None:
    """The etag; None when there is such an object already: of all who try, one wins."""
    return _put_json(cloud, bucket, key, body, IfNoneMatch="*")


def replace_json(cloud: Cloud, bucket: str, key: str, body: Mapping[str, Any], etag: str) -> str | None:
    """The new etag; None when somebody else has replaced what `etag` names."""
    return _put_json(cloud, bucket, key, body, IfMatch=etag)


def read_json(cloud: Cloud, bucket: str, key: str) -> StoredJson | None:
    try:
        answer = cloud.call(_SERVICE, "get_object", Bucket=bucket, Key=key)
    except AwsError as error:
        if error.code in _GONE:
            return None
        raise
    now = answer["ResponseMetadata"]["HTTPHeaders"].get("date", "")
    return StoredJson(
        body=json.loads(answer["Body"].read()),
        etag=answer["ETag"],
        age_seconds=_seconds_between(answer["LastModified"], now),
    )


def read_bytes(cloud: Cloud, bucket: str, key: str) -> bytes | None:
    try:
        content: bytes = cloud.call(_SERVICE, "get_object", Bucket=bucket, Key=key)["Body"].read()
    except AwsError as error:
        if error.code in _GONE:
            return None
        raise
    return content


def folders(cloud: Cloud, bucket: str, prefix: str) -> tuple[str, ...]:
    """The names one level below `prefix`, which ends in a slash."""
    raw_prefixes = cloud.pages(
        _SERVICE, "list_objects_v2", "CommonPrefixes", Bucket=bucket, Prefix=prefix, Delimiter="/"
    )
    return tuple(raw["Prefix"].removeprefix(prefix).rstrip("/") for raw in raw_prefixes)


def empty_and_delete(cloud: Cloud, bucket: str, on_progress: Callable[[int], None]) -> None:
    """All versions, delete markers and unfinished uploads, then the bucket. Says how many objects are gone so far."""
    deleted = 0
    try:
        while part := _some_versions(cloud, bucket):
            _delete_versions(cloud, bucket, part)
            deleted += len(part)
            on_progress(deleted)
        _abort_uploads(cloud, bucket)
        cloud.call(_SERVICE, "delete_bucket", Bucket=bucket)
    except AwsError as error:
        if error.code not in _GONE:
            raise


def _some_versions(cloud: Cloud, bucket: str) -> list[dict[str, str]]:
    answer = cloud.call(_SERVICE, "list_object_versions", Bucket=bucket, MaxKeys=_DELETE_AT_ONCE)
    found = [*answer.get("Versions", ()), *answer.get("DeleteMarkers", ())]
    return [{"Key": raw["Key"], "VersionId": raw["VersionId"]} for raw in found]


def _delete_versions(cloud: Cloud, bucket: str, versions: list[dict[str, str]]) -> None:
    answer = cloud.call(
        _SERVICE, "delete_objects", Bucket=bucket, Delete={"Objects": versions, "Quiet": True}
    )
    for failure in answer.get("Errors", ())[:1]:
        code, key = failure.get("Code", ""), failure.get("Key", "")
        raise AwsError(
            f"object {key} of bucket {bucket} could not be deleted: {code}: {failure.get('Message', '')}",
            "a bucket policy, an object lock or a missing s3:DeleteObjectVersion keeps it",
            code=code,
            action="s3:DeleteObjectVersion",
        )


def _abort_uploads(cloud: Cloud, bucket: str) -> None:
    for upload in list(cloud.pages(_SERVICE, "list_multipart_uploads", "Uploads", Bucket=bucket)):
        cloud.call(
            _SERVICE, "abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]
        )


def _put_json(cloud: Cloud, bucket: str, key: str, body: Mapping[str, Any], **condition: str) -> str | None:
    content = json.dumps(body, indent=2, sort_keys=True).encode()
    try:
        etag: str = cloud.call(_SERVICE, "put_object", Bucket=bucket, Key=key, Body=content, **condition)[
            "ETag"
        ]
    except AwsError as error:
        # 409: two conditional writes at the same moment; one of them has won.
        if error.code in ("PreconditionFailed", "ConditionalRequestConflict", "412", "409", *_GONE[1:]):
            return None
        raise
    return etag


def _seconds_between(earlier: datetime, http_date: str) -> float:
    """0 when the answer has no date: as fresh as it can be."""
    later = parsedate_to_datetime(http_date) if http_date else earlier
    return max(0.0, (later - earlier).total_seconds())
