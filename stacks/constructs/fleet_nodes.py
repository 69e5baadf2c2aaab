"""Nodes of one side of a fleet: a launch template, an Auto Scaling group, and the capacity provider that grows it from zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs import launch_template_parts as parts
from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.pinned import AmiPlan

Template = ec2.CfnLaunchTemplate
Provider = ecs.CfnCapacityProvider

MANAGED_TAG = "AmazonECSManaged"
# Below it, an empty cluster starts nodes and stops them for ever (aws/containers-roadmap issue 653).
TARGET_CAPACITY = 100
# Only until a node registers; a start takes far longer.
WARMUP_SECONDS = 300


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What one side's nodes are. One instance type: tasks larger than a group's smallest type never start a node."""

    instance_type: str
    nodes_maximum: int
    ami: AmiPlan | None
    root_volume_gib: int
    capacity_kind: str
    capacity_id: str | None
    user_data: str
    subnet_id: str
    security_group_ids: Sequence[str]


class FleetNodes(Construct):
    """Protection from scale-in is off on both sides, group and provider: with it, CloudFormation waits for ever for
    nodes that stay protected (aws/aws-cdk issues 14732 and 18179), and a fleet must be deletable with the CDK alone.
    Managed draining stops the tasks of a node that leaves in the ordinary way; its lifecycle hook, which outlives the
    provider, is what `destroy` completes before the stack goes, and the CDK alone waits for. The provider's logical id begins with
    the id given here, and so do the others.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        shape: NodeShape,
        instance_profile: iam.CfnInstanceProfile,
        node_tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self._shape = shape
        template = self._launch_template(instance_profile, node_tags)
        self.group = self._auto_scaling_group(template)
        self.provider = self._provider()
        for part, resource in {
            "LaunchTemplate": template,
            "AutoScalingGroup": self.group,
            "CapacityProvider": self.provider,
        }.items():
            fix_logical_id(resource, f"{id_}{part}")

    def _launch_template(
        self, instance_profile: iam.CfnInstanceProfile, node_tags: Mapping[str, str]
    ) -> Template:
        shape = self._shape
        return Template(
            self,
            "Template",
            launch_template_data=Template.LaunchTemplateDataProperty(
                image_id=parts.node_ami_id(shape.ami),
                instance_type=shape.instance_type,
                iam_instance_profile=Template.IamInstanceProfileProperty(arn=instance_profile.attr_arn),
                network_interfaces=[
                    Template.NetworkInterfaceProperty(
                        device_index=0,
                        groups=list(shape.security_group_ids),
                        associate_public_ip_address=False,
                        delete_on_termination=True,
                    )
                ],
                block_device_mappings=[parts.root_volume(shape.ami, shape.root_volume_gib)],
                metadata_options=parts.metadata_options(),
                monitoring=Template.MonitoringProperty(enabled=True),
                instance_market_options=_market(shape.capacity_kind),
                capacity_reservation_specification=parts.reservation(shape.capacity_id)
                if shape.capacity_kind in ("reservation", "capacity-block")
                else None,
                user_data=cdk.Fn.base64(shape.user_data),
                tag_specifications=parts.tags_of_nodes(node_tags),
            ),
            tag_specifications=parts.tags_of_template(node_tags),
        )

    def _auto_scaling_group(self, template: Template) -> autoscaling.CfnAutoScalingGroup:
        """Without a name, so that it can be replaced while its provider is in use."""
        Group = autoscaling.CfnAutoScalingGroup  # noqa: N806
        group = Group(
            self,
            "Group",
            min_size="0",
            # From zero, managed scaling asks for two nodes whatever is needed (aws/containers-roadmap issue 1716).
            max_size=str(self._shape.nodes_maximum),
            vpc_zone_identifier=[self._shape.subnet_id],
            launch_template=Group.LaunchTemplateSpecificationProperty(
                launch_template_id=template.ref, version=template.attr_latest_version_number
            ),
            new_instances_protected_from_scale_in=False,
            tags=[Group.TagPropertyProperty(key=MANAGED_TAG, value="true", propagate_at_launch=True)],
        )
        acknowledge(
            group,
            ["AwsSolutions-AS3"],
            "The kit sends no notifications; alarms say when replicas are missing, and `neuronkit status` shows nodes.",
        )
        return group

    def _provider(self) -> Provider:
        return Provider(
            self,
            "Provider",
            auto_scaling_group_provider=Provider.AutoScalingGroupProviderProperty(
                auto_scaling_group_arn=self.group.ref,
                managed_draining="ENABLED",
                managed_termination_protection="DISABLED",
                managed_scaling=Provider.ManagedScalingProperty(
                    status="ENABLED", target_capacity=TARGET_CAPACITY, instance_warmup_period=WARMUP_SECONDS
                ),
            ),
        )


def _market(capacity_kind: str) -> Template.InstanceMarketOptionsProperty | None:
    if capacity_kind == "spot":
        return Template.InstanceMarketOptionsProperty(market_type="spot")
    return parts.block_market(capacity_kind)
