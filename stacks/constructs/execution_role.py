"""What ECS may do to start a job: pull its image, write its log, read the secrets that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, wildcard_resource
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.task_principal import task_principal
from stacks.domain.plan import JobPlan

PRIVATE_REPOSITORY = re.compile(
    r"^(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com/(?P<name>[^:@]+)"
)
SECRET_ARN_PARTS = 7
"""A reference may go on after the ARN: `…:secret:name-AbCdEf:key:stage:version`."""


class ExecutionRole(Construct):
    """Images of public registries (public.ecr.aws) need no permission; a key of your own on a secret needs
    `kms:Decrypt` for this role in that key's policy.
    """

    def __init__(
        self, scope: Construct, id_: str, *, log_group: logs.ILogGroup, jobs: Sequence[JobPlan]
    ) -> None:
        super().__init__(scope, id_)
        policies = {
            "logs": _document(["logs:CreateLogStream", "logs:PutLogEvents"], [log_group.log_group_arn])
        }
        repositories = private_repository_arns(jobs, cdk.Stack.of(self).partition)
        if repositories:
            policies["images"] = pull_policy(repositories)
        if references := secret_references(jobs):
            policies["secrets"] = secrets_policy(references)
        self.role = iam.Role(self, "Role", assumed_by=task_principal(self), inline_policies=policies)
        fix_logical_id(self.role, "ExecutionRole")
        if repositories:
            acknowledge(self.role, [wildcard_resource("*")], "ecr:GetAuthorizationToken takes no resource.")


def private_repository_arns(jobs: Iterable[JobPlan], partition: str) -> list[str]:
    return repository_arns((job.image.uri for job in jobs if job.image is not None), partition)


def repository_arns(image_uris: Iterable[str], partition: str) -> list[str]:
    """Of the images that are in a private registry."""
    matches = [PRIVATE_REPOSITORY.match(uri) for uri in image_uris]
    return sorted(
        {
            f"arn:{partition}:ecr:{match['region']}:{match['account']}:repository/{match['name']}"
            for match in matches
            if match
        }
    )


def pull_policy(repositories: Sequence[str]) -> iam.PolicyDocument:
    document = _document(
        ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], repositories
    )
    document.add_statements(iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]))
    return document


def secret_references(jobs: Iterable[JobPlan]) -> list[str]:
    return sorted({arn for job in jobs for _, arn in job.secrets})


def secrets_policy(references: Iterable[str]) -> iam.PolicyDocument:
    document = iam.PolicyDocument()
    for reference in references:
        arn = ":".join(reference.split(":")[:SECRET_ARN_PARTS])
        action = "ssm:GetParameters" if ":ssm:" in arn else "secretsmanager:GetSecretValue"
        document.add_statements(iam.PolicyStatement(actions=[action], resources=[arn]))
    return document


def _document(actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyDocument:
    return iam.PolicyDocument(
        statements=[iam.PolicyStatement(actions=list(actions), resources=list(resources))]
    )
