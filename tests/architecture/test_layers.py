"""The structure that the design promises, held by tools."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import stacks.domain
from scripts.cli import VERBS

ROOT = Path(__file__).resolve().parents[2]


def test_import_contracts_hold() -> None:
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(' '.join(sys.modules))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import stacks", {"aws_cdk", "boto3", "pydantic", "stacks.domain"}),
        ("import scripts.cli", {"aws_cdk", "boto3", "pydantic", "rich", "jinja2"}),
        ("import scripts.loading", {"aws_cdk", "boto3", "jsii"}),
        ("import stacks.domain.plan_report, stacks.domain.render.engine", {"aws_cdk", "boto3", "jsii"}),
    ],
)
def test_what_an_import_must_not_load(code: str, absent: set[str]) -> None:
    assert modules_after(code) & absent == set()


def test_every_module_of_the_domain_is_in_its_map() -> None:
    documented = set(re.findall(r"\b[a-z_]+\b", stacks.domain.__doc__ or ""))
    directory = ROOT / "stacks" / "domain"
    modules = {p.stem for p in directory.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert modules - {"__init__"} - documented == set()


def test_every_verb_has_a_file_and_every_file_is_a_verb() -> None:
    files = {p.stem for p in (ROOT / "scripts" / "verbs").glob("*.py")} - {"__init__"}
    assert files == {verb.replace("-", "_") for verb in VERBS}


@pytest.mark.parametrize(
    "pattern",
    [r"\bos\.environ\b", r"\bgetenv\b", r"\bdatetime\.now\b", r"\btime\.time\b", r"\brandom\b", r"\buuid\b"],
)
def test_nothing_below_the_executor_reads_the_world(pattern: str) -> None:
    guilty = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "stacks").rglob("*.py")
        if "payload" not in path.parts and re.search(pattern, path.read_text(encoding="utf-8"))
    ]
    assert guilty == []


def test_what_runs_on_aws_imports_nothing_of_the_kit() -> None:
    pattern = re.compile(r"^\s*(from|import) (stacks|scripts|aws_cdk)\b", re.MULTILINE)
    payload = list((ROOT / "stacks" / "payload").rglob("*.py"))
    assert payload
    assert [p.name for p in payload if pattern.search(p.read_text(encoding="utf-8"))] == []


def test_of_what_runs_on_aws_only_lambda_handlers_import_boto3() -> None:
    """Lambda has it. The job images have Python, and not all of them boto3."""
    pattern = re.compile(r"^\s*(from|import) (boto3|botocore)\b", re.MULTILINE)
    payload = (ROOT / "stacks" / "payload").rglob("*.py")
    found = {p.name for p in payload if pattern.search(p.read_text(encoding="utf-8"))}
    assert found <= {"handler.py"}


def source_files() -> list[Path]:
    return [p for folder in ("stacks", "scripts") for p in (ROOT / folder).rglob("*.py")]


def test_no_module_is_longer_than_400_lines() -> None:
    assert {
        p.name: n for p in source_files() if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400
    } == {}


def test_no_module_is_a_grab_bag() -> None:
    assert [p.name for p in source_files() if re.search(r"utils?|helpers?|manager|common", p.stem)] == []
