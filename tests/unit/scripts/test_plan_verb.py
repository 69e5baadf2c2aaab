"""`neuronkit plan` with prices: whose win, what the budget is held against, and what is said of dates."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from scripts import cli, live_prices
from scripts.live_prices import LivePrices
from stacks.domain.prices import PriceKey, UnitPrice, service_key
from tests.environments import changed

OHIO_NODES = PriceKey("on-demand", "trn1.32xlarge")
Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `plan FILE OPTIONS --json` in this process."""

    def run(*options: str, changes: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        file = tmp_path / "pilot.yaml"
        file.write_text(changed(changes or {}), encoding="utf-8")
        code = cli.run(["plan", str(file), "--as-of", "2026-11-30", *options, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def price_file(directory: Path, *rows: str, discounts: str = "") -> str:
    path = directory / "prices.yaml"
    path.write_text("prices:\n" + "".join(f"  - {{{row}}}\n" for row in rows) + discounts, encoding="utf-8")
    return str(path)


def ids(document: dict[str, Any]) -> set[str]:
    return {finding["id"] for finding in document["findings"]}


CHEAP = (
    "instance_type: trn1.32xlarge, region: us-east-2, usd: 2, unit: hour, as_of: 2026-11-01, source: contract"
)


def test_the_budget_is_held_against_the_users_own_prices(plan: Run, tmp_path: Path) -> None:
    small = {"budget_usd": 5000}
    assert "NK270" in ids(plan(changes=small)[1])
    code, document = plan("--price-file", price_file(tmp_path, CHEAP), changes=small)
    assert code == 0
    assert "NK270" not in ids(document)
    assert document["cost"]["lines"][0]["unit_usd"] == 2
    assert document["cost"]["lines"][0]["source"].endswith("prices.yaml: contract")


def test_a_refused_price_file_stops_the_plan_with_its_place(plan: Run, tmp_path: Path) -> None:
    code, document = plan("--price-file", price_file(tmp_path, CHEAP.replace(", as_of: 2026-11-01", "")))
    assert code == 2
    (finding,) = document["findings"]
    assert (finding["id"], finding["line"]) == ("NK276", 2)
    assert finding["file"].endswith("prices.yaml")


def test_a_fee_of_a_capacity_that_the_file_has_not(plan: Run, tmp_path: Path) -> None:
    fee = "capacity: blok, region: us-east-2, usd: 9, unit: block, hours: 24, as_of: 2026-11-01, source: offering"
    code, document = plan("--price-file", price_file(tmp_path, fee))
    assert (code, ids(document)) == (2, {"NK278"})


def test_a_fee_counts_against_the_budget_even_when_no_node_runs(plan: Run, tmp_path: Path) -> None:
    block = {"capacity.hourly": {"kind": "capacity-block", "id": None}}
    assert "NK274" in ids(plan(changes=block)[1])
    fee = "capacity: hourly, region: us-east-2, usd: 200000, unit: block, hours: 24, as_of: 2026-11-01, source: offering"
    code, document = plan("--price-file", price_file(tmp_path, fee), changes=block)
    assert code == 2
    assert "NK271" in ids(document)


def test_old_prices_are_marked_at_the_given_day(plan: Run) -> None:
    document = plan()[1]
    assert document["cost"]["as_of"] == "2026-11-30"
    stale = [line["what"] for line in document["cost"]["lines"] if line["is_stale"]]
    assert "train: 2,048 GiB root volumes (gp3)" in stale
    assert "NK273" in ids(document)


@pytest.mark.parametrize(
    "text", ["nat=3", "s3-standard", "s3-standard=", "s3-standard=-1", "s3-standard=nan", "s3-standard=inf"]
)
def test_an_assumption_that_cannot_be_meant(text: str, plan: Run) -> None:
    code, document = plan("--assume", text)
    assert code == 2
    assert text in document["error"]


def test_assumptions_take_their_lines_out_of_the_unknown(plan: Run) -> None:
    unknown = plan("--assume", "s3-standard=0", "--assume", "logs-ingestion=3")[1]["cost"]["unknown"]
    assert unknown == ["data through the NAT gateway", "detailed monitoring of nodes (CloudWatch metrics)"]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> LivePrices:
    """What the Price List answers; the rest of AWS is not there."""
    live = LivePrices()
    monkeypatch.setattr(live_prices, "ask_prices", lambda *_: live)
    monkeypatch.setattr("scripts.live_facts.ask", _nobody)
    return live


def _nobody(*_: Any) -> Any:
    from scripts.live_facts import Asked, unanswered
    from stacks.domain.errors import WorldError

    error = WorldError("no credentials")
    return Asked(unanswered(error.message), error)


def test_live_prices_win_over_bundled_ones_and_the_budget_is_judged_again(
    plan: Run, answers: LivePrices
) -> None:
    answers.prices[OHIO_NODES] = UnitPrice(900.0, "instance-hour", "AWS price list", "2026-11-30")
    document = plan("--live")[1]
    assert document["cost"]["lines"][0]["usd_per_hour"] == 3600
    assert "NK270" in ids(document)


def test_an_answer_without_a_usable_price_takes_the_bundled_one_away(plan: Run, answers: LivePrices) -> None:
    answers.prices[OHIO_NODES] = UnitPrice(None, "instance-hour", "AWS price list: priced in CNY", None)
    document = plan("--live")[1]
    assert document["cost"]["usd_per_hour"] is None
    assert document["cost"]["lines"][0]["source"] == "AWS price list: priced in CNY"
    assert "NK274" in ids(document)


def test_what_could_not_be_asked_keeps_its_bundled_price_and_says_so(plan: Run, answers: LivePrices) -> None:
    answers.not_asked[service_key("nat-gateway")] = "not allowed: pricing:GetProducts in us-east-1"
    lines = {line["what"]: line for line in plan("--live")[1]["cost"]["lines"]}
    assert lines["NAT gateway"]["unit_usd"] == 0.045
    assert lines["NAT gateway"]["not_asked"] == "not allowed: pricing:GetProducts in us-east-1"


def test_the_users_prices_win_over_live_ones(plan: Run, answers: LivePrices, tmp_path: Path) -> None:
    answers.prices[OHIO_NODES] = UnitPrice(900.0, "instance-hour", "AWS price list", "2026-11-30")
    document = plan("--live", "--price-file", price_file(tmp_path, CHEAP))[1]
    assert document["cost"]["lines"][0]["unit_usd"] == 2


def test_today_is_the_day_when_none_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pilot.yaml"
    file.write_text(changed({}), encoding="utf-8")
    assert cli.run(["plan", str(file), "--json"]) == 0
    as_of = date.fromisoformat(json.loads(capsys.readouterr().out)["cost"]["as_of"])
    assert abs((as_of - date.today()).days) <= 1
