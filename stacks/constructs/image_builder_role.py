"""What the machine may do on which a node image is built and tested: take Image Builder's orders, and write its log."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, wildcard_resource
from stacks.constructs.logical_id import fix_logical_id

# AmazonSSMManagedInstanceCore (moto 5.2.5's copy) without the right to read every parameter of the account.
SYSTEMS_MANAGER_ACTIONS = (
    "ssm:DescribeAssociation",
    "ssm:DescribeDocument",
    "ssm:GetDeployablePatchSnapshotForInstance",
    "ssm:GetDocument",
    "ssm:GetManifest",
    "ssm:ListAssociations",
    "ssm:ListInstanceAssociations",
    "ssm:PutComplianceItems",
    "ssm:PutConfigurePackageResult",
    "ssm:PutInventory",
    "ssm:UpdateAssociationStatus",
    "ssm:UpdateInstanceAssociationStatus",
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
    "ec2messages:AcknowledgeMessage",
    "ec2messages:DeleteMessage",
    "ec2messages:FailMessage",
    "ec2messages:GetEndpoint",
    "ec2messages:GetMessages",
    "ec2messages:SendReply",
)
TOOLS_OF_IMAGE_BUILDER = "arn:aws:s3:::ec2imagebuilder*"
"""Its own buckets (EC2InstanceProfileForImageBuilder, moto 5.2.5's copy)."""


class ImageBuilderRole(Construct):
    """`components` is the beginning of the names of the components that it may read."""

    def __init__(self, scope: Construct, id_: str, *, components: str, log_group_arns: list[str]) -> None:
        super().__init__(scope, id_)
        component_arns = f"arn:aws:imagebuilder:*:*:component/{components}*"
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            inline_policies={
                "image-builder": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(actions=list(SYSTEMS_MANAGER_ACTIONS), resources=["*"]),
                        iam.PolicyStatement(
                            actions=["imagebuilder:GetComponent"], resources=[component_arns]
                        ),
                        iam.PolicyStatement(actions=["s3:GetObject"], resources=[TOOLS_OF_IMAGE_BUILDER]),
                        iam.PolicyStatement(
                            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=log_group_arns
                        ),
                    ]
                )
            },
        )
        fix_logical_id(role, "ImageBuilderRole")
        self.instance_profile = iam.CfnInstanceProfile(self, "Profile", roles=[role.role_name])
        fix_logical_id(self.instance_profile, "ImageBuilderInstanceProfile")
        acknowledge(
            role,
            [
                wildcard_resource("*"),
                wildcard_resource(component_arns),
                wildcard_resource(TOOLS_OF_IMAGE_BUILDER),
            ],
            "Systems Manager's actions take no resource; components have a version behind their names, and Image "
            "Builder's tools lie in its own buckets.",
        )
