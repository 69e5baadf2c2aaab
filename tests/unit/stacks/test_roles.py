"""Least privilege: actions by name, resources by ARN, and what has to be wide is listed here."""

from typing import Any

import pytest

from tests.synthesized import Template, cluster, every_stack, plans, resources

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]

# AWS gives these no resource to name.
WITHOUT_RESOURCE = {
    "ecr:GetAuthorizationToken",
    "ec2messages:AcknowledgeMessage",
    "ec2messages:DeleteMessage",
    "ec2messages:FailMessage",
    "ec2messages:GetEndpoint",
    "ec2messages:GetMessages",
    "ec2messages:SendReply",
    "pcs:RegisterComputeNodeGroupInstance",
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
}
# What AWS's own policy for managed instances holds, without the reading of parameters: Image Builder works through it.
OF_BUILD_INSTANCES = {
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
}
# Of the functions that watch over fleets: all but the last only look.
OF_CONTROLLERS = {
    "application-autoscaling:DescribeScalableTargets",
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "batch:DescribeComputeEnvironments",
    "batch:DescribeJobs",
    "batch:ListJobs",
    "cloudwatch:GetMetricData",
    "ec2:DescribeInstances",
    "elasticloadbalancing:DescribeRules",
    "elasticloadbalancing:DescribeTargetHealth",
    "cloudwatch:PutMetricData",
}
WITH_BOUNDARY = ("trn1-everything", "slurm-everything", "fleet-public")
ASSUMED_BY = {
    "ec2.amazonaws.com",
    "ecs-tasks.amazonaws.com",
    "ecs.amazonaws.com",
    "lambda.amazonaws.com",
    "scheduler.amazonaws.com",
}
ON_BEHALF_OF_THIS_ACCOUNT = ASSUMED_BY - {"ec2.amazonaws.com", "lambda.amazonaws.com"}
"""The others assume a role for a resource of the account that names it."""
every_template = pytest.mark.parametrize(("plan", "stack"), every_stack())


def statements(template: Template) -> list[dict[str, Any]]:
    return [
        statement
        for role in resources(template, "AWS::IAM::Role").values()
        for policy in role["Properties"].get("Policies", [])
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@every_template
def test_every_action_is_named(plan: str, stack: str, template: Template) -> None:
    actions = [action for s in statements(template) for action in as_list(s["Action"])]
    assert [action for action in actions if "*" in action] == []
    assert all(statement["Effect"] == "Allow" for statement in statements(template))


@every_template
def test_every_resource_is_named_where_there_is_one(plan: str, stack: str, template: Template) -> None:
    everywhere = {
        action
        for s in statements(template)
        if "*" in as_list(s["Resource"])
        for action in as_list(s["Action"])
    }
    names = plans()[plan].stacks
    more: set[str] = set()
    if stack == names.image:
        more = OF_BUILD_INSTANCES
    elif stack in {**dict(names.fleets), **dict(names.shifts)}.values():
        more = OF_CONTROLLERS
    assert everywhere <= WITHOUT_RESOURCE | more


@every_template
def test_roles_are_assumed_by_services_alone_and_for_this_account(
    plan: str, stack: str, template: Template
) -> None:
    for role in resources(template, "AWS::IAM::Role").values():
        (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        service = statement["Principal"]["Service"]
        assert service in ASSUMED_BY
        if service in ON_BEHALF_OF_THIS_ACCOUNT:
            assert "aws:SourceAccount" in statement["Condition"]["StringEquals"]


@every_template
def test_the_boundary_is_on_every_role_when_it_is_asked_for(
    plan: str, stack: str, template: Template
) -> None:
    boundaries = {
        str(role["Properties"].get("PermissionsBoundary"))
        for role in resources(template, "AWS::IAM::Role").values()
    }
    expected = "arn:aws:iam::111122223333:policy/acme-boundary" if plan in WITH_BOUNDARY else "None"
    assert boundaries <= {expected}


def policy(role: str, name: str, cluster_name: str = "train") -> list[dict[str, Any]]:
    properties = cluster("trn1-everything", cluster_name)["Resources"][role]["Properties"]
    (found,) = (p["PolicyDocument"]["Statement"] for p in properties["Policies"] if p["PolicyName"] == name)
    statements: list[dict[str, Any]] = found
    return statements


def paths(statement: dict[str, Any]) -> set[str]:
    """What follows the bucket in each resource."""
    return {resource["Fn::Join"][1][1] for resource in as_list(statement["Resource"])}


class TestJobRole:
    def test_it_reads_packages_and_writes_runs_and_compiled_programs_alone(self) -> None:
        read, write, _ = policy("JobRole", "bucket")
        assert read["Action"] == "s3:GetObject"
        assert paths(read) == {"/packages/*", "/runs/*", "/compile-cache/*"}
        assert write["Action"] == ["s3:AbortMultipartUpload", "s3:PutObject"]
        assert paths(write) == {"/runs/*", "/compile-cache/*"}

    def test_it_deletes_nothing(self) -> None:
        assert "Delete" not in str(cluster("trn1-everything")["Resources"]["JobRole"])

    def test_it_reads_the_data_that_its_jobs_name(self) -> None:
        objects, listing = policy("JobRole", "data")
        assert objects["Resource"] == "arn:aws:s3:::acme-data/tokens/*"
        assert listing["Resource"] == "arn:aws:s3:::acme-data"
        assert listing["Condition"] == {"StringLike": {"s3:prefix": ["tokens/*"]}}

    def test_another_clusters_data_is_not_its_own(self) -> None:
        assert "acme-data" not in str(cluster("trn1-everything", "one"))


class TestExecutionRole:
    def test_it_pulls_the_jobs_private_image_and_no_other(self) -> None:
        pull, _ = policy("ExecutionRole", "images")
        assert pull["Resource"] == "arn:aws:ecr:us-east-2:111122223333:repository/team/train"

    def test_a_public_image_needs_no_permission(self) -> None:
        assert "ecr:" not in str(cluster("trn1-pilot")["Resources"]["ExecutionRole"])

    def test_it_reads_the_secrets_by_their_arn_without_the_key_that_a_reference_may_add(self) -> None:
        assert {(s["Action"], s["Resource"]) for s in policy("ExecutionRole", "secrets")} == {
            (
                "secretsmanager:GetSecretValue",
                "arn:aws:secretsmanager:us-east-2:111122223333:secret:data-AbCdEf",
            ),
            ("ssm:GetParameters", "arn:aws:ssm:us-east-2:111122223333:parameter/pilot/key"),
        }

    def test_it_writes_to_the_clusters_log_group(self) -> None:
        (statement,) = policy("ExecutionRole", "logs")
        assert statement["Resource"] == {"Fn::GetAtt": ["JobLogs", "Arn"]}


def test_a_node_takes_sessions_and_reads_no_parameters() -> None:
    (statement,) = policy("NodeRole", "sessions")
    assert "ssm:GetParameter" not in str(statement)
    assert "AmazonSSMManagedInstanceCore" not in str(cluster("trn1-everything"))
