"""What ECS may do to start a fleet's tasks, and what the tasks themselves may do."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, imported_bucket_arn, wildcard_resource
from stacks.constructs.execution_role import pull_policy, repository_arns, secrets_policy
from stacks.constructs.fleet_artifacts import FleetArtifacts
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.task_principal import task_principal
from stacks.domain.names import METRICS_NAMESPACE
from stacks.domain.render.engine_container import EngineContainer


class FleetExecutionRole(Construct):
    """Images of public registries need no permission; only the secrets that the file names are read."""

    def __init__(
        self, scope: Construct, id_: str, *, log_group: logs.ILogGroup, containers: Sequence[EngineContainer]
    ) -> None:
        super().__init__(scope, id_)
        policies = {
            "logs": iam.PolicyDocument(
                statements=[
                    iam.PolicyStatement(
                        actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                        resources=[log_group.log_group_arn],
                    )
                ]
            )
        }
        repositories = repository_arns(
            (container.image for container in containers), cdk.Stack.of(self).partition
        )
        if repositories:
            policies["images"] = pull_policy(repositories)
        references = sorted({arn for container in containers for _, arn in container.secrets})
        if references:
            policies["secrets"] = secrets_policy(references)
        self.role = iam.Role(self, "Role", assumed_by=task_principal(self), inline_policies=policies)
        fix_logical_id(self.role, "ExecutionRole")
        if repositories:
            acknowledge(self.role, [wildcard_resource("*")], "ecr:GetAuthorizationToken takes no resource.")


class ReplicaRole(Construct):
    """Reads the model and mounts the artifacts, on Neuron and on GPUs. Metrics are lines of the log, for which a task
    needs no right of its own.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        model_source: str,
        bucket: s3.IBucket,
        artifacts: FleetArtifacts | None,
    ) -> None:
        super().__init__(scope, id_)
        policies: dict[str, iam.PolicyDocument] = {}
        model = _model_place(model_source, bucket, cdk.Stack.of(self).partition)
        if model is not None:
            policies["model"] = _read_policy(*model)
        if artifacts is not None:
            policies["artifacts"] = artifacts.mount_policy()
        self.role = iam.Role(self, "Role", assumed_by=task_principal(self), inline_policies=policies)
        fix_logical_id(self.role, "ReplicaRole")
        if model is not None:
            bucket_arn, prefix = model
            resolved = _as_cdk_nag_writes(self, model_source, bucket, bucket_arn)
            acknowledge(
                self.role,
                [wildcard_resource(f"{resolved}/{prefix}*")],
                "The model's files, whose names its makers chose.",
            )


def metrics_policy_statement() -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["cloudwatch:PutMetricData"],
        resources=["*"],
        conditions={"StringEquals": {"cloudwatch:namespace": METRICS_NAMESPACE}},
    )


def _model_place(source: str, bucket: s3.IBucket, partition: str) -> tuple[str, str] | None:
    """The bucket's ARN and the prefix, with a slash at its end: llama must not open llama-2. None on a model hub."""
    if source.startswith("bucket:"):
        return bucket.bucket_arn, f"{source.removeprefix('bucket:').strip('/')}/"
    if source.startswith("s3://"):
        name, _, prefix = source.removeprefix("s3://").partition("/")
        return f"arn:{partition}:s3:::{name}", f"{prefix.strip('/')}/"
    return None


def _read_policy(bucket_arn: str, prefix: str) -> iam.PolicyDocument:
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=["s3:GetObject"], resources=[f"{bucket_arn}/{prefix}*"]),
            iam.PolicyStatement(
                actions=["s3:ListBucket"],
                resources=[bucket_arn],
                conditions={"StringLike": {"s3:prefix": [f"{prefix}*"]}},
            ),
        ]
    )


def _as_cdk_nag_writes(scope: Construct, source: str, bucket: s3.IBucket, bucket_arn: str) -> str:
    if not source.startswith("bucket:"):
        return bucket_arn
    return imported_bucket_arn(scope, bucket)
