"""Who assumes the roles of a job: ECS tasks, and only on behalf of this account."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct


def task_principal(scope: Construct) -> iam.IPrincipal:
    """Against the confused deputy, as the ECS developer guide asks (task IAM role)."""
    return iam.ServicePrincipal(
        "ecs-tasks.amazonaws.com",
        conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(scope).account}},
    )
