"""What other people's rules say: cdk-nag's AwsSolutions pack, the CDK's own validation, and cfn-lint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stacks.assembly import build_app
from tests.synthesized import PLAN_NAMES, assembly_directory, plans

if TYPE_CHECKING:
    from cfnlint.match import Match

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]


@pytest.mark.parametrize("plan", PLAN_NAMES)
def test_cdk_nag_finds_nothing_that_is_not_acknowledged_with_a_reason(plan: str, tmp_path: Path) -> None:
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks

    app = build_app(plans()[plan], tmp_path)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


def test_cdk_nag_would_find_something(tmp_path: Path) -> None:
    import aws_cdk as cdk
    from aws_cdk import aws_s3 as s3
    from cdk_nag import AwsSolutionsChecks

    app = build_app(plans()["trn1-first-hour"], tmp_path)
    stack = app.node.find_child("pilot-storage")
    s3.CfnBucket(stack, "Open")
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()


@pytest.mark.parametrize(
    "plan",
    [
        "trn1-everything",
        "slurm-everything",
        "slurm-ultraservers",
        "slurm-unresolved",
        "fleet-fallback",
        "fleet-slices",
        "fleet-public",
        "fleet-managed",
        "fleet-unresolved",
    ],
)
def test_the_cdks_own_validation_finds_nothing(plan: str, tmp_path: Path) -> None:
    build_app(plans()[plan], tmp_path, validate=True).synth()


def test_cfn_lint_finds_nothing() -> None:
    from cfnlint.api import ManualArgs, lint_by_config

    templates = [
        str(path) for plan in PLAN_NAMES for path in assembly_directory(plan).glob("*.template.json")
    ]
    found = lint_by_config(ManualArgs(templates=templates, regions=["us-east-2"]))
    assert [
        f"{match.filename}: {match.rule.id} {match.message}"
        for match in found
        if not _is_unlisted_type(match) and not _repeats_an_import(match)
    ] == []


def _is_unlisted_type(match: Match) -> bool:
    """cfn-lint has a list of instance types of its own, and the UltraServers' is in no region of it."""
    return match.rule.id == "E3628" and match.message.startswith("'trn2u.48xlarge' is not one of")


def _repeats_an_import(match: Match) -> bool:
    """The subnet of the network's stack, among all that `deploy` needs to run a fleet's compile task."""
    return match.rule.id == "W6001" and list(match.path[:2]) == ["Outputs", "CompileSubnetId"]
