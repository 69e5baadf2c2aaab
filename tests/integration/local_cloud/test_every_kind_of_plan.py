"""The templates of plans that no starter has (a reservation, two clusters, a boundary, a bought block): all are described."""

from __future__ import annotations

import json

import pytest

from scripts.local_cloud import process
from tests import synthesized
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.describe import StackResource, differences, remains, stack_resources

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("local_cloud")]


@pytest.mark.parametrize("plan_name", ["trn1-everything", "trn2-bought-block"])
def test_a_plans_stacks_are_as_their_templates_say_and_gone_after_the_delete(
    cloud: process.LocalCloud, account: str, plan_name: str
) -> None:
    plan = synthesized.plans()[plan_name]
    session = session_for(cloud, account, plan.region)
    allow_all = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    session.client("iam").create_policy(PolicyName="acme-boundary", PolicyDocument=json.dumps(allow_all))
    cloudformation = session.client("cloudformation")
    resources: list[StackResource] = []
    for stack in plan.stacks.all:
        template = synthesized.template(plan_name, stack)
        cloudformation.create_stack(
            StackName=stack, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_NAMED_IAM"]
        )
        described = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        assert described["StackStatus"] == "CREATE_COMPLETE", described.get("StackStatusReason")
        assert differences(template, stack, session) == []
        resources += stack_resources(stack, session)
    buckets = [item for item in resources if item.type.startswith("AWS::S3::")]
    for stack in reversed(plan.stacks.all):
        cloudformation.delete_stack(StackName=stack)
    left = remains(resources, session)
    # CloudFormation retains what holds data; `neuronkit destroy` removes it.
    assert {text.split(" ")[0] for text in left} <= {item.logical_id for item in buckets}
