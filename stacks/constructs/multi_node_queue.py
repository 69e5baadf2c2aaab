"""AWS Batch for multi-node jobs: one compute environment of one instance type in one zone, and its queue."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.efa_launch_template import EfaLaunchTemplate
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.pinned import UNRESOLVED_AMI
from stacks.domain.plan import ClusterPlan

Environment = batch.CfnComputeEnvironment

# Batch has no image type for Neuron; the ECS Neuron AMI is an AL2023 one.
IMAGE_TYPE = "ECS_AL2023"
# The longest that Batch lets an update of the nodes wait for running jobs: five days.
UPDATE_WAIT_MINUTES = 7200
# The reasons on which Batch acts, each with the seconds after which it cancels the job at the head of the queue
# (Batch user guide, job_stuck_in_runnable_time_limit_actions). A job that fits no node never will; capacity may
# come back, and nobody should pay three of four nodes for longer than that.
TIME_LIMITS = {
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE": 600,
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT": 600,
    "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY": 4 * 3600,
}


class MultiNodeQueue(Construct):
    """Grows from nothing to the cluster's nodes and back. Works under Batch's service-linked role: an update in
    place needs it, and no role of ours can vanish before the compute environment does.
    `node_tags` go on the nodes and must not change while jobs run: an update replaces the nodes.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ClusterPlan,
        launch_template: EfaLaunchTemplate,
        subnet_id: str,
        instance_profile: iam.CfnInstanceProfile,
        node_tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self._cluster = cluster
        self.compute_environment = Environment(
            self,
            "ComputeEnvironment",
            type="MANAGED",
            state="ENABLED",
            # In place: a new launch template or AMI reaches the nodes as jobs end. The names are generated, so
            # that what cannot change in place (the tags) can still be replaced.
            replace_compute_environment=False,
            update_policy=Environment.UpdatePolicyProperty(
                terminate_jobs_on_update=False, job_execution_timeout_minutes=UPDATE_WAIT_MINUTES
            ),
            compute_resources=Environment.ComputeResourcesProperty(
                type="EC2",
                # There is one type to choose from; BEST_FIT would do, but cannot be updated in place.
                allocation_strategy="BEST_FIT_PROGRESSIVE",
                minv_cpus=0,
                maxv_cpus=cluster.vcpus,
                instance_types=[cluster.instance_type],
                subnets=[subnet_id],
                security_group_ids=launch_template.compute_environment_groups or None,
                instance_role=instance_profile.attr_arn,
                ec2_configuration=[
                    Environment.Ec2ConfigurationObjectProperty(
                        image_type=IMAGE_TYPE,
                        image_id_override=cluster.ami.id if cluster.ami else UNRESOLVED_AMI,
                    )
                ],
                launch_template=Environment.LaunchTemplateSpecificationProperty(
                    launch_template_id=launch_template.resource.ref,
                    # A number: with $Latest, CloudFormation would see no change and Batch would keep the old one.
                    version=launch_template.resource.attr_latest_version_number,
                ),
                placement_group=self._placement_group(),
                tags=dict(sorted(node_tags.items())),
            ),
        )
        fix_logical_id(self.compute_environment, "ComputeEnvironment")
        self.job_queue = self._job_queue()

    def _placement_group(self) -> str | None:
        if not self._cluster.placement_group:
            return None
        group = ec2.CfnPlacementGroup(self, "PlacementGroup", strategy="cluster")
        fix_logical_id(group, "PlacementGroup")
        return group.ref

    def _job_queue(self) -> batch.CfnJobQueue:
        queue = batch.CfnJobQueue(
            self,
            "JobQueue",
            priority=1,
            state="ENABLED",
            compute_environment_order=[
                batch.CfnJobQueue.ComputeEnvironmentOrderProperty(
                    compute_environment=self.compute_environment.attr_compute_environment_arn, order=1
                )
            ],
            job_state_time_limit_actions=[
                batch.CfnJobQueue.JobStateTimeLimitActionProperty(
                    reason=reason, state="RUNNABLE", action="CANCEL", max_time_seconds=seconds
                )
                for reason, seconds in TIME_LIMITS.items()
            ],
        )
        fix_logical_id(queue, "JobQueue")
        return queue
