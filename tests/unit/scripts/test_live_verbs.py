"""`check --live` and `plan --live`: exit codes, what is printed, and what AWS is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripts import cli, live_facts, live_prices
from scripts.live_facts import Asked
from scripts.live_prices import LivePrices
from stacks.domain.errors import InputError, WorldError
from stacks.domain.live import CouldNotAsk, LiveFacts, QuotaLimit, RunningNodes, unanswered
from tests.environments import changed
from tests.live_answers import block as a_block
from tests.live_answers import in_order

TRN = "L-2C3B7624"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pilot.yaml"
    path.write_text(changed({}))
    return path


def world(monkeypatch: pytest.MonkeyPatch, error: Any = None, **answers: Any) -> list[str]:
    """AWS answers like this; the list notes each time it is asked."""
    asked: list[str] = []

    def ask(console: Any, environment: Any, plan: Any) -> Asked:
        asked.append(plan.name)
        facts = unanswered(error.message) if error else replace(in_order(plan), **answers)
        return Asked(facts, error)

    monkeypatch.setattr(live_facts, "ask", ask)
    monkeypatch.setattr(live_prices, "ask_prices", lambda console, plan, today: LivePrices())
    return asked


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def short(vcpus: int = 12) -> dict[str, Any]:
    return {"quota_limits": {TRN: QuotaLimit(vcpus, False)}}


VERBS = ("check", "plan")
BLOCK = {
    "capacity.block": {"kind": "capacity-block", "id": "cr-0123456789abcdef0"},
    "clusters.train.capacity": "block",
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("budget", "code", "id_"), [(30_000, 0, None), (1_000, 3, "NK271")])
def test_what_a_block_has_cost_counts_against_the_budget(
    verb: str, budget: int, code: int, id_: str | None, file: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    bought = replace(a_block(), tags=(("neuronkit:fee-usd", "24617.78"),))
    world(monkeypatch, reservations={bought.id: bought})
    file.write_text(changed({**BLOCK, "budget_usd": budget}))
    done, out, _ = output(capsys, "--json", verb, str(file), "--live")
    document = json.loads(out)
    money = {f["id"]: f for f in document["findings"] if f["id"] in ("NK271", "NK274")}
    assert (done, list(money)) == (code, [id_] if id_ else [])
    if verb == "plan":
        assert document["cost"]["usd_upfront"] == 24617.78


@pytest.mark.parametrize("verb", VERBS)
def test_without_live_nobody_is_asked(
    verb: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = world(monkeypatch)
    code, out, _ = output(capsys, "--json", verb, str(file))
    assert (code, asked) == (0, [])
    assert {n["id"] for n in json.loads(out)["not_checked"]} >= {"NK302", "NK310", "NK340", "NK360"}


@pytest.mark.parametrize("verb", VERBS)
def test_an_account_in_order_is_0(
    verb: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = world(monkeypatch)
    code, out, _ = output(capsys, "--json", verb, str(file), "--live")
    assert (code, asked) == (0, ["pilot"])
    document = json.loads(out)
    # The plan looks at the age of its prices, too.
    assert {finding["id"] for finding in document["findings"]} <= {"NK273"}
    assert document["not_checked"] == []


@pytest.mark.parametrize("verb", VERBS)
def test_the_worlds_no_is_3_and_all_of_it_is_said(
    verb: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world(monkeypatch, **short(), bootstrap_version=None)
    code, out, err = output(capsys, verb, str(file), "--live")
    assert code == 3
    assert "[NK310]" in err
    assert "[NK361]" in err
    assert out


def test_a_warning_of_the_world_is_0(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world(monkeypatch, service_roles={"AWSServiceRoleForBatch": False})
    code, out, err = output(capsys, "check", str(file), "--live")
    assert (code, out) == (0, f"{file}: 0 errors, 0 warnings\n")
    assert "info: " in err
    assert "[NK362]" in err


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_file_is_2_and_aws_is_not_asked(
    verb: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = world(monkeypatch, **short())
    file.write_text(changed({"region": "nowhere"}))
    assert output(capsys, verb, str(file), "--live")[0] == 2
    assert asked == []


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("error", "exit_code"),
    [(WorldError("no AWS credentials were found"), 3), (InputError("no profile x"), 2)],
)
def test_who_cannot_be_asked_at_all_is_never_fine(
    verb: str,
    error: Any,
    exit_code: int,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world(monkeypatch, error)
    code, out, _ = output(capsys, "--json", verb, str(file), "--live")
    assert code == exit_code
    skipped = json.loads(out)["not_checked"]
    assert skipped
    assert all(error.message in item["why"] for item in skipped)


def quotas(file: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, list[dict[str, Any]]]:
    code, out, _ = output(capsys, "--json", "plan", str(file), *more)
    return code, json.loads(out)["quotas"]


NAME = "Running On-Demand Trn instances"
OUTCOMES = [
    (short(640), {"limit_vcpus": 640, "used_vcpus": 0, "state": "enough", "short_by": None, "why": ""}, 0),
    (short(12), {"limit_vcpus": 12, "used_vcpus": 0, "state": "short", "short_by": 500, "why": ""}, 3),
    (
        {**short(640), "running": (RunningNodes("trn1.32xlarge", 3, False, None),)},
        {"limit_vcpus": 640, "used_vcpus": 384, "state": "short", "short_by": 256, "why": ""},
        3,
    ),
    (
        {"quota_limits": {TRN: CouldNotAsk("not allowed: servicequotas:GetServiceQuota")}},
        {"limit_vcpus": None, "used_vcpus": 0, "state": "not checked", "short_by": None, "why": "not allowed: servicequotas:GetServiceQuota"},
        0,
    ),
    (
        {**short(640), "running": CouldNotAsk("not allowed: ec2:DescribeInstances")},
        {"limit_vcpus": 640, "used_vcpus": None, "state": "not checked", "short_by": None, "why": "present use: not allowed: ec2:DescribeInstances"},
        0,
    ),
    (
        {**short(12), "running": CouldNotAsk("not allowed: ec2:DescribeInstances")},
        {"limit_vcpus": 12, "used_vcpus": None, "state": "short", "short_by": 500, "why": ""},
        3,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "expected", "exit_code"), OUTCOMES)
def test_a_quota_is_enough_or_short_by_so_much_or_not_checked_and_why(
    answers: dict[str, Any],
    expected: dict[str, Any],
    exit_code: int,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world(monkeypatch, **answers)
    code, found = quotas(file, capsys, "--live")
    assert (code, found) == (exit_code, [{"code": TRN, "name": NAME, "needed_vcpus": 512, **expected}])
    text = output(capsys, "plan", str(file), "--live")[1]
    assert f"quota    {TRN} ({NAME}): 512 vCPUs needed" in text
    assert (f"short by {expected['short_by']}" if exit_code else expected["why"] or "enough") in text


def test_without_live_a_quota_is_not_checked(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (found,) = quotas(file, capsys)
    assert (code, found["state"], found["limit_vcpus"]) == (0, "not checked", None)
    assert found["why"] == LiveFacts().otherwise.why
