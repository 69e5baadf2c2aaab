"""Rules of cdk-nag that do not hold here, with the reason: the only place from which they are acknowledged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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


def as_cdk_nag_writes(scope: Construct, text: str) -> str:
    """Text that holds references: cdk-nag puts the names of what they refer to into angle brackets."""
    return _flat(cdk.Stack.of(scope).resolve(text))


def _flat(part: Any) -> str:
    if isinstance(part, str):
        return part
    if "Fn::Join" in part:
        separator, parts = part["Fn::Join"]
        return str(separator).join(_flat(each) for each in parts)
    if "Ref" in part:
        return f"<{part['Ref']}>"
    return f"<{'.'.join(part['Fn::GetAtt'])}>"
