"""ECS Managed Instances in place of an Auto Scaling group: AWS chooses AMI and driver, and replaces nodes after 14 days. L1:
the CDK's own construct knows no reservations."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.fleet_nodes import Provider
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.sizing import MIB_PER_GIB

INFRASTRUCTURE_POLICY = "AmazonECSInfrastructureRolePolicyForManagedInstances"
INSTANCE_POLICY = "AmazonECSInstanceRolePolicyForManagedInstances"
# ECS's default leaves an idle node to its own judgement; five minutes is between a redeploy and a bill.
SCALE_IN_AFTER_SECONDS = 300


class ManagedInstances(Construct):
    """The managed policy passes only roles called ecsInstanceRole*; ours passes the one role by its ARN, so that no
    role needs a fixed name (ECS developer guide, managed-instances-instance-profile).
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        fleet: FleetPlan,
        cluster: ecs.CfnCluster,
        subnet_id: str,
        security_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        self._fleet = fleet
        role, profile = self._instance_role()
        infrastructure = self._infrastructure_role(role)
        self.provider = Provider(
            self,
            "Provider",
            cluster_name=cluster.ref,
            managed_instances_provider=Provider.ManagedInstancesProviderProperty(
                infrastructure_role_arn=infrastructure.role_arn,
                propagate_tags="CAPACITY_PROVIDER",
                infrastructure_optimization=Provider.InfrastructureOptimizationProperty(
                    scale_in_after=SCALE_IN_AFTER_SECONDS
                ),
                instance_launch_template=Provider.InstanceLaunchTemplateProperty(
                    ec2_instance_profile_arn=profile.attr_arn,
                    capacity_option_type="SPOT" if fleet.capacity.kind == "spot" else "ON_DEMAND",
                    network_configuration=Provider.ManagedInstancesNetworkConfigurationProperty(
                        subnets=[subnet_id], security_groups=list(security_group_ids)
                    ),
                    storage_configuration=Provider.ManagedInstancesStorageConfigurationProperty(
                        storage_size_gib=fleet.settings.root_volume_gib
                    ),
                    instance_requirements=self._requirements(),
                ),
            ),
        )
        fix_logical_id(self.provider, "NodesCapacityProvider")

    def _requirements(self) -> Provider.InstanceRequirementsRequestProperty:
        fleet = self._fleet
        return Provider.InstanceRequirementsRequestProperty(
            v_cpu_count=Provider.VCpuCountRangeRequestProperty(min=fleet.vcpus_per_node),
            memory_mib=Provider.MemoryMiBRequestProperty(min=int(fleet.memory_gib_per_node * MIB_PER_GIB)),
            allowed_instance_types=[fleet.instance_type],
            accelerator_manufacturers=["amazon-web-services"],
        )

    def _instance_role(self) -> tuple[iam.Role, iam.CfnInstanceProfile]:
        role = iam.Role(
            self,
            "InstanceRole",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(INSTANCE_POLICY)],
        )
        fix_logical_id(role, "ManagedNodeRole")
        profile = iam.CfnInstanceProfile(self, "Profile", roles=[role.role_name])
        fix_logical_id(profile, "ManagedNodeInstanceProfile")
        _managed_policy_is_right(role, INSTANCE_POLICY)
        return role, profile

    def _infrastructure_role(self, instance_role: iam.Role) -> iam.Role:
        role = iam.Role(
            self,
            "InfrastructureRole",
            assumed_by=iam.ServicePrincipal(
                "ecs.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}},
            ),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(INFRASTRUCTURE_POLICY)],
            inline_policies={
                "pass": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(
                            actions=["iam:PassRole"],
                            resources=[instance_role.role_arn],
                            conditions={"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
                        )
                    ]
                )
            },
        )
        fix_logical_id(role, "InfrastructureRole")
        _managed_policy_is_right(role, INFRASTRUCTURE_POLICY)
        return role


def _managed_policy_is_right(role: iam.Role, policy: str) -> None:
    acknowledge(
        role,
        [f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]"],
        "The policy that the guide to Managed Instances asks for: it changes together with the service.",
    )
