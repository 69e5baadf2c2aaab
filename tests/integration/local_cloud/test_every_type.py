"""A stack that holds every type: what the template says is what boto3 describes, and after a delete nothing is left."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest

from scripts.local_cloud.cloudformation.template import parse
from tests.integration.local_cloud.describe import differences, remains, stack_resources
from tests.integration.local_cloud.describe_readers import READERS

BODY = (Path(__file__).parent / "every_type.yaml").read_text()
pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


def test_every_resource_has_the_templates_properties_and_is_gone_after_the_delete(
    session: boto3.Session,
) -> None:
    template = parse(BODY)
    cloudformation = session.client("cloudformation")
    tags = [{"Key": "neuronkit:environment", "Value": "pilot"}]
    cloudformation.create_stack(
        StackName="every-type", TemplateBody=BODY, Capabilities=["CAPABILITY_NAMED_IAM"], Tags=tags
    )
    cloudformation.get_waiter("stack_create_complete").wait(StackName="every-type", WaiterConfig={"Delay": 1})
    assert {definition["Type"] for definition in template["Resources"].values()} >= set(READERS)
    found = differences(template, "every-type", session)
    assert not found, "\n".join(found)
    resources = stack_resources("every-type", session)
    cloudformation.delete_stack(StackName="every-type")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName="every-type", WaiterConfig={"Delay": 1})
    assert remains(resources, session) == []
