"""Commands in texts come out as they can be copied: with the options and the file of the present command."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.cli import run
from scripts.next_command import Spelling
from tests.environments import changed

HERE = Spelling(local=True, file=Path("my pilot.yaml"))
CASES = [
    ("run `neuronkit deploy` first", "run `neuronkit --local deploy 'my pilot.yaml'` first"),
    ("`neuronkit status FILE` lists", "`neuronkit --local status 'my pilot.yaml'` lists"),
    ("`neuronkit lock --update`", "`neuronkit --local lock 'my pilot.yaml' --update`"),
    ("`neuronkit logs FILE a-1 --follow`", "`neuronkit --local logs 'my pilot.yaml' a-1 --follow`"),
    ("`neuronkit image build`, then", "`neuronkit --local image build 'my pilot.yaml'`, then"),
    ("`neuronkit capacity buy FILE OFFERING… --max-fee USD`", "`neuronkit --local capacity buy 'my pilot.yaml' OFFERING… --max-fee USD`"),
    ("`neuronkit lock FILE.lock`", "`neuronkit --local lock 'my pilot.yaml'.lock`"),
    ("stop it: neuronkit status FILE --cancel a-1; or", "stop it: neuronkit --local status 'my pilot.yaml' --cancel a-1; or"),
    # Spelled already, or about nothing that has a world or a file.
    ("`neuronkit --local deploy other.yaml`", "`neuronkit --local deploy other.yaml`"),
    ("`neuronkit catalog` lists", "`neuronkit catalog` lists"),
    ("`neuronkit local status`", "`neuronkit local status`"),
    ("`neuronkit plan --help`", "`neuronkit --local plan --help`"),
    ("start it with `neuronkit launch`", "start it with `neuronkit --local launch`"),
    ("neuronkit: the deploy failed", "neuronkit: the deploy failed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "spelled"), CASES)
def test_commands_are_spelled_for_the_present_one(text: str, spelled: str) -> None:
    assert HERE.of(text) == spelled
    assert HERE.of(spelled) == spelled


def test_a_profile_is_kept_and_without_a_file_the_word_stays() -> None:
    text = "`neuronkit deploy FILE`"
    assert Spelling(profile="pilot").of(text) == "`neuronkit --profile pilot deploy FILE`"
    assert Spelling(file=Path("a.yaml")).of(text) == "`neuronkit deploy a.yaml`"


@pytest.mark.parametrize("as_json", [False, True])
def test_an_error_names_the_file_that_was_given(
    as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pilot.yaml"
    file.write_text(changed({}))
    (tmp_path / "pilot.yaml.lock").write_text("no lock")
    options = ["--json"] if as_json else []
    assert run([*options, "status", str(file), "--profile", "p"]) == 2
    said = capsys.readouterr()
    assert f"run `neuronkit --profile p lock {file}` again" in said.out + said.err
