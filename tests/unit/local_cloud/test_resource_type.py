from __future__ import annotations

import re
from typing import Any

import boto3
import pytest

from scripts.local_cloud.cloudformation.resource_type import Request, ResourceError
from scripts.local_cloud.cloudformation.types.coerce import api_parameters


def request(**properties: Any) -> Request:
    return Request(
        type="AWS::X::Y",
        logical_id="JobQueueOfTheCluster",
        properties=properties,
        tags={},
        stack_name="pilot-cluster-train",
        stack_id="arn",
        account="123456789012",
        region="us-west-2",
        partition="aws",
        client_for=lambda service: None,
        made=lambda physical_id: None,
    )


@pytest.mark.parametrize("max_length", [32, 63, 64, 128, 255])
def test_generated_names_fit_and_name_stack_and_resource(max_length: int) -> None:
    name = request().generated_name(max_length)
    assert len(name) <= max_length
    assert re.fullmatch(r"pilot[a-z-]*-JobQ[A-Za-z]*-[A-Z0-9]{12}", name)
    assert name != request().generated_name(max_length)


def test_a_given_name_is_kept_and_a_missing_property_is_an_error() -> None:
    assert request(Name="mine").name_or_generated("Name") == "mine"
    with pytest.raises(ResourceError, match=r"required key \[Name\]"):
        _ = request()["Name"]


def test_properties_become_api_parameters_by_the_apis_own_model() -> None:
    batch = boto3.client("batch", region_name="us-west-2")
    properties = {"Priority": "7", "ComputeEnvironmentOrder": [{"Order": "1", "ComputeEnvironment": "arn"}]}
    assert api_parameters(batch, "CreateJobQueue", properties) == {
        "priority": 7,
        "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "arn"}],
    }
    with pytest.raises(ResourceError, match=r"extraneous key \[Colour\]"):
        api_parameters(batch, "CreateJobQueue", {"Colour": "red"})
