"""AWS::S3: Bucket, BucketPolicy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    as_bool,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import json_text
from scripts.local_cloud.cloudformation.types.s3_lifecycle import lifecycle_rules


class Bucket(ResourceType):
    name = "AWS::S3::Bucket"
    properties = split_words(
        "BucketName AccessControl BucketEncryption PublicAccessBlockConfiguration LifecycleConfiguration "
        "VersioningConfiguration OwnershipControls LoggingConfiguration Tags"
    )

    def create(self, request: Request) -> Created:
        bucket = request.get("BucketName") or request.generated_name(63).lower()
        elsewhere = request.region != "us-east-1"
        location = {"CreateBucketConfiguration": {"LocationConstraint": request.region}} if elsewhere else {}
        ownership = request.get("OwnershipControls", {}).get("Rules", [{}])[0]
        request.client("s3").create_bucket(Bucket=bucket, **location, **ownership)
        request.made(bucket)
        self._configure(request, bucket, set(request.properties))
        suffix = "amazonaws.com.cn" if request.partition == "aws-cn" else "amazonaws.com"
        return Created(
            bucket,
            {
                "Arn": f"arn:{request.partition}:s3:::{bucket}",
                "DomainName": f"{bucket}.s3.{suffix}",
                "RegionalDomainName": f"{bucket}.s3.{request.region}.{suffix}",
                "DualStackDomainName": f"{bucket}.s3.dualstack.{request.region}.{suffix}",
                "WebsiteURL": f"http://{bucket}.s3-website-{request.region}.{suffix}",
            },
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "BucketName" in changed:
            raise ReplacementNeededError
        self._configure(request, physical_id, changed)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("s3").delete_bucket(Bucket=physical_id)

    def _configure(self, request: Request, bucket: str, changed: set[str]) -> None:
        s3 = request.client("s3")
        s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": request.tag_list()})
        if "AccessControl" in changed and request.get("AccessControl", "Private") != "Private":
            s3.put_bucket_acl(Bucket=bucket, ACL=_canned(request["AccessControl"]))
        if "BucketEncryption" in changed:
            _encrypt(s3, bucket, request.get("BucketEncryption"))
        if "PublicAccessBlockConfiguration" in changed:
            _block_public_access(s3, bucket, request.get("PublicAccessBlockConfiguration"))
        if "VersioningConfiguration" in changed:
            status = request.get("VersioningConfiguration", {}).get("Status", "Suspended")
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})
        if "OwnershipControls" in changed and request.has("OwnershipControls"):
            s3.put_bucket_ownership_controls(Bucket=bucket, OwnershipControls=request["OwnershipControls"])
        if "LifecycleConfiguration" in changed:
            _set_lifecycle(s3, bucket, request.get("LifecycleConfiguration"))
        if "LoggingConfiguration" in changed:
            _set_logging(s3, bucket, request.get("LoggingConfiguration"))


def _canned(access_control: str) -> str:
    """PublicRead → public-read."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in access_control).lstrip(
        "-"
    )


def _encrypt(s3: Any, bucket: str, encryption: Mapping[str, Any] | None) -> None:
    if encryption is None:
        s3.delete_bucket_encryption(Bucket=bucket)
        return
    rules = []
    for rule in encryption["ServerSideEncryptionConfiguration"]:
        answer: dict[str, Any] = {}
        if "ServerSideEncryptionByDefault" in rule:
            answer["ApplyServerSideEncryptionByDefault"] = rule["ServerSideEncryptionByDefault"]
        if "BucketKeyEnabled" in rule:
            answer["BucketKeyEnabled"] = as_bool(rule["BucketKeyEnabled"])
        rules.append(answer)
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": rules})


def _block_public_access(s3: Any, bucket: str, configuration: Mapping[str, Any] | None) -> None:
    if configuration is None:
        s3.delete_public_access_block(Bucket=bucket)
        return
    flags = {name: as_bool(value) for name, value in configuration.items()}
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=flags)


def _set_lifecycle(s3: Any, bucket: str, configuration: Mapping[str, Any] | None) -> None:
    if configuration is None:
        s3.delete_bucket_lifecycle(Bucket=bucket)
        return
    rules = lifecycle_rules(configuration["Rules"])
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})


def _set_logging(s3: Any, bucket: str, configuration: Mapping[str, Any] | None) -> None:
    status: dict[str, Any] = {}
    if configuration is not None:
        status["LoggingEnabled"] = {
            "TargetBucket": configuration.get("DestinationBucketName", bucket),
            "TargetPrefix": configuration.get("LogFilePrefix", ""),
        }
    s3.put_bucket_logging(Bucket=bucket, BucketLoggingStatus=status)


class BucketPolicy(ResourceType):
    name = "AWS::S3::BucketPolicy"
    properties = split_words("Bucket PolicyDocument")

    def create(self, request: Request) -> Created:
        bucket = request["Bucket"]
        request.client("s3").put_bucket_policy(Bucket=bucket, Policy=json_text(request["PolicyDocument"]))
        return Created(bucket)

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "Bucket" in changed:
            raise ReplacementNeededError
        request.client("s3").put_bucket_policy(
            Bucket=physical_id, Policy=json_text(request["PolicyDocument"])
        )

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("s3").delete_bucket_policy(Bucket=physical_id)


TYPES: list[ResourceType] = [Bucket(), BucketPolicy()]
