"""One training cluster under Slurm on AWS PCS. It can be destroyed and made again alone; bucket and file system stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_pcs as pcs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.login_launch_template import LoginLaunchTemplate
from stacks.constructs.node_setup_script import NodeSetupScript
from stacks.constructs.pcs_cluster import PcsCluster
from stacks.constructs.pcs_log_delivery import PcsLogDelivery
from stacks.constructs.pcs_node_group import PcsNodeGroup
from stacks.constructs.pcs_node_role import ComputeRole, LoginRole
from stacks.constructs.slurm_compute import SlurmCompute
from stacks.constructs.slurm_storage import SlurmStorage
from stacks.domain.names import (
    OUTPUT_LOG_GROUP,
    OUTPUT_LOGIN_NODE_GROUP_ID,
    OUTPUT_PCS_CLUSTER_ID,
    OUTPUT_SHARED_STORAGE_ID,
)
from stacks.domain.plan import ClusterPlan, JobPlan
from stacks.domain.render.slurm_node_setup import compute_node_setup, login_node_setup
from stacks.domain.slurm_plan import SlurmPlan

TYPE_NOT_IN_REGION = "CloudFormation-Validate::F3006"


class SlurmStack(cdk.Stack):
    """Controller, login node, compute nodes, file system, logs. `node_tags` go on instances, volumes and interfaces.

    Jobs' own logs are files on the shared file system, so there is no dashboard that reads them.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ClusterPlan,
        slurm: SlurmPlan,
        jobs: Sequence[JobPlan],
        node_subnet_id: str,
        security_group_id: str,
        bucket: s3.IBucket,
        node_tags: Mapping[str, str],
        **stack_arguments: Any,
    ) -> None:
        super().__init__(scope, id_, **stack_arguments)
        assert slurm.shared_storage is not None, "a rule asks for it"
        self._cluster, self._slurm = cluster, slurm
        self._subnet_id, self._security_group_id = node_subnet_id, security_group_id
        log_group = self._log_group()
        pcs_cluster = PcsCluster(
            self, "Pcs", slurm=slurm, subnet_id=node_subnet_id, security_group_id=security_group_id
        ).resource
        PcsLogDelivery(self, "LogDelivery", cluster=pcs_cluster, log_group=log_group)
        storage = SlurmStorage(
            self,
            "Storage",
            storage=slurm.shared_storage,
            subnet_id=node_subnet_id,
            security_group_id=security_group_id,
        )
        self._compute(pcs_cluster, storage, bucket, jobs, node_tags)
        login = self._login(pcs_cluster, storage, bucket, node_tags)
        outputs = {
            OUTPUT_PCS_CLUSTER_ID: pcs_cluster.attr_id,
            OUTPUT_LOGIN_NODE_GROUP_ID: login.attr_id,
            OUTPUT_LOG_GROUP: log_group.log_group_name,
            OUTPUT_SHARED_STORAGE_ID: storage.id,
        }
        for name, value in outputs.items():
            cdk.CfnOutput(self, name, value=value)
        acknowledge(
            self,
            [TYPE_NOT_IN_REGION],
            "The CDK's list of regions is older than the registry's, which has AWS PCS where trn2u is sold (ap-south-2).",
        )

    def _compute(
        self,
        pcs_cluster: pcs.CfnCluster,
        storage: SlurmStorage,
        bucket: s3.IBucket,
        jobs: Sequence[JobPlan],
        node_tags: Mapping[str, str],
    ) -> None:
        script = NodeSetupScript(self, "ComputeSetup", text=compute_node_setup(self._cluster))
        role = ComputeRole(
            self,
            "ComputeRole",
            bucket=bucket,
            jobs=jobs,
            in_containers=self._slurm.runs_in != "virtual-environment",
            script_policy=script.read_policy,
        )
        SlurmCompute(
            self,
            "Compute",
            cluster=self._cluster,
            slurm=self._slurm,
            pcs_cluster=pcs_cluster,
            subnet_id=self._subnet_id,
            security_group_id=self._security_group_id,
            instance_profile=role.instance_profile,
            lifecycle_actions=script.lifecycle_actions(storage.mount_arguments),
            node_tags=node_tags,
            needed_by_nodes=storage.needed_by_nodes,
        )

    def _login(
        self,
        pcs_cluster: pcs.CfnCluster,
        storage: SlurmStorage,
        bucket: s3.IBucket,
        node_tags: Mapping[str, str],
    ) -> pcs.CfnComputeNodeGroup:
        """A node that always runs and is in no queue."""
        script = NodeSetupScript(self, "LoginSetup", text=login_node_setup(self._cluster))
        return PcsNodeGroup(
            self,
            "LoginGroup",
            pcs_cluster=pcs_cluster,
            name=self._slurm.login_group,
            instance_type=self._slurm.login_instance_type,
            nodes_min=1,
            nodes_max=1,
            ami=self._cluster.ami,
            subnet_id=self._subnet_id,
            launch_template=LoginLaunchTemplate(
                self,
                "Login",
                cluster=self._cluster,
                subnet_id=self._subnet_id,
                security_group_id=self._security_group_id,
                node_tags={**node_tags, "Name": f"{self._slurm.cluster_name}-login"},
            ).resource,
            instance_profile=LoginRole(
                self, "LoginRole", bucket=bucket, script_policy=script.read_policy
            ).instance_profile,
            lifecycle_actions=script.lifecycle_actions(storage.mount_arguments),
            logical_id="LoginNodeGroup",
            needed_by_nodes=storage.needed_by_nodes,
        ).resource

    def _log_group(self) -> logs.LogGroup:
        """With a generated name: a group that somebody kept never stands in the way of the next deploy."""
        group = logs.LogGroup(
            self,
            "SlurmLogs",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        fix_logical_id(group, "SlurmLogs")
        return group
