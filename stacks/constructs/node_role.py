"""What a node itself may do: join its ECS cluster, and take a Session Manager session."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, wildcard_resource
from stacks.constructs.logical_id import fix_logical_id

ECS_INSTANCE_POLICY = "service-role/AmazonEC2ContainerServiceforEC2Role"
# What a session needs and no more (Systems Manager guide, "Create a custom IAM role for Session Manager"). The
# managed policy would let every container that reaches the node's role read all parameters of the account.
SESSION_ACTIONS = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)


class NodeRole(Construct):
    """A session is the only way into a node: there is no key pair, and no inbound rule."""

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(ECS_INSTANCE_POLICY)],
            inline_policies={
                "sessions": iam.PolicyDocument(
                    statements=[iam.PolicyStatement(actions=list(SESSION_ACTIONS), resources=["*"])]
                )
            },
        )
        fix_logical_id(role, "NodeRole")
        self.instance_profile = iam.CfnInstanceProfile(self, "Profile", roles=[role.role_name])
        fix_logical_id(self.instance_profile, "NodeInstanceProfile")
        acknowledge(
            role,
            [f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{ECS_INSTANCE_POLICY}]"],
            "The policy that Batch's guide asks of an instance role: it changes together with the ECS agent.",
        )
        acknowledge(
            role,
            [wildcard_resource("*")],
            "Session Manager's actions take no resource.",
        )
