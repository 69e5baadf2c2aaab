"""Calls that succeed in any case, and say in their answer what they did not do: none of it may be taken for done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import botocore.session
import pytest
from botocore.stub import Stubber

from scripts.aws import ec2, ecr, ecs, ecs_nodes, resource_groups
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from tests.unit.aws.operations import called_operations

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
AT = "arn:aws:ecs:us-east-2:1"
LISTS_OF_FAILURES = (
    "Unsuccessful",
    "Errors",
    "failures",
    "Failures",
    "FailedEntries",
    "Failed",
    "UnprocessedItems",
)


def endpoint_failure(code: str) -> dict[str, Any]:
    return {
        "Unsuccessful": [{"ResourceId": "vpce-1", "Error": {"Code": code, "Message": "it has connections"}}]
    }


def test_an_endpoint_that_ec2_did_not_delete_is_a_refusal(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    asked = {"VpcEndpointIds": ["vpce-1"]}
    for answer in ({"Unsuccessful": []}, endpoint_failure("InvalidVpcEndpoint.NotFound")):
        stub("ec2").add_response("delete_vpc_endpoints", answer, asked)
        ec2.delete(cloud, "VPC endpoint", "vpce-1")
    stub("ec2").add_response("delete_vpc_endpoints", endpoint_failure("OperationNotPermitted"), asked)
    with pytest.raises(
        AwsError, match="vpce-1 could not be deleted: OperationNotPermitted: it has connections"
    ):
        ec2.delete(cloud, "VPC endpoint", "vpce-1")


DESCRIBED: list[tuple[str, str, Callable[[Cloud], object], object]] = [
    ("describe_services", "services", lambda cloud: ecs.services(cloud, "c", ["s"]), ()),
    ("describe_tasks", "tasks", lambda cloud: ecs.describe_tasks(cloud, "c", ["t"]), ()),
    ("describe_clusters", "clusters", lambda cloud: ecs.cluster_is_active(cloud, f"{AT}:cluster/c"), False),
    (
        "describe_capacity_providers",
        "capacityProviders",
        lambda cloud: ecs.find_capacity_provider(cloud, f"{AT}:capacity-provider/p"),
        None,
    ),
    (
        "describe_container_instances",
        "containerInstances",
        lambda cloud: ecs_nodes.exists(cloud, f"{AT}:container-instance/c/1"),
        False,
    ),
]


@pytest.mark.parametrize(("operation", "key", "ask", "nothing"), DESCRIBED)
def test_what_ecs_misses_is_gone_and_what_it_does_not_describe_is_not(
    stubbed: Stubbed, operation: str, key: str, ask: Callable[[Cloud], object], nothing: object
) -> None:
    cloud, stub = stubbed
    for reason in ("MISSING", "ACCESS_DENIED"):
        failures = [{"arn": "arn:x", "reason": reason, "detail": "by a policy"}]
        stub("ecs").add_response(operation, {key: [], "failures": failures})
    assert ask(cloud) == nothing
    with pytest.raises(AwsError, match="ECS does not describe arn:x: ACCESS_DENIED: by a policy"):
        ask(cloud)


@pytest.mark.parametrize(
    ("code", "is_answer"), [("ImageNotFound", True), ("UpstreamUnavailable", False), ("KmsError", False)]
)
def test_an_image_that_ecr_could_not_get_is_not_one_that_is_not_there(
    stubbed: Stubbed, code: str, is_answer: bool
) -> None:
    cloud, stub = stubbed
    failures = [{"failureCode": code, "failureReason": "why"}]
    stub("ecr").add_response("batch_get_image", {"images": [], "failures": failures})
    uri = "111122223333.dkr.ecr.us-west-2.amazonaws.com/team/train:v1"
    if is_answer:
        assert ecr.find_digest(cloud, uri) is None
        return
    with pytest.raises(AwsError, match=f"{code}: why"):
        ecr.find_digest(cloud, uri)


# Each is looked at where it is called: in ec2, ecr, ecs, ecs_nodes and s3.
LOOKED_AT = {
    ("ec2", "delete_vpc_endpoints"),
    ("ecr", "batch_get_image"),
    ("ecs", "describe_capacity_providers"),
    ("ecs", "describe_clusters"),
    ("ecs", "describe_container_instances"),
    ("ecs", "describe_services"),
    ("ecs", "describe_tasks"),
    ("ecs", "run_task"),
    ("s3", "delete_objects"),
}


def test_every_call_whose_answer_lists_failures_is_known() -> None:
    session = botocore.session.get_session()
    found = set()
    for service, operation, model in called_operations(session):
        members = model.output_shape.members if model.output_shape else {}
        if set(LISTS_OF_FAILURES) & set(members):
            found.add((service, operation))
    assert found == LOOKED_AT


def test_an_ec2_fleet_counts_while_it_may_start_instances(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    for kind, state, launches in (
        ("maintain", "active", True),
        ("request", "submitted", True),
        ("maintain", "deleted", False),
        ("maintain", "deleted_terminating", False),
        ("instant", "active", False),
    ):
        fleets = {"Fleets": [{"FleetId": "fleet-1", "Type": kind, "FleetState": state}]}
        stub("ec2").add_response("describe_fleets", fleets, {"FleetIds": ["fleet-1"]})
        assert ec2.fleet_launches(cloud, "fleet-1") is launches
    stub("ec2").add_client_error("describe_fleets", "InvalidFleetId.NotFound")
    assert not ec2.fleet_launches(cloud, "fleet-1")


def test_what_the_tagging_api_lists_and_its_service_does_not_know_is_gone(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    rules = {"SecurityGroupRules": [{"SecurityGroupRuleId": "sgr-1"}]}
    stub("ec2").add_response("describe_security_group_rules", rules, {"SecurityGroupRuleIds": ["sgr-1"]})
    stub("ec2").add_client_error("describe_security_group_rules", "InvalidSecurityGroupRuleId.NotFound")
    assert [ec2.security_group_rule_exists(cloud, "sgr-1") for _ in range(2)] == [True, False]

    group = "arn:aws:resource-groups:us-east-2:1:group/g"
    stub("resource-groups").add_response(
        "get_group", {"Group": {"GroupArn": group, "Name": "gg"}}, {"Group": group}
    )
    stub("resource-groups").add_client_error("get_group", "NotFoundException")
    assert [resource_groups.exists(cloud, group) for _ in range(2)] == [True, False]

    instance = f"{AT}:container-instance/c/1"
    asked = {"cluster": "c", "containerInstances": [instance]}
    for status in ("ACTIVE", "DRAINING", "INACTIVE"):
        described = {"containerInstances": [{"containerInstanceArn": instance, "status": status}]}
        stub("ecs").add_response("describe_container_instances", described, asked)
    stub("ecs").add_client_error("describe_container_instances", "ClusterNotFoundException")
    assert [ecs_nodes.exists(cloud, instance) for _ in range(4)] == [True, True, False, False]
