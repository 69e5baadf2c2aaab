from __future__ import annotations

from typing import Any

import pytest

from scripts.stack_changes import StackChange, difference

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


def test_the_words() -> None:
    change = StackChange("s", "update", ("A (T)",), ("B (T)",), ("C (T)",))
    assert change.text() == "s: update\n  + A (T)\n  ~ B (T)\n  - C (T)"
