"""Compares what a template says with what boto3 describes: the check that a deployed stack is really there.

`differences(template, stack_name, session)` answers in words; an empty list means that every resource of the stack can
be described and has the template's properties. `remains(resources, session)` lists what outlived a deleted stack.
The readers go through the public API only, so they would work on AWS as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3

from tests.integration.local_cloud.describe_pcs import PCS_READERS
from tests.integration.local_cloud.describe_readers import READERS as OTHER_READERS
from tests.integration.local_cloud.describe_readers import GoneError
from tests.integration.local_cloud.describe_serving import SERVING_READERS

# What no API describes: it says how CloudFormation is to act, or exists only inside the template.
_NOT_DESCRIBED = {
    "AWS::Batch::ComputeEnvironment": {"ReplaceComputeEnvironment"},
    "AWS::ECR::Repository": {"EmptyOnDelete"},
    "AWS::KMS::Key": {"PendingWindowInDays"},
    "AWS::Lambda::Function": {"Code"},
    "AWS::S3::Bucket": {"AccessControl"},
}
READERS = {**OTHER_READERS, **PCS_READERS, **SERVING_READERS}
_WITHOUT_COUNTERPART = {"AWS::CDK::Metadata"}


@dataclass(frozen=True)
class StackResource:
    logical_id: str
    physical_id: str
    type: str


@dataclass(frozen=True)
class Pattern:
    """A text of which some parts are only known to the deployed resources."""

    expression: str

    def matches(self, value: Any) -> bool:
        return re.fullmatch(self.expression, str(value), re.DOTALL) is not None


ANYTHING = Pattern(".+")


def stack_resources(stack_name: str, session: boto3.Session) -> list[StackResource]:
    pages = (
        session.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack_name)
    )
    return [
        StackResource(item["LogicalResourceId"], item["PhysicalResourceId"], item["ResourceType"])
        for page in pages
        for item in page["StackResourceSummaries"]
        if item["ResourceType"] not in _WITHOUT_COUNTERPART
    ]


def differences(template: Mapping[str, Any], stack_name: str, session: boto3.Session) -> list[str]:
    resources = stack_resources(stack_name, session)
    expectation = _Expectation(template, resources, stack_name, session)
    found = [
        f"{name} is in the template, not in the stack"
        for name, definition in template["Resources"].items()
        if definition["Type"] not in _WITHOUT_COUNTERPART
        and name not in {item.logical_id for item in resources}
        if "Condition" not in definition
    ]
    for resource in resources:
        expected = expectation.properties(resource.logical_id)
        for name in _NOT_DESCRIBED.get(resource.type, ()):
            expected.pop(name, None)
        try:
            actual = READERS[resource.type](session, resource.physical_id, expected)
        except GoneError:
            found.append(
                f"{resource.logical_id} ({resource.type} {resource.physical_id}) cannot be described"
            )
            continue
        found += [f"{resource.logical_id}: {text}" for text in _compare(expected, actual, resource.type)]
    return found


def remains(resources: list[StackResource], session: boto3.Session) -> list[str]:
    """The resources (as `stack_resources` listed them before) that can still be described."""
    found = []
    for resource in resources:
        try:
            READERS[resource.type](session, resource.physical_id, {})
        except GoneError:
            continue
        found.append(f"{resource.logical_id} ({resource.type} {resource.physical_id})")
    return found


class _Expectation:
    def __init__(
        self,
        template: Mapping[str, Any],
        resources: list[StackResource],
        stack_name: str,
        session: boto3.Session,
    ) -> None:
        self._template = template
        stack = session.client("cloudformation").describe_stacks(StackName=stack_name)["Stacks"][0]
        account = session.client("sts").get_caller_identity()["Account"]
        self._refs: dict[str, Any] = {
            "AWS::AccountId": account,
            "AWS::Partition": "aws",
            "AWS::Region": session.region_name,
            "AWS::StackName": stack_name,
            "AWS::StackId": stack["StackId"],
            "AWS::URLSuffix": "amazonaws.com",
            **{item["ParameterKey"]: item["ParameterValue"] for item in stack.get("Parameters", ())},
            **{item.logical_id: item.physical_id for item in resources},
        }

    def properties(self, logical_id: str) -> dict[str, Any]:
        resolved = self._resolve(self._template["Resources"][logical_id].get("Properties", {}))
        assert isinstance(resolved, dict)
        return resolved

    def _resolve(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._resolve(item) for item in node]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            key, argument = next(iter(node.items()))
            if key == "Ref":
                return self._refs.get(argument, ANYTHING)
            if key == "Fn::Join":
                return self._joined(argument[0], self._resolve(argument[1]))
            if key == "Fn::Sub" and isinstance(argument, str):
                return self._substituted(argument)
            if key.startswith("Fn::"):
                return ANYTHING
        return {key: self._resolve(value) for key, value in node.items()}

    def _substituted(self, text: str) -> Any:
        pieces = re.split(r"\$\{([^}]+)\}", text)
        values = [
            self._refs.get(piece, ANYTHING) if number % 2 else piece for number, piece in enumerate(pieces)
        ]
        return self._joined("", values)

    def _joined(self, separator: str, values: Any) -> Any:
        if not isinstance(values, list):
            return ANYTHING
        if not any(isinstance(value, Pattern) for value in values):
            return separator.join(str(value) for value in values)
        pieces = [
            value.expression if isinstance(value, Pattern) else re.escape(str(value)) for value in values
        ]
        return Pattern(re.escape(separator).join(pieces))


def _compare(expected: Any, actual: Any, path: str) -> list[str]:
    if isinstance(expected, Pattern):
        text = json.dumps(actual) if isinstance(actual, (dict, list)) else actual
        return [] if expected.matches(text) else [f"{path}: {expected.expression} expected, {text!r} found"]
    if isinstance(expected, Mapping):
        return _compare_mapping(expected, actual, path)
    if isinstance(expected, list):
        return _compare_list(expected, actual, path)
    if isinstance(actual, list) and len(actual) == 1:
        # A policy's single action or resource may be written with or without a list.
        actual = actual[0]
    same = _plain(expected) == _plain(actual)
    return [] if same else [f"{path}: {expected!r} expected, {actual!r} found"]


def _compare_mapping(expected: Mapping[str, Any], actual: Any, path: str) -> list[str]:
    if not isinstance(actual, Mapping):
        return [f"{path}: {expected!r} expected, {actual!r} found"]
    by_name = {str(name).lower(): value for name, value in actual.items()}
    found = []
    for name, value in expected.items():
        if name.lower() not in by_name:
            found.append(f"{path}.{name}: {value!r} expected, nothing found")
        else:
            found += _compare(value, by_name[name.lower()], f"{path}.{name}")
    return found


def _compare_list(expected: list[Any], actual: Any, path: str) -> list[str]:
    """Order does not count; every expected item needs a counterpart of its own. Tags may be joined by others."""
    if not isinstance(actual, list):
        return [f"{path}: {expected!r} expected, {actual!r} found"]
    rest = list(actual)
    found = []
    for item in expected:
        match = next((other for other in rest if not _compare(item, other, path)), None)
        if match is None:
            found.append(f"{path}: no counterpart of {item!r} in {actual!r}")
        else:
            rest.remove(match)
    more_allowed = path.endswith((".Tags", ".AccessPointTags", ".FileSystemTags", ".TagSpecifications"))
    if rest and not found and not more_allowed:
        found.append(f"{path}: {rest!r} found beyond what is expected")
    return found


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
