"""IAM policies for what commands need, as narrow as AWS and the kit's names and tags allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from scripts.permission_needs import CommandNeeds

_TAG: Final = {"StringEquals": {"aws:ResourceTag/neuronkit:environment": "ENVIRONMENT"}}
_READING: Final = ("Describe", "Get", "List", "BatchGet")
_PARAMETERS: Final = "arn:aws:ssm:*:ACCOUNT:parameter/neuronkit/ENVIRONMENT/*"


@dataclass(frozen=True, slots=True)
class Bound:
    """A statement of a policy. An action is in every bound that names it: `ssm:SendCommand` needs two."""

    sid: str
    actions: frozenset[str]
    resources: tuple[str, ...] = ("*",)
    is_tagged: bool = False
    """Only for what carries the environment's tag."""


BOUNDS: Final = (
    Bound("Cdk", frozenset(("sts:AssumeRole",)), ("arn:aws:iam::ACCOUNT:role/cdk-hnb659fds-*",)),
    Bound("Roles", frozenset(("iam:PassRole",)), ("arn:aws:iam::ACCOUNT:role/ENVIRONMENT-*",)),
    # By name: a stack that only waits for its change set has no tags yet.
    Bound(
        "Stacks",
        frozenset(("cloudformation:DeleteStack",)),
        ("arn:aws:cloudformation:*:ACCOUNT:stack/ENVIRONMENT-*/*",),
    ),
    Bound(
        "Bucket",
        frozenset(
            (
                "s3:AbortMultipartUpload",
                "s3:DeleteBucket",
                "s3:DeleteObject",
                "s3:DeleteObjectVersion",
                "s3:GetBucketTagging",
                "s3:GetObject",
                "s3:ListBucket",
                "s3:ListBucketMultipartUploads",
                "s3:ListBucketVersions",
                "s3:PutObject",
            )
        ),
        ("arn:aws:s3:::ENVIRONMENT-*",),
    ),
    Bound("Parameters", frozenset(("ssm:PutParameter", "ssm:DeleteParameter")), (_PARAMETERS,)),
    Bound(
        "ReadParameters",
        frozenset(("ssm:GetParameter",)),
        (
            _PARAMETERS,
            "arn:aws:ssm:*:ACCOUNT:parameter/cdk-bootstrap/hnb659fds/version",
            "arn:aws:ssm:*::parameter/aws/service/*",
        ),
    ),
    Bound("Shell", frozenset(("ssm:SendCommand",)), ("arn:aws:ssm:*::document/AWS-RunShellScript",)),
    Bound(
        "LoginNode",
        frozenset(("ssm:SendCommand",)),
        ("arn:aws:ec2:*:ACCOUNT:instance/*",),
        is_tagged=True,
    ),
    # What a stack makes with the environment's tag. What AWS's services make by themselves does not always carry it.
    Bound(
        "Tagged",
        frozenset(
            (
                "cloudwatch:DeleteAlarms",
                "ecs:DeleteCluster",
                "ecs:DeleteService",
                "ecs:RunTask",
                "ecs:UpdateService",
                "elasticfilesystem:DeleteFileSystem",
                "elasticfilesystem:DeleteMountTarget",
                "elasticloadbalancing:DeleteLoadBalancer",
                "elasticloadbalancing:DeleteTargetGroup",
                "fsx:DeleteFileSystem",
                "lambda:DeleteFunction",
                "logs:GetLogEvents",
            )
        ),
        is_tagged=True,
    ),
)
_BOUND: Final = frozenset(action for bound in BOUNDS for action in bound.actions)


def policy(commands: Iterable[CommandNeeds]) -> dict[str, Any]:
    actions = {action for one in commands for need in one.needs for action in need.every_action}
    free = actions - _BOUND
    reading = frozenset(action for action in free if action.partition(":")[2].startswith(_READING))
    bounds = (Bound("Read", reading), *BOUNDS, Bound("Write", frozenset(free - reading)))
    return {
        "Version": "2012-10-17",
        "Statement": [_statement(one, actions) for one in bounds if one.actions & actions],
    }


def _statement(bound: Bound, actions: set[str]) -> dict[str, Any]:
    statement: dict[str, Any] = {
        "Sid": bound.sid,
        "Effect": "Allow",
        "Action": sorted(bound.actions & actions),
        "Resource": list(bound.resources),
    }
    return {**statement, "Condition": _TAG} if bound.is_tagged else statement
