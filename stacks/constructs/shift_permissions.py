"""What a shift's controller may do: see both sides, change the one fleet and the one cluster, keep jobs in its own prefix.

Both sides are other stacks, and can be made anew without this one: so the controller finds them by their stacks'
outputs, and its permissions go by the tags that every resource of theirs carries.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.fleet_roles import metrics_policy_statement
from stacks.constructs.string_parameter import parameter_arns
from stacks.domain.names import (
    CLUSTER_TAG,
    ENVIRONMENT_TAG,
    FLEET_TAG,
    shift_parameter,
    shift_prefix,
    shift_state_parameter,
)
from stacks.domain.shift_plan import ShiftPlan

DESCRIBING_ACTIONS = (
    "application-autoscaling:DescribeScalableTargets",
    "autoscaling:DescribeAutoScalingGroups",
    "batch:DescribeComputeEnvironments",
    "batch:DescribeJobs",
    "batch:ListJobs",
    "ec2:DescribeInstances",
)
"""None of them takes a resource."""


def shift_statements(
    scope: Construct, *, environment: str, shift: ShiftPlan, stacks: tuple[str, str], bucket: s3.IBucket
) -> list[iam.PolicyStatement]:
    """`stacks` are the names of the fleet's and the cluster's."""
    arn = cdk.Stack.of(scope).format_arn
    of_environment = {f"aws:ResourceTag/{ENVIRONMENT_TAG}": environment}
    of_fleet = {**of_environment, f"aws:ResourceTag/{FLEET_TAG}": shift.fleet}
    of_cluster = {**of_environment, f"aws:ResourceTag/{CLUSTER_TAG}": shift.cluster}
    stack_arns = [arn(service="cloudformation", resource="stack", resource_name=f"{one}/*") for one in stacks]
    jobs = arn(service="batch", resource="job", resource_name="*")
    state = shift_state_parameter(environment, shift.name)
    return [
        iam.PolicyStatement(actions=list(DESCRIBING_ACTIONS), resources=["*"]),
        metrics_policy_statement(),
        iam.PolicyStatement(actions=["cloudformation:DescribeStacks"], resources=stack_arns),
        iam.PolicyStatement(
            actions=["ssm:GetParameter"],
            resources=parameter_arns(scope, [shift_parameter(environment, shift.name), state]),
        ),
        iam.PolicyStatement(actions=["ssm:PutParameter"], resources=parameter_arns(scope, [state])),
        _tagged(
            ["ecs:DescribeServices", "ecs:UpdateService"],
            [arn(service="ecs", resource="service", resource_name="*")],
            of_fleet,
        ),
        # Bound by the service alone: whoever registers a target needs ecs:UpdateService of it, which the tag binds (above).
        iam.PolicyStatement(
            actions=["application-autoscaling:RegisterScalableTarget"],
            resources=[arn(service="application-autoscaling", resource="scalable-target", resource_name="*")],
            conditions={"StringEquals": {"application-autoscaling:service-namespace": "ecs"}},
        ),
        _tagged(
            ["batch:UpdateComputeEnvironment"],
            [arn(service="batch", resource="compute-environment", resource_name="*")],
            of_cluster,
        ),
        _tagged(
            ["batch:SubmitJob"],
            [
                arn(service="batch", resource="job-queue", resource_name="*"),
                arn(service="batch", resource="job-definition", resource_name="*"),
            ],
            of_cluster,
        ),
        _tagged(["batch:TerminateJob"], [jobs], of_environment),
        iam.PolicyStatement(
            actions=["batch:TagResource"],
            resources=[jobs],
            conditions={"StringEquals": {f"aws:RequestTag/{ENVIRONMENT_TAG}": environment}},
        ),
        *_bucket_statements(shift, bucket),
    ]


def _tagged(actions: list[str], resources: list[str], tags: dict[str, str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=actions, resources=resources, conditions={"StringEquals": tags})


def _bucket_statements(shift: ShiftPlan, bucket: s3.IBucket) -> list[iam.PolicyStatement]:
    prefix = shift_prefix(shift.name)
    return [
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[bucket.bucket_arn],
            # With runs/, a record that is not there is "no such key" and not "forbidden".
            conditions={"StringLike": {"s3:prefix": [f"{prefix}/*", "runs/*"]}},
        ),
        iam.PolicyStatement(
            actions=["s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
            resources=[bucket.arn_for_objects(f"{prefix}/*")],
        ),
        iam.PolicyStatement(actions=["s3:GetObject"], resources=[bucket.arn_for_objects("runs/*/run.json")]),
    ]
