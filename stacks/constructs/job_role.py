"""What a job may do: read its package and its data, read and write runs and compiled programs. It deletes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, imported_bucket_arn, wildcard_resource
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.task_principal import task_principal
from stacks.domain.plan import JobPlan

READ_PATTERNS = ("packages/*",)
WRITE_PATTERNS = ("runs/*", "compile-cache/*")


class JobRole(Construct):
    """One for all jobs of a cluster. `data` of a job is read from wherever it names, also in another account's
    bucket, where the owner of that bucket lets this role in.
    """

    def __init__(self, scope: Construct, id_: str, *, bucket: s3.IBucket, jobs: Sequence[JobPlan]) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(
            self, "Role", assumed_by=task_principal(self), inline_policies=job_policies(self, bucket, jobs)
        )
        fix_logical_id(self.role, "JobRole")
        acknowledge_job_policies(self.role, bucket, jobs)


def job_policies(
    scope: Construct, bucket: s3.IBucket, jobs: Sequence[JobPlan]
) -> dict[str, iam.PolicyDocument]:
    """By the name of each."""
    data = _data_sets(scope, jobs)
    return {"bucket": _bucket_policy(bucket), **({"data": _data_policy(data)} if data else {})}


def acknowledge_job_policies(role: iam.Role, bucket: s3.IBucket, jobs: Sequence[JobPlan]) -> None:
    own = imported_bucket_arn(role, bucket)
    patterns = [f"{own}/{pattern}" for pattern in (*READ_PATTERNS, *WRITE_PATTERNS)]
    objects = [each.objects for each in _data_sets(role, jobs)]
    acknowledge(
        role,
        [wildcard_resource(resource) for resource in (*patterns, *objects)],
        "The objects under a prefix; their names are made by runs.",
    )


@dataclass(frozen=True)
class _DataSet:
    """`s3://bucket/prefix` means every key that starts with the prefix."""

    uri: str
    partition: str

    @property
    def _bucket_and_prefix(self) -> tuple[str, str]:
        bucket, _, prefix = self.uri.removeprefix("s3://").partition("/")
        return bucket, prefix

    @property
    def bucket_arn(self) -> str:
        return f"arn:{self.partition}:s3:::{self._bucket_and_prefix[0]}"

    @property
    def pattern(self) -> str:
        return f"{self._bucket_and_prefix[1]}*"

    @property
    def objects(self) -> str:
        return f"{self.bucket_arn}/{self.pattern}"


def _data_sets(scope: Construct, jobs: Iterable[JobPlan]) -> list[_DataSet]:
    partition = cdk.Stack.of(scope).partition
    return [_DataSet(uri, partition) for uri in sorted({job.data for job in jobs if job.data is not None})]


def _bucket_policy(bucket: s3.IBucket) -> iam.PolicyDocument:
    written = [bucket.arn_for_objects(pattern) for pattern in WRITE_PATTERNS]
    read = [bucket.arn_for_objects(pattern) for pattern in READ_PATTERNS]
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=["s3:GetObject"], resources=[*read, *written]),
            iam.PolicyStatement(actions=["s3:PutObject", "s3:AbortMultipartUpload"], resources=written),
            # Whole, because S3 says "not found" only to who may list the bucket, and "forbidden" to others: the
            # compile cache looks for programs by asking for them.
            iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn]),
        ]
    )


def _data_policy(data: Iterable[_DataSet]) -> iam.PolicyDocument:
    document = iam.PolicyDocument()
    for each in data:
        document.add_statements(
            iam.PolicyStatement(actions=["s3:GetObject"], resources=[each.objects]),
            iam.PolicyStatement(
                actions=["s3:ListBucket"],
                resources=[each.bucket_arn],
                conditions={"StringLike": {"s3:prefix": [each.pattern]}},
            ),
        )
    return document
