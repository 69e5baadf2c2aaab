"""The environment's bucket: packages, metrics, checkpoints and compiled programs. It outlives its stack."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.names import OUTPUT_BUCKET

# From "deleted on Friday evening" to "missed on Monday". Metrics and checkpoints are written again and again under
# the same key, so longer would cost more than it protects.
NONCURRENT_VERSION_DAYS = 3
INCOMPLETE_UPLOAD_DAYS = 1


class StorageStack(cdk.Stack):
    """`bucket` is for the clusters. CloudFormation retains it; `neuronkit destroy` empties and deletes it.

    Its name is generated, so that an environment of the same name can be made anew while an old bucket still exists.
    """

    def __init__(self, scope: Construct, id_: str, **stack_arguments: Any) -> None:
        super().__init__(scope, id_, **stack_arguments)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="expire-old-versions",
                    noncurrent_version_expiration=cdk.Duration.days(NONCURRENT_VERSION_DAYS),
                    expired_object_delete_marker=True,
                ),
                s3.LifecycleRule(
                    id="abort-incomplete-uploads",
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(INCOMPLETE_UPLOAD_DAYS),
                ),
            ],
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        fix_logical_id(self.bucket, "Bucket")
        assert self.bucket.policy is not None, "enforce_ssl writes one"
        # Without its policy the retained bucket would take unencrypted connections again.
        self.bucket.policy.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
        fix_logical_id(self.bucket.policy, "BucketPolicy")
        acknowledge(
            self.bucket,
            ["AwsSolutions-S1"],
            "Server access logs need a second bucket that nobody reads in a pilot; CloudTrail data events "
            "answer the same question where an organisation asks it.",
        )
        cdk.CfnOutput(self, OUTPUT_BUCKET, value=self.bucket.bucket_name)
