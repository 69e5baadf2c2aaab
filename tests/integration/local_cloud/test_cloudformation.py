"""CloudFormation's own behaviour: strict, honest states and events, rollbacks, change sets, policies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]

Admin = Callable[..., Any]
TOPIC = {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "first"}}
GROUP = {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/kit/a", "RetentionInDays": 7}}


def body(**resources: Any) -> str:
    return json.dumps({"Resources": resources})


class Stacks:
    def __init__(self, session: boto3.Session) -> None:
        self.api = session.client("cloudformation")

    def create(self, name: str, text: str, **options: Any) -> dict[str, Any]:
        self.api.create_stack(StackName=name, TemplateBody=text, **options)
        return self.describe(name)

    def update(self, name: str, text: str, **options: Any) -> dict[str, Any]:
        self.api.update_stack(StackName=name, TemplateBody=text, **options)
        return self.describe(name)

    def describe(self, name: str) -> dict[str, Any]:
        stack: dict[str, Any] = self.api.describe_stacks(StackName=name)["Stacks"][0]
        return stack

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """(logical id, status, reason), oldest first."""
        events = self.api.describe_stack_events(StackName=name)["StackEvents"]
        return [
            (item["LogicalResourceId"], item["ResourceStatus"], item.get("ResourceStatusReason", ""))
            for item in reversed(events)
        ]

    def physical_id(self, name: str, logical_id: str) -> str:
        answer = self.api.describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return str(answer["StackResourceDetail"]["PhysicalResourceId"])

    def wait(self, name: str, status: str, seconds: float = 20) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while (stack := self.describe(name))["StackStatus"] != status:
            assert time.monotonic() < deadline, stack["StackStatus"]
            time.sleep(0.05)
        return stack


@pytest.fixture
def stacks(session: boto3.Session) -> Stacks:
    return Stacks(session)


# ---- strict


def test_a_type_that_is_not_emulated_fails_the_stack_and_says_so(stacks: Stacks) -> None:
    text = body(
        Topic=TOPIC, Cluster={"Type": "AWS::Neptune::DBCluster", "DependsOn": "Topic", "Properties": {}}
    )
    assert stacks.create("strict", text)["StackStatus"] == "ROLLBACK_COMPLETE"
    failed = [event for event in stacks.events("strict") if event[1] == "CREATE_FAILED"]
    assert failed == [
        ("Cluster", "CREATE_FAILED", "AWS::Neptune::DBCluster is not emulated by the local cloud")
    ]


def test_a_property_that_would_be_dropped_fails_the_stack(stacks: Stacks) -> None:
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"ArchivePolicy": {"MessageRetentionPeriod": "30"}}}
    assert stacks.create("strict", body(Topic=topic))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert any("ArchivePolicy is not emulated" in event[2] for event in stacks.events("strict"))


def test_a_nested_property_that_the_api_does_not_know_fails_the_stack(stacks: Stacks) -> None:
    data = {"InstanceType": "trn1.2xlarge", "MetadataOptions": {"HttpToken": "required"}}
    template = {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}}
    assert stacks.create("strict", body(Template=template))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert any("extraneous key [HttpToken]" in event[2] for event in stacks.events("strict"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Template format error"),
        ("[]", "unsupported structure"),
        (json.dumps({"Resources": {}}), "At least one Resources member"),
        (json.dumps({"Resources": {"A": TOPIC}, "Extra": 1}), "Invalid template property"),
        (
            body(A={"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Ref": "B"}}}),
            r"dependencies \[B\]",
        ),
        (body(A={**TOPIC, "DependsOn": "B"}, B={**TOPIC, "DependsOn": "A"}), "Circular dependency"),
        (
            json.dumps({"Resources": {"A": TOPIC}, "Parameters": {"P": {"Type": "String"}}}),
            r"\[P\] must have values",
        ),
    ],
)
def test_a_template_that_is_wrong_is_refused_at_once(stacks: Stacks, text: str, message: str) -> None:
    with pytest.raises(ClientError, match=message):
        stacks.create("wrong", text)
    with pytest.raises(ClientError, match="does not exist"):
        stacks.describe("wrong")


def test_iam_needs_its_capability(stacks: Stacks) -> None:
    role = {
        "Type": "AWS::IAM::Role",
        "Properties": {"RoleName": "r", "AssumeRolePolicyDocument": {"Statement": []}},
    }
    with pytest.raises(ClientError, match="CAPABILITY_NAMED_IAM"):
        stacks.create("iam", body(Role=role), Capabilities=["CAPABILITY_IAM"])


# ---- failure and rollback


def test_a_failed_create_rolls_back_in_reverse_and_names_the_resource(stacks: Stacks, admin: Admin) -> None:
    admin("POST", "faults", {"logical_id": "Last", "message": "no capacity today"})
    text = body(First=GROUP, Second={**TOPIC, "DependsOn": "First"}, Last={**TOPIC, "DependsOn": "Second"})
    stack = stacks.create("fails", text)
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    events = stacks.events("fails")
    assert ("Last", "CREATE_FAILED", "no capacity today") in events
    assert (
        "fails",
        "ROLLBACK_IN_PROGRESS",
        "The following resource(s) failed to create: [Last]. Rollback requested by user.",
    ) in events
    deleted = [event[0] for event in events if event[1] == "DELETE_COMPLETE"]
    assert deleted == ["Last", "Second", "First"]
    with pytest.raises(ClientError, match="ROLLBACK_COMPLETE state and can not be updated"):
        stacks.update("fails", text)


def test_an_error_of_the_service_reaches_the_events(stacks: Stacks, admin: Admin) -> None:
    fault = {
        "service": "logs",
        "action": "CreateLogGroup",
        "error_code": "LimitExceededException",
        "message": "too many",
    }
    admin("POST", "faults", fault)
    assert stacks.create("limited", body(Group=GROUP))["StackStatus"] == "ROLLBACK_COMPLETE"
    reasons = [event[2] for event in stacks.events("limited") if event[1] == "CREATE_FAILED"]
    assert len(reasons) == 1
    assert "too many" in reasons[0]
    assert "LimitExceededException" in reasons[0]


def test_without_rollback_the_stack_stays_as_it_failed(stacks: Stacks, admin: Admin) -> None:
    admin("POST", "faults", {"resource_type": "AWS::SNS::Topic"})
    text = body(First=GROUP, Last={**TOPIC, "DependsOn": "First"})
    assert stacks.create("stays", text, DisableRollback=True)["StackStatus"] == "CREATE_FAILED"
    assert stacks.physical_id("stays", "First") == "/kit/a"
    stacks.api.delete_stack(StackName="stays")
    with pytest.raises(ClientError, match="does not exist"):
        stacks.describe("stays")


def test_a_failed_update_is_rolled_back_to_what_was(
    stacks: Stacks, admin: Admin, session: boto3.Session
) -> None:
    stacks.create("updates", body(Topic=TOPIC, Group=GROUP))
    topic = stacks.physical_id("updates", "Topic")
    admin("POST", "faults", {"logical_id": "New"})
    changed = {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "second"}}
    renamed = {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/kit/b"}}
    text = body(Topic=changed, Group=renamed, New={**TOPIC, "DependsOn": ["Topic", "Group"]})
    assert stacks.update("updates", text)["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    attributes = session.client("sns").get_topic_attributes(TopicArn=topic)["Attributes"]
    assert attributes["DisplayName"] == "first"
    groups = session.client("logs").describe_log_groups()["logGroups"]
    assert [(group["logGroupName"], group.get("retentionInDays")) for group in groups] == [("/kit/a", 7)]
    assert json.loads(json.dumps(stacks.api.get_template(StackName="updates")["TemplateBody"])) == json.loads(
        body(Topic=TOPIC, Group=GROUP)
    )
    assert len(session.client("sns").list_topics()["Topics"]) == 1


def test_an_update_changes_in_place_replaces_adds_and_removes(stacks: Stacks, session: boto3.Session) -> None:
    stacks.create("moves", body(Topic=TOPIC, Group=GROUP, Old={"Type": "AWS::SNS::Topic"}))
    topic = stacks.physical_id("moves", "Topic")
    text = body(
        Topic={"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "second"}},
        Group={"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/kit/b"}},
        New={
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Name": "/n", "Type": "String", "Value": {"Ref": "Group"}},
        },
    )
    assert stacks.update("moves", text, Tags=[{"Key": "k", "Value": "v"}])["StackStatus"] == "UPDATE_COMPLETE"
    assert stacks.physical_id("moves", "Topic") == topic
    assert session.client("ssm").get_parameter(Name="/n")["Parameter"]["Value"] == "/kit/b"
    assert [item["logGroupName"] for item in session.client("logs").describe_log_groups()["logGroups"]] == [
        "/kit/b"
    ]
    assert len(session.client("sns").list_topics()["Topics"]) == 1
    tags = session.client("sns").list_tags_for_resource(ResourceArn=topic)["Tags"]
    assert {"Key": "k", "Value": "v"} in tags
    with pytest.raises(ClientError, match="No updates are to be performed"):
        stacks.update("moves", text)


def test_stack_tags_reach_the_resources_with_cloudformations_own(
    stacks: Stacks, session: boto3.Session
) -> None:
    stack = stacks.create(
        "tagged",
        body(Vpc={"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}),
        Tags=[{"Key": "kit", "Value": "x"}],
    )
    vpc = session.client("ec2").describe_vpcs(VpcIds=[stacks.physical_id("tagged", "Vpc")])["Vpcs"][0]
    assert {tag["Key"]: tag["Value"] for tag in vpc["Tags"]} == {
        "kit": "x",
        "aws:cloudformation:stack-name": "tagged",
        "aws:cloudformation:stack-id": stack["StackId"],
        "aws:cloudformation:logical-id": "Vpc",
    }
    found = session.client("resourcegroupstaggingapi").get_resources(
        TagFilters=[{"Key": "kit", "Values": ["x"]}]
    )
    arns = [item["ResourceARN"] for item in found["ResourceTagMappingList"]]
    assert {arn.split(":")[2] for arn in arns} == {"ec2", "cloudformation"}


# ---- deleting


def test_a_delete_that_fails_says_what_and_can_be_repeated(stacks: Stacks, session: boto3.Session) -> None:
    vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
    subnet = {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/24"}}
    group = {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {"VpcId": {"Ref": "Vpc"}, "GroupDescription": "g"},
    }
    stacks.create("network", body(Vpc=vpc, Subnet=subnet, Group=group))
    ec2 = session.client("ec2")
    eni = ec2.create_network_interface(
        SubnetId=stacks.physical_id("network", "Subnet"), Groups=[stacks.physical_id("network", "Group")]
    )["NetworkInterface"]["NetworkInterfaceId"]
    stacks.api.delete_stack(StackName="network")
    stack = stacks.describe("network")
    assert stack["StackStatus"] == "DELETE_FAILED"
    assert stack["StackStatusReason"].startswith("The following resource(s) failed to delete: [")
    failed = {event[0]: event[2] for event in stacks.events("network") if event[1] == "DELETE_FAILED"}
    assert set(failed) == {"Subnet", "Group", "network"}
    assert "DependencyViolation" in failed["Subnet"]
    ec2.delete_network_interface(NetworkInterfaceId=eni)
    stacks.api.delete_stack(StackName="network")
    gone = stacks.api.describe_stacks(StackName=stack["StackId"])["Stacks"][0]
    assert gone["StackStatus"] == "DELETE_COMPLETE"


def test_retained_resources_outlive_the_stack(stacks: Stacks, session: boto3.Session) -> None:
    stacks.create("keeps", body(Group={**GROUP, "DeletionPolicy": "Retain"}, Topic=TOPIC))
    stack_id = stacks.describe("keeps")["StackId"]
    stacks.api.delete_stack(StackName="keeps")
    assert ("Group", "DELETE_SKIPPED", "") in stacks.events(stack_id)
    assert len(session.client("logs").describe_log_groups()["logGroups"]) == 1
    assert session.client("sns").list_topics()["Topics"] == []


def test_a_bucket_with_objects_keeps_its_stack_alive(stacks: Stacks, session: boto3.Session) -> None:
    stacks.create("full", body(Bucket={"Type": "AWS::S3::Bucket"}))
    bucket = stacks.physical_id("full", "Bucket")
    session.client("s3").put_object(Bucket=bucket, Key="a", Body=b"1")
    stacks.api.delete_stack(StackName="full")
    assert stacks.describe("full")["StackStatus"] == "DELETE_FAILED"
    stacks.api.delete_stack(StackName="full", RetainResources=["Bucket"])
    with pytest.raises(ClientError, match="does not exist"):
        stacks.describe("full")
    assert session.client("s3").list_objects_v2(Bucket=bucket)["KeyCount"] == 1


def test_termination_protection_and_exports_in_use_prevent_a_delete(stacks: Stacks) -> None:
    exporting = {
        "Resources": {"Topic": TOPIC},
        "Outputs": {"T": {"Value": {"Ref": "Topic"}, "Export": {"Name": "the-topic"}}},
    }
    stacks.create("exports", json.dumps(exporting), EnableTerminationProtection=True)
    value = {"Fn::ImportValue": "the-topic"}
    importing = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Name": "/t", "Type": "String", "Value": value},
    }
    assert stacks.create("imports", body(Parameter=importing))["StackStatus"] == "CREATE_COMPLETE"
    assert stacks.api.list_imports(ExportName="the-topic")["Imports"] == ["imports"]
    with pytest.raises(ClientError, match="TerminationProtection is enabled"):
        stacks.api.delete_stack(StackName="exports")
    stacks.api.update_termination_protection(StackName="exports", EnableTerminationProtection=False)
    stacks.api.delete_stack(StackName="exports")
    assert "is in use by imports" in stacks.describe("exports")["StackStatusReason"]
    for name in ("imports", "exports"):
        stacks.api.delete_stack(StackName=name)
        with pytest.raises(ClientError, match="does not exist"):
            stacks.describe(name)


def test_a_create_that_hangs_can_be_deleted(stacks: Stacks, admin: Admin, session: boto3.Session) -> None:
    admin("POST", "settings", {"settle_seconds": 0.2})
    admin("POST", "faults", {"logical_id": "Second", "hang": True})
    stacks.create(
        "hangs",
        body(First=GROUP, Second={**TOPIC, "DependsOn": "First"}, Third={**TOPIC, "DependsOn": "Second"}),
    )
    stack = stacks.wait("hangs", "CREATE_IN_PROGRESS")
    with pytest.raises(ClientError, match="can not be updated"):
        stacks.update("hangs", body(First=GROUP))
    stacks.api.delete_stack(StackName="hangs")
    assert stacks.describe("hangs")["StackStatus"] == "DELETE_IN_PROGRESS"
    admin("DELETE", "faults")
    stacks.wait(stack["StackId"], "DELETE_COMPLETE")
    assert session.client("logs").describe_log_groups()["logGroups"] == []
    assert "Third" not in {event[0] for event in stacks.events(stack["StackId"])}


# ---- change sets


def test_a_change_set_says_what_it_would_do_and_does_it(stacks: Stacks) -> None:
    api = stacks.api
    api.create_change_set(
        StackName="set", ChangeSetName="one", ChangeSetType="CREATE", TemplateBody=body(Topic=TOPIC)
    )
    assert stacks.describe("set")["StackStatus"] == "REVIEW_IN_PROGRESS"
    described = api.describe_change_set(StackName="set", ChangeSetName="one")
    assert (described["Status"], described["ExecutionStatus"]) == ("CREATE_COMPLETE", "AVAILABLE")
    assert [item["ResourceChange"]["Action"] for item in described["Changes"]] == ["Add"]
    api.execute_change_set(StackName="set", ChangeSetName="one")
    assert stacks.describe("set")["StackStatus"] == "CREATE_COMPLETE"
    with pytest.raises(ClientError, match="already exists and cannot be created again"):
        api.create_change_set(
            StackName="set", ChangeSetName="two", ChangeSetType="CREATE", TemplateBody=body(Topic=TOPIC)
        )
    api.create_change_set(StackName="set", ChangeSetName="two", TemplateBody=body(Topic=TOPIC))
    described = api.describe_change_set(StackName="set", ChangeSetName="two")
    assert described["Status"] == "FAILED"
    assert "didn't contain changes" in described["StatusReason"]
    changed = {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "second"}}
    api.create_change_set(
        StackName="set", ChangeSetName="three", TemplateBody=body(Topic=changed, Group=GROUP)
    )
    changes = api.describe_change_set(StackName="set", ChangeSetName="three")["Changes"]
    assert {(c["ResourceChange"]["LogicalResourceId"], c["ResourceChange"]["Action"]) for c in changes} == {
        ("Topic", "Modify"),
        ("Group", "Add"),
    }
    api.delete_change_set(StackName="set", ChangeSetName="three")
    with pytest.raises(ClientError, match="ChangeSetNotFound"):
        api.execute_change_set(StackName="set", ChangeSetName="three")


def test_a_stack_that_was_only_reviewed_can_be_deleted(stacks: Stacks) -> None:
    stacks.api.create_change_set(
        StackName="seen", ChangeSetName="one", ChangeSetType="CREATE", TemplateBody=body(Topic=TOPIC)
    )
    stacks.api.delete_stack(StackName="seen")
    with pytest.raises(ClientError, match="does not exist"):
        stacks.describe("seen")


def test_templates_come_from_s3_as_the_cdk_sends_them(stacks: Stacks, session: boto3.Session) -> None:
    s3 = session.client("s3")
    s3.create_bucket(Bucket="templates-of-kit", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket="templates-of-kit", Key="a/t.json", Body=body(Topic=TOPIC).encode())
    for name, host in (("path", s3.meta.endpoint_url), ("aws", "https://s3.us-west-2.amazonaws.com")):
        stacks.api.create_stack(StackName=name, TemplateURL=f"{host}/templates-of-kit/a/t.json")
        assert stacks.describe(name)["StackStatus"] == "CREATE_COMPLETE"
    virtual = "https://templates-of-kit.s3.us-west-2.amazonaws.com/a/t.json"
    stacks.api.create_stack(StackName="virtual", TemplateURL=virtual)
    with pytest.raises(ClientError, match="S3 error"):
        stacks.api.create_stack(StackName="none", TemplateURL=virtual + "x")


# ---- planted states


@pytest.mark.parametrize(
    "status", ["REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE", "DELETE_FAILED", "CREATE_FAILED"]
)
def test_a_stack_can_be_found_in_any_state_and_then_deleted(
    stacks: Stacks, admin: Admin, account: str, status: str
) -> None:
    admin("POST", "stacks", {"account": account, "region": "us-west-2", "stack": "odd", "status": status})
    assert stacks.describe("odd")["StackStatus"] == status
    stacks.api.delete_stack(StackName="odd")
    with pytest.raises(ClientError, match="does not exist"):
        stacks.describe("odd")


def test_a_stack_in_progress_comes_to_its_end(stacks: Stacks, admin: Admin, account: str) -> None:
    planted = {"account": account, "region": "us-west-2", "stack": "busy", "status": "UPDATE_IN_PROGRESS"}
    admin("POST", "stacks", {**planted, "next_status": "UPDATE_COMPLETE", "after_seconds": 3})
    with pytest.raises(ClientError, match="cannot be deleted while in status UPDATE_IN_PROGRESS"):
        stacks.api.delete_stack(StackName="busy")
    stacks.wait("busy", "UPDATE_COMPLETE")


def test_a_deleted_stack_still_lists_what_it_had(stacks: Stacks) -> None:
    """As CloudFormation does for 90 days: how a teardown knows the ids of what is gone."""
    resources = {
        "Gone": {"Type": "AWS::Logs::LogGroup"},
        "Kept": {"Type": "AWS::Logs::LogGroup", "DeletionPolicy": "Retain"},
    }
    stack_id = stacks.api.create_stack(StackName="listed", TemplateBody=json.dumps({"Resources": resources}))[
        "StackId"
    ]
    stacks.wait("listed", "CREATE_COMPLETE")
    stacks.api.delete_stack(StackName="listed")
    stacks.wait(stack_id, "DELETE_COMPLETE")
    listed = stacks.api.list_stack_resources(StackName=stack_id)["StackResourceSummaries"]
    assert {item["LogicalResourceId"]: item["ResourceStatus"] for item in listed} == {
        "Gone": "DELETE_COMPLETE",
        "Kept": "DELETE_SKIPPED",
    }
    assert all(item["PhysicalResourceId"] for item in listed)
