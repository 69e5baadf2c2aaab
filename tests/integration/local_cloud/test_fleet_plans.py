"""The templates of serving fleets: all that they hold is really made, as they say, and nothing is left after the delete."""

from __future__ import annotations

import json

import pytest

from scripts.local_cloud import process
from tests import synthesized
from tests.fleet_plans import CERTIFICATE
from tests.integration.local_cloud.assets import publish
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.describe import StackResource, differences, remains, stack_resources
from tests.integration.local_cloud.serving_world import until

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("local_cloud")]


@pytest.mark.parametrize(
    "plan_name",
    ["fleet-slices", "fleet-asleep", "fleet-weighted", "fleet-public", "fleet-managed", "fleet-shift"],
)
def test_a_fleets_stacks_are_as_their_templates_say_and_gone_after_the_delete(
    cloud: process.LocalCloud, account: str, plan_name: str
) -> None:
    plan = synthesized.plans()[plan_name]
    session = session_for(cloud, account, plan.region)
    allow_all = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    session.client("iam").create_policy(PolicyName="acme-boundary", PolicyDocument=json.dumps(allow_all))
    certificate = session.client("acm").request_certificate(DomainName="llm.example.com")["CertificateArn"]
    cloudformation = session.client("cloudformation")
    resources: list[StackResource] = []
    for stack in plan.stacks.all:
        publish(session, synthesized.assembly_directory(plan_name), stack, plan.account)
        body = json.dumps(synthesized.template(plan_name, stack)).replace(CERTIFICATE, certificate)
        body = body.replace(plan.account, account)
        template = json.loads(body)
        first = [{"ParameterKey": "FirstDeploy", "ParameterValue": "true"}]
        cloudformation.create_stack(
            StackName=stack,
            TemplateBody=body,
            Parameters=first if "FirstDeploy" in template.get("Parameters", {}) else [],
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        until(lambda name=stack: _status(cloudformation, name) != "CREATE_IN_PROGRESS")  # type: ignore[misc]
        assert _status(cloudformation, stack) == "CREATE_COMPLETE", _failures(cloudformation, stack)
        _take_conditions(template)
        assert differences(template, stack, session) == []
        resources += stack_resources(stack, session)
    for stack in reversed(plan.stacks.all):
        stack_id = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackId"]
        cloudformation.delete_stack(StackName=stack)
        until(lambda name=stack_id: _status(cloudformation, name) != "DELETE_IN_PROGRESS")  # type: ignore[misc]
        assert _status(cloudformation, stack_id) == "DELETE_COMPLETE", _failures(cloudformation, stack_id)
    kept = {item.logical_id for item in resources if item.type.startswith(("AWS::S3::", "AWS::EFS::"))}
    # CloudFormation retains what holds data; `neuronkit destroy` removes it.
    assert {text.split(" ")[0] for text in remains(resources, session)} <= kept


def _take_conditions(template: synthesized.Template) -> None:
    """As the first deploy does: services begin at zero."""
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::ECS::Service":
            resource["Properties"]["DesiredCount"] = 0


def _status(cloudformation: object, name: str) -> str:
    return str(cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"])  # type: ignore[attr-defined]


def _failures(cloudformation: object, name: str) -> list[str]:
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]  # type: ignore[attr-defined]
    return [
        f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}"
        for event in events
        if event["ResourceStatus"].endswith("_FAILED") and event.get("ResourceStatusReason")
    ]
