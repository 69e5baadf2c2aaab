from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import stack_changes
from scripts.aws.cloudformation import Stack
from scripts.stack_changes import StackChange, compare, difference
from tests.unit.scripts.fakes import a_cloud, a_stack

VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
OTHER_VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.1.0.0/16"}}
BUCKET = {"Type": "AWS::S3::Bucket"}


def template(**resources: Any) -> dict[str, Any]:
    return {"Resources": resources}


CASES = [
    (None, template(Vpc=VPC), StackChange("s", "create", added=("Vpc (AWS::EC2::VPC)",))),
    (template(Vpc=VPC), template(Vpc=VPC), StackChange("s", "none")),
    (
        template(Vpc=VPC, B=BUCKET),
        template(Vpc=OTHER_VPC, C=BUCKET),
        StackChange(
            "s", "update", ("C (AWS::S3::Bucket)",), ("Vpc (AWS::EC2::VPC)",), ("B (AWS::S3::Bucket)",)
        ),
    ),
    (template(Vpc=VPC), {**template(Vpc=VPC), "Outputs": {}}, StackChange("s", "update")),
]


@pytest.mark.parametrize(("old", "new", "expected"), CASES)
def test_what_would_change(old: dict[str, Any] | None, new: dict[str, Any], expected: StackChange) -> None:
    assert difference("s", old, new) == expected


@pytest.mark.parametrize(
    ("stack", "action"),
    [
        (None, "create"),
        *[
            (a_stack("s", status), "create")
            for status in ("REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE", "CREATE_FAILED", "DELETE_FAILED")
        ],
        (a_stack("s"), "none"),
        (a_stack("s", "UPDATE_ROLLBACK_COMPLETE"), "none"),
    ],
)
def test_what_a_deploy_deletes_first_is_made_anew(
    stack: Stack | None, action: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "s.template.json").write_text(json.dumps(template(Vpc=VPC)))
    monkeypatch.setattr(stack_changes.cloudformation, "find_stack", lambda *_: stack)
    monkeypatch.setattr(stack_changes.cloudformation, "template", lambda *_: template(Vpc=VPC))
    (change,) = compare(a_cloud(), ("s",), tmp_path)
    assert change.action == action


def test_the_words() -> None:
    change = StackChange("s", "update", ("A (T)",), ("B (T)",), ("C (T)",))
    assert change.text() == "s: update\n  + A (T)\n  ~ B (T)\n  - C (T)"
