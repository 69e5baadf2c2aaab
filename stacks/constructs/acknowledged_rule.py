"""Rules of cdk-nag that do not hold here, with the reason: the only place from which they are acknowledged."""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct


def acknowledge(construct: IConstruct, rules: Iterable[str], reason: str) -> None:
    """Rules are ids such as `AwsSolutions-S1`, with the finding in brackets where a rule has several."""
    cdk.Validations.of(construct).acknowledge(*(cdk.Acknowledgment(id=rule, reason=reason) for rule in rules))


def wildcard_resource(resource: str) -> str:
    """The id of cdk-nag's finding about a policy's resource with a star in it."""
    return f"AwsSolutions-IAM5[Resource::{resource}]"


def imported_bucket_arn(scope: Construct, bucket: s3.IBucket) -> str:
    """As cdk-nag writes the ARN of a bucket of another stack: by the name of that stack's export."""
    reference = cdk.Stack.of(scope).resolve(cdk.Stack.of(bucket).export_value(bucket.bucket_arn))
    return str(reference["Fn::ImportValue"])
