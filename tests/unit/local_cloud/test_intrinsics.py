from __future__ import annotations

from typing import Any

import pytest

from scripts.local_cloud.cloudformation.intrinsics import NO_VALUE, Resolver
from scripts.local_cloud.cloudformation.template import TemplateError

TEMPLATE = {
    "Conditions": {
        "IsWest": {"Fn::Equals": [{"Ref": "AWS::Region"}, "us-west-2"]},
        "IsNot": {"Fn::Not": [{"Condition": "IsWest"}]},
        "Both": {"Fn::And": [{"Condition": "IsWest"}, {"Fn::Equals": [True, "true"]}]},
        "Either": {"Fn::Or": [{"Condition": "IsNot"}, {"Fn::Equals": ["a", "b"]}]},
    },
    "Mappings": {"Sizes": {"us-west-2": {"nodes": 4}}},
}
ATTRIBUTES = {("Bucket", None): "the-bucket", ("Bucket", "Arn"): "arn:bucket", ("Nested", "A.B"): "dotted"}


def resolver() -> Resolver:
    return Resolver(
        template=TEMPLATE,
        values={"AWS::Region": "us-west-2", "List": ["a", "b"], "Name": "x"},
        attribute=lambda logical_id, name: ATTRIBUTES[logical_id, name],
        imported=lambda name: f"imported-{name}",
        zones=lambda region: [f"{region}a", f"{region}b"],
        dynamic=lambda reference: f"<{reference}>",
    )


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("plain", "plain"),
        (5, 5),
        ({"Ref": "Bucket"}, "the-bucket"),
        ({"Ref": "List"}, ["a", "b"]),
        ({"Fn::GetAtt": ["Bucket", "Arn"]}, "arn:bucket"),
        ({"Fn::GetAtt": "Nested.A.B"}, "dotted"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Name"}, 1, True]]}, "a-x-1-true"),
        ({"Fn::Join": ["", {"Ref": "List"}]}, "ab"),
        (
            {"Fn::Sub": "${Name}/${Bucket}/${Bucket.Arn}/${!Literal}/${AWS::Region}"},
            "x/the-bucket/arn:bucket/${Literal}/us-west-2",
        ),
        ({"Fn::Sub": ["${V}-${Name}", {"V": {"Ref": "Bucket"}}]}, "the-bucket-x"),
        ({"Fn::Select": ["1", {"Fn::GetAZs": ""}]}, "us-west-2b"),
        ({"Fn::Split": [",", "a,b"]}, ["a", "b"]),
        ({"Fn::If": ["IsWest", "yes", "no"]}, "yes"),
        ({"Fn::If": ["Either", "yes", {"Ref": "AWS::NoValue"}]}, NO_VALUE),
        ({"a": {"Ref": "AWS::NoValue"}, "b": [{"Ref": "AWS::NoValue"}, 1]}, {"b": [1]}),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "AWS::Region"}, "nodes"]}, 4),
        ({"Fn::ImportValue": {"Fn::Sub": "${Name}-out"}}, "imported-x-out"),
        ({"Fn::Base64": "hi"}, "aGk="),
        ({"Fn::Cidr": ["10.0.0.0/16", 2, 8]}, ["10.0.0.0/24", "10.0.1.0/24"]),
        ({"Fn::ToJsonString": {"a": {"Ref": "Name"}}}, '{"a":"x"}'),
        ("key={{resolve:ssm:/a/b}}", "key=<ssm:/a/b>"),
        # One member that looks like a function is not a function when it has company.
        ({"Ref": "Name", "Other": 1}, {"Ref": "Name", "Other": 1}),
    ],
)
def test_values(node: Any, expected: Any) -> None:
    assert resolver().resolve(node) == expected


def test_conditions() -> None:
    evaluated = {name: resolver().condition(name) for name in TEMPLATE["Conditions"]}
    assert evaluated == {"IsWest": True, "IsNot": False, "Both": True, "Either": False}


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"Fn::Select": [5, ["a"]]}, "nonexistent value at index 5"),
        ({"Fn::FindInMap": ["Sizes", "eu-west-1", "nodes"]}, "Sizes::eu-west-1::nodes"),
        ({"Fn::Transform": {}}, "Fn::Transform is not emulated"),
        ({"Fn::If": ["Unknown", 1, 2]}, "Unresolved condition dependency Unknown"),
    ],
)
def test_what_cannot_be_resolved_says_so(node: Any, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        resolver().resolve(node)
