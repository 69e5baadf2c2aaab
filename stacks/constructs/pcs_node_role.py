"""What the nodes of a Slurm cluster may do. On AWS PCS a job has its node's role, as there is no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, imported_bucket_arn, wildcard_resource
from stacks.constructs.execution_role import (
    private_repository_arns,
    pull_policy,
    secret_references,
    secrets_policy,
)
from stacks.constructs.job_role import (
    READ_PATTERNS,
    acknowledge_job_policies,
    job_policies,
)
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.node_role import SESSION_ACTIONS
from stacks.domain.plan import JobPlan

# PCS's service-linked role passes only roles called AWSPCS*, or under this path; so no name has to be fixed.
ROLE_PATH = "/aws-pcs/"
# All that the managed policy AWSPCSComputeNodePolicy holds.
REGISTER_ACTION = "pcs:RegisterComputeNodeGroupInstance"
# Run Command, for agents that do not take commands over ssmmessages yet.
COMMAND_ACTIONS = (
    "ec2messages:AcknowledgeMessage",
    "ec2messages:DeleteMessage",
    "ec2messages:FailMessage",
    "ec2messages:GetEndpoint",
    "ec2messages:GetMessages",
    "ec2messages:SendReply",
)
# What `launch` uploads for the login node to read: job scripts, and what runs have left.
LOGIN_READ_PATTERNS = (*READ_PATTERNS, "runs/*")


class ComputeRole(Construct):
    """What a Batch job's two roles may do together, as jobs resolve their secrets and pull their images themselves."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        bucket: s3.IBucket,
        jobs: Sequence[JobPlan],
        in_containers: bool,
        script_policy: iam.PolicyDocument,
    ) -> None:
        super().__init__(scope, id_)
        policies = {**job_policies(self, bucket, jobs), "setup": script_policy}
        repositories = private_repository_arns(jobs, cdk.Stack.of(self).partition)
        if in_containers and repositories:
            policies["images"] = pull_policy(repositories)
        if references := secret_references(jobs):
            policies["secrets"] = secrets_policy(references)
        role = _node_role(self, "ComputeRole", policies, SESSION_ACTIONS)
        acknowledge_job_policies(role, bucket, jobs)
        self.instance_profile = _profile(self, "ComputeInstanceProfile", role)


class LoginRole(Construct):
    """Reads what `launch` uploaded; writes nothing, and knows no secret of a job."""

    def __init__(
        self, scope: Construct, id_: str, *, bucket: s3.IBucket, script_policy: iam.PolicyDocument
    ) -> None:
        super().__init__(scope, id_)
        read = iam.PolicyDocument(
            statements=[
                iam.PolicyStatement(
                    actions=["s3:GetObject"],
                    resources=[bucket.arn_for_objects(pattern) for pattern in LOGIN_READ_PATTERNS],
                ),
                iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn]),
            ]
        )
        policies = {"bucket": read, "setup": script_policy}
        role = _node_role(self, "LoginRole", policies, (*SESSION_ACTIONS, *COMMAND_ACTIONS))
        own = imported_bucket_arn(self, bucket)
        acknowledge(
            role,
            [wildcard_resource(f"{own}/{pattern}") for pattern in LOGIN_READ_PATTERNS],
            "The objects under a prefix; their names are made by runs.",
        )
        self.instance_profile = _profile(self, "LoginInstanceProfile", role)


def _node_role(
    scope: Construct,
    logical_id: str,
    policies: Mapping[str, iam.PolicyDocument],
    agent_actions: Sequence[str],
) -> iam.Role:
    """Sessions are the only way into a node: there is no key pair, and no inbound rule."""
    agent = iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=[REGISTER_ACTION], resources=["*"]),
            iam.PolicyStatement(actions=list(agent_actions), resources=["*"]),
        ]
    )
    role = iam.Role(
        scope,
        "Role",
        path=ROLE_PATH,
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        inline_policies={"agents": agent, **policies},
    )
    fix_logical_id(role, logical_id)
    acknowledge(
        role,
        [wildcard_resource("*")],
        "The registration of a PCS node, Session Manager's actions and ecr:GetAuthorizationToken take no resource.",
    )
    return role


def _profile(scope: Construct, logical_id: str, role: iam.Role) -> iam.CfnInstanceProfile:
    profile = iam.CfnInstanceProfile(scope, "Profile", roles=[role.role_name])
    fix_logical_id(profile, logical_id)
    return profile
