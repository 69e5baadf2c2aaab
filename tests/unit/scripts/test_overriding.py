"""`neuronkit override`: whose word it is, what it may be, and what is written."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scripts import cli, overriding
from scripts.overriding import find_controlled, override, parse_until
from stacks.domain.errors import InputError, WorldError
from stacks.domain.plan import Plan
from tests.environments import changed, plan_of
from tests.unit.domain.shift_cases import day

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
GPU = {"instance_type": "g6.12xlarge", "capacity": "hourly"}


def both() -> Plan:
    """A shift `day`, and a fleet `chat` with a fallback."""
    changes = day()
    changes["fleets.chat"]["fallback"] = GPU
    return plan_of(changes)


def named_alike() -> Plan:
    changes = day()
    changes["fleets.chat"]["fallback"] = GPU
    changes["shifts.chat"] = changes.pop("shifts.day")
    return plan_of(changes)


@pytest.mark.parametrize(
    ("name", "mode", "expected"),
    [
        ("day", "serve", "/neuronkit/pilot/shifts/day"),
        ("shifts.day", "auto", "/neuronkit/pilot/shifts/day"),
        ("chat", "gpu", "/neuronkit/pilot/fleets/chat/fallback"),
        ("fleets.chat", "auto", "/neuronkit/pilot/fleets/chat/fallback"),
    ],
)
def test_a_name_finds_its_parameter(name: str, mode: str, expected: str) -> None:
    assert find_controlled(both(), name, mode).parameter == expected


@pytest.mark.parametrize(("mode", "path"), [("gpu", "fleets.chat"), ("train", "shifts.chat")])
def test_a_mode_tells_namesakes_apart(mode: str, path: str) -> None:
    assert find_controlled(named_alike(), "chat", mode).path == path


@pytest.mark.parametrize(
    ("plan", "name", "mode", "words"),
    [
        (both, "dya", "serve", "neither"),
        (both, "day", "gpu", "no mode of shifts.day"),
        (both, "chat", "train", "no mode of fleets.chat"),
        (named_alike, "chat", "auto", "a fleet and a shift"),
        (lambda: plan_of(day()), "chat", "gpu", "neither"),
        (plan_of, "day", "serve", "neither a fleet"),
    ],
)
def test_what_cannot_be_meant_is_refused(plan: Any, name: str, mode: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        find_controlled(plan(), name, mode)
    assert raised.value.hint


def test_an_end_is_written_in_utc() -> None:
    assert parse_until("2026-12-01T18:00+01:00", NOW) == "2026-12-01T17:00:00+00:00"
    assert parse_until(None, NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow",
        "",
        "2026-12-01T18:00",
        "2026-12-01T12:00:00Z",
        "2020-01-01T00:00Z",
        "2026-W53",
        "1e9",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59",
        "0001-01-01T00:00",
    ],
)
def test_an_end_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_until(text, NOW)


class Parameters:
    """Systems Manager's, in memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
        self.values = {f"/neuronkit/pilot/shifts/{name}": value for name, value in values.items()}
        monkeypatch.setattr(overriding.ssm, "find_parameter", lambda _cloud, name: self.values.get(name))
        monkeypatch.setattr(
            overriding.ssm, "write_parameter", lambda _cloud, name, value: self.values.update({name: value})
        )


def test_what_was_is_shown_and_what_is_meant_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = Parameters(monkeypatch, day='{"mode": "serve", "until": null, "reason": "launch day"}')
    controlled = find_controlled(both(), "day", "train")
    done = override(None, controlled, "train", None, "a deadline")  # type: ignore[arg-type]
    assert json.loads(parameters.values[controlled.parameter]) == {
        "mode": "train", "until": None, "reason": "a deadline",
    }  # fmt: skip
    assert "was serve (launch day); now train (a deadline)" in done.text()


def test_what_is_not_deployed_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = Parameters(monkeypatch)
    with pytest.raises(WorldError, match="not deployed"):
        override(None, find_controlled(both(), "day", "train"), "train", None, "")  # type: ignore[arg-type]
    assert parameters.values == {}


def test_what_was_unreadable_is_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    Parameters(monkeypatch, day="?")
    done = override(None, find_controlled(both(), "day", "auto"), "auto", None, "")  # type: ignore[arg-type]
    assert done.before is None
    assert "was unreadable; now auto" in done.text()


@pytest.mark.parametrize(
    "arguments", [("day", "gpu"), ("nobody", "auto"), ("day", "serve", "--until", "noon"), ("day", "auto", "--until", "2099-01-01T00:00Z"), ("day", "later")]
)  # fmt: skip
def test_the_verb_refuses_before_it_asks_aws(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pilot.yaml"
    file.write_text(changed(day()), encoding="utf-8")
    assert cli.run(["override", str(file), *arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)


def timetable_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str, changes: Any
) -> tuple[int, str]:
    file = tmp_path / "pilot.yaml"
    file.write_text(changed(changes), encoding="utf-8")
    code = cli.run(["plan", str(file), "--as-of", "2026-11-30", *options])
    return code, capsys.readouterr().out


def test_plan_prints_a_timetable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = timetable_of(tmp_path, capsys, "--timetable", "2026-W50", "--json", changes=day())
    assert code == 0
    (table,) = json.loads(text)["timetable"]
    assert (table["shift"], table["week"], table["switches"], len(table["events"])) == (
        "day",
        "2026-W50",
        10,
        20,
    )
    _, text = timetable_of(tmp_path, capsys, "--timetable", "2026-W50", changes=day())
    assert text.startswith(
        "shift    day: chat serves in windows, train trains outside; 2026-W50 in Europe/Berlin"
    )
    assert "20 steps in this week; by 10 of them" in text
    assert not {line.split(" ", 1)[0] for line in text.splitlines()} & {"cluster", "cost", "quota"}, (
        "the week alone"
    )


@pytest.mark.parametrize(("week", "changes"), [("2026-W54", day()), ("next", day()), ("2026-W50", {})])
def test_plan_refuses_a_week_that_is_none_and_a_file_without_shifts(
    week: str, changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert timetable_of(tmp_path, capsys, "--timetable", week, changes=changes)[0] == 2
