"""One training cluster under AWS Batch. It can be destroyed and made again alone; the bucket stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.efa_launch_template import EfaLaunchTemplate
from stacks.constructs.execution_role import ExecutionRole
from stacks.constructs.job_role import JobRole
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.multi_node_queue import MultiNodeQueue
from stacks.constructs.node_role import NodeRole
from stacks.constructs.run_dashboard import RunDashboard
from stacks.domain.names import (
    OUTPUT_COMPUTE_ENVIRONMENT_ARN,
    OUTPUT_DASHBOARD,
    OUTPUT_EXECUTION_ROLE_ARN,
    OUTPUT_JOB_QUEUE_ARN,
    OUTPUT_JOB_ROLE_ARN,
    OUTPUT_LOG_GROUP,
)
from stacks.domain.plan import ClusterPlan, JobPlan
from stacks.domain.render.node_user_data import node_user_data


class ClusterStack(cdk.Stack):
    """`node_tags` are for what exists only while a job runs, and for what is replaced when its tags change."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ClusterPlan,
        jobs: Sequence[JobPlan],
        node_subnet_id: str,
        security_group_id: str,
        bucket: s3.IBucket,
        node_tags: Mapping[str, str],
        **stack_arguments: Any,
    ) -> None:
        super().__init__(scope, id_, **stack_arguments)
        log_group = self._log_group()
        queue = MultiNodeQueue(
            self,
            "Batch",
            cluster=cluster,
            launch_template=EfaLaunchTemplate(
                self,
                "Nodes",
                cluster=cluster,
                security_group_id=security_group_id,
                node_tags=node_tags,
                user_data=node_user_data(cluster),
            ),
            subnet_id=node_subnet_id,
            instance_profile=NodeRole(self, "NodeRole").instance_profile,
            node_tags=node_tags,
        )
        job_role = JobRole(self, "JobRole", bucket=bucket, jobs=jobs).role
        execution_role = ExecutionRole(self, "ExecutionRole", log_group=log_group, jobs=jobs).role
        dashboard = RunDashboard(
            self,
            "Runs",
            name=self.stack_name,
            instance_type=cluster.instance_type,
            log_group=log_group,
            bucket=bucket,
        ).resource

        outputs = {
            OUTPUT_COMPUTE_ENVIRONMENT_ARN: queue.compute_environment.attr_compute_environment_arn,
            OUTPUT_JOB_QUEUE_ARN: queue.job_queue.attr_job_queue_arn,
            OUTPUT_JOB_ROLE_ARN: job_role.role_arn,
            OUTPUT_EXECUTION_ROLE_ARN: execution_role.role_arn,
            OUTPUT_LOG_GROUP: log_group.log_group_name,
            OUTPUT_DASHBOARD: dashboard.ref,
        }
        for name, value in outputs.items():
            cdk.CfnOutput(self, name, value=value)

    def _log_group(self) -> logs.LogGroup:
        """With a generated name: a group that somebody kept never stands in the way of the next deploy."""
        group = logs.LogGroup(
            self,
            "JobLogs",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        fix_logical_id(group, "JobLogs")
        return group
