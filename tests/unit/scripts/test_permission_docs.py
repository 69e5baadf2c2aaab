"""docs/permissions.md names what the code calls, no more, in names that IAM knows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import cfnlint
import pytest

from scripts.aws.translation import iam_action
from scripts.permission_docs import DOCUMENT, POLICIES, permissions_document
from scripts.permission_needs import ALL, LAUNCH
from scripts.permission_policies import BOUNDS, Bound, policy
from tests.unit.aws.operations import called_operations

NEEDS = [need for one in ALL for need in one.needs]
# Of a managed policy, without white space (IAM and AWS STS quotas).
POLICY_CHARACTERS_MAX = 6144
WHAT_IAM_KNOWS = Path(cfnlint.__file__).parent / "data" / "AdditionalSpecs" / "Policies.json"


@cache
def iam() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(WHAT_IAM_KNOWS.read_text(encoding="utf-8"))
    return known


@cache
def called() -> frozenset[str]:
    session = botocore.session.get_session()
    return frozenset(iam_action(service, model.name) for service, _, model in called_operations(session))


def test_the_file_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == permissions_document(), "run `make docs`"


def test_every_call_is_in_a_row_and_every_row_is_a_call() -> None:
    named = {action for need in NEEDS for action in need.actions.split()}
    assert {"missing": called() - named, "in no code": named - called()} == {
        "missing": set(),
        "in no code": set(),
    }


def test_calls_are_found_in_tables_and_behind_constants() -> None:
    assert {
        "ec2:TerminateInstances",
        "pcs:DeleteQueue",
        "s3:ListBucket",
        "elasticfilesystem:DeleteMountTarget",
    } <= called()


def test_what_aws_wants_besides_is_said() -> None:
    implied = {action for need in NEEDS for action in need.implied.split()}
    assert {
        "iam:PassRole",
        "batch:TagResource",
        "ec2:CreateTags",
        "s3:DeleteObject",
        "sts:AssumeRole",
    } <= implied
    assert "iam:PassRole" in {action for need in LAUNCH.needs for action in need.every_action}


def test_iam_knows_every_action() -> None:
    known = iam()
    actions = {action for need in NEEDS for action in need.every_action}
    assert {a for a in actions if a.split(":")[1].lower() not in known[a.split(":")[0]]["Actions"]} == set()


BOUND = [(bound, action) for bound in BOUNDS for action in sorted(bound.actions)]


@pytest.mark.parametrize(("bound", "action"), BOUND, ids=lambda value: getattr(value, "sid", value))
def test_an_action_is_bound_to_what_iam_can_bind_it_to(bound: Bound, action: str) -> None:
    service, name = action.split(":")
    known = iam()[service]
    kinds = {kind.lower(): entry for kind, entry in known["Resources"].items()}
    wanted = [kinds[kind.lower()] for kind in known["Actions"][name.lower()]["Resources"]]
    if bound.resources != ("*",):
        services = {resource.split(":")[2] for resource in bound.resources}
        wanted = [
            kind for kind in wanted if any(f":{s}:" in arn for arn in kind["ARNFormats"] for s in services)
        ]
    assert wanted
    if bound.is_tagged:
        assert all("aws:ResourceTag/${TagKey}" in kind.get("ConditionKeys", ()) for kind in wanted)


def test_the_policies_allow_every_action_and_no_other() -> None:
    for _, commands in POLICIES:
        allowed = {action for one in policy(commands)["Statement"] for action in one["Action"]}
        assert allowed == {a for one in commands for need in one.needs for a in need.every_action}
    assert {one for _, commands in POLICIES for one in commands} == set(ALL)


def test_what_is_bound_is_nowhere_free() -> None:
    bound = {action for one in BOUNDS for action in one.actions}
    for _, commands in POLICIES:
        for one in policy(commands)["Statement"]:
            assert not (one["Sid"] in ("Read", "Write") and bound & set(one["Action"]))
    assert bound <= {action for need in NEEDS for action in need.every_action}


def test_a_policy_fits_and_its_statements_have_names_of_their_own() -> None:
    for _, commands in POLICIES:
        document = policy(commands)
        assert len(json.dumps(document, separators=(",", ":"))) <= POLICY_CHARACTERS_MAX
        names = [one["Sid"] for one in document["Statement"]]
        assert len(names) == len(set(names))
