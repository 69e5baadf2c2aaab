"""Where node images of Slurm clusters are built: one pipeline a Slurm version, on a machine that nobody reaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_imagebuilder as imagebuilder
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.constructs.image_builder_role import ImageBuilderRole
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.node_image_pipeline import NodeImagePipeline
from stacks.constructs.routed_subnet import ANYWHERE
from stacks.domain.names import OUTPUT_IMAGE_PIPELINE_ARN
from stacks.domain.node_image_plan import NodeImagePlan
from stacks.domain.render.node_image import recipe_name

LOG_DAYS = 30


class ImageStack(cdk.Stack):
    """The images themselves belong to no stack: `neuronkit destroy` removes them."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: str,
        images: tuple[NodeImagePlan, ...],
        vpc_id: str,
        subnet_id: str,
        image_tags: Mapping[str, str],
        **stack_arguments: Any,
    ) -> None:
        super().__init__(scope, id_, **stack_arguments)
        log_groups = {image.slurm_version: self._log_group(environment, image) for image in images}
        role = ImageBuilderRole(
            self,
            "Builder",
            components=f"{environment}-slurm-",
            log_group_arns=[f"{group.attr_arn}" for group in log_groups.values()],
        )
        infrastructure = imagebuilder.CfnInfrastructureConfiguration(
            self,
            "Infrastructure",
            name=id_,
            description="neuronkit: in the nodes' private subnet, without a way in",
            instance_profile_name=role.instance_profile.ref,
            instance_types=[images[0].builder_instance_type],
            subnet_id=subnet_id,
            security_group_ids=[self._security_group(vpc_id).attr_group_id],
            terminate_instance_on_failure=True,
            instance_metadata_options=imagebuilder.CfnInfrastructureConfiguration.InstanceMetadataOptionsProperty(
                http_tokens="required", http_put_response_hop_limit=1
            ),
            resource_tags={**image_tags, "Name": id_},
        )
        fix_logical_id(infrastructure, "Infrastructure")
        for image in images:
            made = NodeImagePipeline(
                self,
                f"Slurm-{image.slurm_version}",
                environment=environment,
                image=image,
                infrastructure=infrastructure,
                log_group_name=log_groups[image.slurm_version].ref,
                tags=image_tags,
            )
            output = f"{OUTPUT_IMAGE_PIPELINE_ARN}{image.slurm_version.replace('.', '')}"
            cdk.CfnOutput(self, output, value=made.pipeline.attr_arn)

    def _log_group(self, environment: str, image: NodeImagePlan) -> logs.CfnLogGroup:
        """With the name that Image Builder would give it, but with an end and with our tags."""
        group = logs.CfnLogGroup(
            self,
            f"Log-{image.slurm_version}",
            log_group_name=f"/aws/imagebuilder/{recipe_name(environment, image.slurm_version)}",
            retention_in_days=LOG_DAYS,
        )
        fix_logical_id(group, f"LogGroup{image.slurm_version.replace('.', '')}")
        return group

    def _security_group(self, vpc_id: str) -> ec2.CfnSecurityGroup:
        group = ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            group_description="neuronkit node image builds: packages from the internet, nothing from outside",
            vpc_id=vpc_id,
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    description=description,
                    ip_protocol="tcp",
                    from_port=port,
                    to_port=port,
                    cidr_ip=ANYWHERE,
                )
                for port, description in (
                    (443, "AWS endpoints and package repositories"),
                    # Signed, and so served without TLS.
                    (80, "Package archives of Ubuntu"),
                )
            ],
        )
        fix_logical_id(group, "BuildSecurityGroup")
        return group
