"""What an update does to each resource, from two templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cfnlint
import pytest

from scripts.resource_changes import Change, resource_changes
from scripts.update_behaviour import CREATE_ONLY, CREATE_ONLY_AT_TIMES

SCHEMAS = Path(cfnlint.__file__).parent / "data" / "schemas"
GOLDEN_TEMPLATES = (
    Path(__file__).resolve().parents[2] / "golden" / "stacks" / "__snapshots__" / "test_templates"
)


def resource(type_name: str, **properties: Any) -> dict[str, Any]:
    return {"Type": type_name, "Properties": properties}


def changes(old: dict[str, Any], new: dict[str, Any]) -> dict[str, tuple[Change, tuple[str, ...], str]]:
    found = resource_changes({"Resources": old}, {"Resources": new})
    return {change.logical_id: (change.change, change.properties, change.because_of) for change in found}


VPC, OTHER_VPC = (
    resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/16"),
    resource("AWS::EC2::VPC", CidrBlock="10.1.0.0/16"),
)
SUBNET = resource("AWS::EC2::Subnet", VpcId={"Fn::GetAtt": ["Vpc", "VpcId"]}, CidrBlock="10.0.0.0/24")
NAT = resource("AWS::EC2::NatGateway", SubnetId={"Ref": "Subnet"})
BUCKET = resource("AWS::S3::Bucket")


def compute_environment(*, replace: bool | None, **resources: Any) -> dict[str, Any]:
    more = {} if replace is None else {"ReplaceComputeEnvironment": replace}
    return resource("AWS::Batch::ComputeEnvironment", Type="MANAGED", ComputeResources=resources, **more)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (VPC, VPC, None),
        (None, VPC, (Change.ADDED, (), "")),
        (VPC, None, (Change.REMOVED, (), "")),
        (VPC, OTHER_VPC, (Change.REPLACED, ("CidrBlock",), "")),
        (VPC, resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/16", EnableDnsSupport=True), (Change.IN_PLACE, ("EnableDnsSupport",), "")),
        (VPC, resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/16", InstanceTenancy="default"), (Change.MAYBE_REPLACED, ("InstanceTenancy",), "")),
        (VPC, {**VPC, "DeletionPolicy": "Retain"}, (Change.IN_PLACE, (), "")),
        (BUCKET, VPC, (Change.REPLACED, (), "")),
        (resource("AWS::X::Y", A=1), resource("AWS::X::Y", A=2), (Change.UNKNOWN, ("A",), "")),
        (
            compute_environment(replace=False, MaxvCpus=8, InstanceTypes=["a"]),
            compute_environment(replace=False, MaxvCpus=16, InstanceTypes=["b"]),
            (Change.IN_PLACE, ("ComputeResources/InstanceTypes", "ComputeResources/MaxvCpus"), ""),
        ),
        (
            compute_environment(replace=None, InstanceTypes=["a"]),
            compute_environment(replace=None, InstanceTypes=["b"]),
            (Change.MAYBE_REPLACED, ("ComputeResources/InstanceTypes",), ""),
        ),
        (
            compute_environment(replace=False, SpotIamFleetRole="a"),
            compute_environment(replace=False, SpotIamFleetRole="b"),
            (Change.REPLACED, ("ComputeResources/SpotIamFleetRole",), ""),
        ),
        (compute_environment(replace=None, MaxvCpus=8), resource("AWS::Batch::ComputeEnvironment", Type="MANAGED"),
         (Change.REPLACED, ("ComputeResources",), "")),
    ],
)  # fmt: skip
def test_one_resource(old: Any, new: Any, expected: Any) -> None:
    before = {} if old is None else {"R": old}
    after = {} if new is None else {"R": new}
    assert changes(before, after).get("R") == expected


def test_what_refers_to_a_replaced_resource_is_replaced_with_it() -> None:
    rest = {"Subnet": SUBNET, "Nat": NAT, "Bucket": BUCKET}
    assert changes({"Vpc": VPC, **rest}, {"Vpc": OTHER_VPC, **rest}) == {
        "Vpc": (Change.REPLACED, ("CidrBlock",), ""),
        "Subnet": (Change.REPLACED, (), "Vpc"),
        "Nat": (Change.REPLACED, (), "Subnet"),
    }


def test_a_reference_that_can_change_draws_nothing_along() -> None:
    queue = resource("AWS::Batch::JobQueue", ComputeEnvironmentOrder=[{"ComputeEnvironment": {"Ref": "Ce"}}])
    old = resource("AWS::Batch::ComputeEnvironment", Type="MANAGED")
    new = resource("AWS::Batch::ComputeEnvironment", Type="UNMANAGED")
    assert set(changes({"Ce": old, "Queue": queue}, {"Ce": new, "Queue": queue})) == {"Ce"}


def test_a_stack_that_is_not_there_or_not_planned() -> None:
    assert [c.change for c in resource_changes(None, {"Resources": {"A": VPC}})] == [Change.ADDED]
    assert [c.change for c in resource_changes({"Resources": {"A": VPC}}, None)] == [Change.REMOVED]


def schema(type_name: str) -> dict[str, Any]:
    index = json.loads((SCHEMAS / "providers" / "us-east-1.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = json.loads(
        (SCHEMAS / "resources" / f"{index[type_name]}.json").read_text(encoding="utf-8")
    )
    return found


@pytest.mark.parametrize("type_name", sorted(CREATE_ONLY))
def test_the_table_is_what_the_types_schemas_say(type_name: str) -> None:
    found = schema(type_name)
    for key, table in (
        ("createOnlyProperties", CREATE_ONLY),
        ("conditionalCreateOnlyProperties", CREATE_ONLY_AT_TIMES),
    ):
        paths = {path.removeprefix("/properties/") for path in found.get(key) or ()}
        assert table.get(type_name, frozenset()) == paths


def test_every_type_of_the_stacks_is_in_the_table() -> None:
    types = {
        body["Type"]
        for file in GOLDEN_TEMPLATES.glob("test_template*.json")
        for body in json.loads(file.read_text(encoding="utf-8"))["Resources"].values()
    }
    assert types
    assert types <= set(CREATE_ONLY)
