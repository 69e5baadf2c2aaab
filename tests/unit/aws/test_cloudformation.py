from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.translation import AccessDeniedError, AwsError

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
STACK_ID = "arn:aws:cloudformation:us-east-2:1:stack/pilot-network/1"


def raw_stack(name: str = "pilot-network", status: str = "CREATE_COMPLETE", **more: Any) -> dict[str, Any]:
    return {"StackName": name, "StackId": STACK_ID, "StackStatus": status, "CreationTime": NOW, **more}


def stack(status: str) -> Stack:
    return Stack("pilot-network", STACK_ID, status, "", {}, {}, False)


def event(logical_id: str, status: str, reason: str = "", physical_id: str = "x") -> dict[str, Any]:
    return {
        "StackId": STACK_ID,
        "StackName": "pilot-network",
        "EventId": f"{logical_id}-{status}",
        "Timestamp": NOW,
        "LogicalResourceId": logical_id,
        "PhysicalResourceId": physical_id,
        "ResourceType": "AWS::EC2::VPC",
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
    }


def test_a_stack_is_read_with_tags_and_outputs(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    answer = raw_stack(
        Tags=[{"Key": "neuronkit:environment", "Value": "pilot"}],
        Outputs=[{"OutputKey": "VpcId", "OutputValue": "vpc-1"}],
        Parameters=[{"ParameterKey": "FirstDeploy", "ParameterValue": "true"}],
        EnableTerminationProtection=True,
    )
    stub("cloudformation").add_response(
        "describe_stacks", {"Stacks": [answer]}, {"StackName": "pilot-network"}
    )
    found = cloudformation.find_stack(cloud, "pilot-network")
    assert found is not None
    assert found.tags == {"neuronkit:environment": "pilot"}
    assert found.outputs == {"VpcId": "vpc-1"}
    assert found.parameters == {"FirstDeploy": "true"}
    assert found.is_protected


def test_a_stack_that_is_not_there_is_none_and_a_refusal_is_not(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("cloudformation").add_client_error(
        "describe_stacks", "ValidationError", "Stack with id pilot-network does not exist"
    )
    assert cloudformation.find_stack(cloud, "pilot-network") is None
    stub("cloudformation").add_client_error("describe_stacks", "AccessDenied", "no")
    with pytest.raises(AccessDeniedError):
        cloudformation.find_stack(cloud, "pilot-network")
    stub("cloudformation").add_client_error(
        "describe_stacks", "ValidationError", "1 validation error detected"
    )
    with pytest.raises(AwsError):
        cloudformation.find_stack(cloud, "pilot-network")


STATES = [
    ("CREATE_COMPLETE", False, True),
    ("UPDATE_COMPLETE", False, True),
    ("UPDATE_ROLLBACK_COMPLETE", False, False),
    ("ROLLBACK_COMPLETE", False, False),
    ("DELETE_FAILED", False, False),
    ("REVIEW_IN_PROGRESS", False, False),
    ("CREATE_IN_PROGRESS", True, False),
    ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", True, False),
    ("DELETE_IN_PROGRESS", True, False),
]


@pytest.mark.parametrize(("status", "busy", "good"), STATES)
def test_what_a_state_means(status: str, busy: bool, good: bool) -> None:
    assert (stack(status).is_busy, stack(status).is_good) == (busy, good)


def test_the_first_failure_is_the_cause_not_its_echoes_and_not_an_older_operations(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    newest_first = [
        event("pilot-network", "ROLLBACK_IN_PROGRESS", "The following resource(s) failed", STACK_ID),
        event("Subnet", "CREATE_FAILED", "Resource creation cancelled"),
        event("Gateway", "CREATE_FAILED", "AddressLimitExceeded"),
        event("Vpc", "CREATE_COMPLETE"),
        event("pilot-network", "CREATE_IN_PROGRESS", "User Initiated", STACK_ID),
        event("Old", "CREATE_FAILED", "of an earlier attempt"),
    ]
    stub("cloudformation").add_response(
        "describe_stack_events", {"StackEvents": newest_first}, {"StackName": STACK_ID}
    )
    failure = cloudformation.first_failure(cloud, stack("ROLLBACK_COMPLETE"))
    assert failure is not None
    assert (failure.logical_id, failure.reason) == ("Gateway", "AddressLimitExceeded")


def test_a_stack_that_was_never_created_gets_its_tags_from_its_change_sets(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("cloudformation").add_response(
        "list_change_sets", {"Summaries": [{"ChangeSetName": "cdk"}]}, {"StackName": "pilot-network"}
    )
    stub("cloudformation").add_response(
        "describe_change_set",
        {"Tags": [{"Key": "neuronkit:environment", "Value": "pilot"}]},
        {"StackName": "pilot-network", "ChangeSetName": "cdk"},
    )
    assert cloudformation.change_set_tags(cloud, "pilot-network") == {"neuronkit:environment": "pilot"}


def test_deleted_stacks_are_found_by_exact_name(stubbed: Stubbed) -> None:
    cloud, stub = stubbed

    def summary(name: str) -> dict[str, Any]:
        return {
            "StackName": name,
            "StackId": f"id-{name}",
            "StackStatus": "DELETE_COMPLETE",
            "CreationTime": NOW,
        }

    stub("cloudformation").add_response(
        "list_stacks",
        {"StackSummaries": [summary("pilot-storage"), summary("pilot-2-storage")]},
        {"StackStatusFilter": ["DELETE_COMPLETE"]},
    )
    assert cloudformation.deleted_stack_ids(cloud, ["pilot-storage"]) == ("id-pilot-storage",)


def test_a_template_is_read_as_it_was_deployed(cloud: Cloud) -> None:
    body = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    cloud.client("cloudformation").create_stack(StackName="one", TemplateBody=json.dumps(body))
    assert cloudformation.template(cloud, "one") == body
    assert [r.type for r in cloudformation.resources(cloud, "one")] == ["AWS::SNS::Topic"]
    assert [s.name for s in cloudformation.all_stacks(cloud)] == ["one"]


def test_a_deleted_stack_is_not_listed_any_more(cloud: Cloud) -> None:
    body = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    cloud.client("cloudformation").create_stack(StackName="one", TemplateBody=json.dumps(body))
    cloudformation.delete_stack(cloud, "one")
    assert cloudformation.all_stacks(cloud) == ()
