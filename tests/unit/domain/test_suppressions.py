"""What a file accepts: warnings and errors of judgement, where it says so, with a reason; nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import cli
from stacks.domain.catalog import load_catalog
from stacks.domain.findings import Finding, FindingsError, Severity, accepted, has_errors, not_accepted
from stacks.domain.rules import ALL_RULES, run_rules
from tests.environments import changed, loaded
from tests.unit.domain import test_live_rules
from tests.unit.domain.model_cases import BLOCK, accepts

FORCED = {
    "NK206",
    "NK207",
    "NK215",
    "NK236",
    "NK244",
    "NK250",
    "NK251",
    "NK271",
    "NK280",
    "NK288",
    "NK378",
    "NK628",
    "NK631",
    "NK636",
    "NK648",
    "NK719",
    "NK744",
    "NK750",
    "NK762",
    "NK789",
}


def found(changes: dict[str, Any], directory: Path) -> tuple[Finding, ...]:
    return run_rules(loaded(changed(changes), directory), load_catalog())


def test_an_accepted_warning_is_set_apart_with_its_reason(tmp_path: Path) -> None:
    findings = found({**BLOCK, **accepts(("NK219", None), reason="we tried one node")}, tmp_path)
    assert [(f.id, f.accepted_because) for f in accepted(findings)] == [("NK219", "we tried one node")]
    assert "NK219" not in {f.id for f in not_accepted(findings)}


@pytest.mark.parametrize(
    ("path", "is_accepted"),
    [
        ("clusters.train.capacity", True),
        ("clusters.train", True),
        ("clusters", True),
        ("clusters.train.cap", False),
        ("clusters.tra", False),
        ("clusters.train.capacity.id", False),
        ("jobs", False),
    ],
)
def test_a_path_covers_itself_and_what_is_below(path: str, is_accepted: bool, tmp_path: Path) -> None:
    findings = found({**BLOCK, **accepts(("NK219", path))}, tmp_path)
    assert ("NK219" in {f.id for f in accepted(findings)}) is is_accepted


def test_a_path_covers_the_items_of_a_list(tmp_path: Path) -> None:
    changes = {
        "jobs.smoke.command": ["train", "--password", "hunter2"],
        **accepts(("NK250", "jobs.smoke.command")),
    }
    assert not has_errors(found(changes, tmp_path))


def test_an_accepted_error_of_judgement_lets_the_plan_be_made(tmp_path: Path) -> None:
    """trn2.48xlarge is not in the captured offerings of us-east-1; the account may know better."""
    elsewhere = {
        "region": "us-east-1",
        "network.zone_id": "use1-az6",
        "clusters.train.instance_type": "trn2.48xlarge",
        "budget_usd": 1,
    }
    assert has_errors(found(elsewhere, tmp_path))
    findings = found({**elsewhere, **accepts(("NK206", None))}, tmp_path)
    assert [f.id for f in not_accepted(findings) if f.severity is Severity.ERROR] == [
        "NK271"
    ]  # from the plan


@pytest.mark.parametrize("rule_id", ["NK303", "NK330", "NK301"])
def test_what_aws_answers_is_accepted_likewise_unless_it_is_a_no(rule_id: str, tmp_path: Path) -> None:
    (changes, answers), _ = test_live_rules.TABLE[rule_id][0][0]
    found_live = test_live_rules.findings(({**changes, **accepts((rule_id, None))}, answers), tmp_path)
    is_warning = rule_id != "NK301"
    assert {f.id for f in accepted(found_live)} == ({rule_id} if is_warning else set())
    assert has_errors(f for f in found_live if f.id == rule_id) is not is_warning


def test_what_would_be_refused_anyway_stays_an_error(tmp_path: Path) -> None:
    findings = found({"capacity.hourly.kind": "spot", **accepts(("NK214", None))}, tmp_path)
    errors = [f for f in not_accepted(findings) if f.severity is Severity.ERROR]
    assert {f.id for f in errors} == {"NK214", "NK297"}


def test_the_errors_that_can_be_forced_are_those_that_were_decided() -> None:
    assert {rule.id for rule in ALL_RULES if rule.can_be_forced} == FORCED
    assert all(rule.severity is Severity.ERROR for rule in ALL_RULES if rule.can_be_forced)


def test_the_nearest_id_is_offered(tmp_path: Path) -> None:
    fix = next(f.fix for f in found(accepts(("NK289", None)), tmp_path) if f.id == "NK296")
    assert fix.startswith("did you mean NK288 (root volume")


def test_an_error_message_counts_only_what_counts(tmp_path: Path) -> None:
    findings = found({"capacity.hourly.kind": "spot", "jobs.smoke.environment": {"HF_TOKEN": "x"}, **accepts(("NK250", None))}, tmp_path)  # fmt: skip
    assert str(FindingsError(findings)).startswith("1 error")


def test_check_says_how_many_and_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pilot.yaml"
    file.write_text(changed({**BLOCK, **accepts(("NK219", None))}), encoding="utf-8")
    assert cli.run(["check", str(file)]) == 0
    shown = capsys.readouterr()
    assert shown.out.rstrip().endswith("1 suppressed")
    assert "[NK219]" not in shown.err
    cli.run(["--json", "check", str(file)])
    document = json.loads(capsys.readouterr().out)
    assert document["suppressed"] == [
        {"id": "NK219", "path": "clusters.train.capacity", "reason": "looked at by the team"}
    ]
    assert "NK219" not in {f["id"] for f in document["findings"]}
