"""The command line as a contract: exit codes, what goes to which stream, and that no user sees a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from scripts import cli
from stacks.domain.render.starters import STARTERS
from tests.environments import BASE, changed

NEURONKIT = Path(sys.executable).with_name("neuronkit")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.yaml"
    file.write_text(changed({}))
    return file


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    file = tmp_path / "bad.yaml"
    file.write_text(changed({"clusters.train.nodes": "four", "region": "nowhere"}))
    return file


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("starter", STARTERS)
def test_a_starter_passes_check_and_plan_as_it_is(
    starter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.yaml"
    assert cli.run(["init", "my-pilot", "--from", starter, "-o", str(file)]) == 0
    assert output(capsys, "check", str(file))[0] == 0
    code, out, _ = output(capsys, "plan", str(file), "--json")
    assert code == 0
    assert json.loads(out)["environment"] == "my-pilot"


def test_a_starter_names_its_schema_and_the_schema_accepts_it(tmp_path: Path) -> None:
    from ruamel.yaml import YAML

    file = tmp_path / "a.yaml"
    cli.run(["init", "my-pilot", "-o", str(file)])
    first = file.read_text().splitlines()[0]
    schema = json.loads((tmp_path / first.partition("$schema=")[2]).read_text())
    jsonschema.validate(YAML(typ="safe").load(file.read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**BASE, "unknown": 1}, schema)


def test_check_of_a_good_file(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = output(capsys, "check", str(good))
    assert (code, out) == (0, f"{good}: 0 errors, 0 warnings\n")
    assert "not checked: quotas" in err


def test_check_of_a_bad_file(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = output(capsys, "check", str(bad))
    assert (code, out) == (2, f"{bad}: 2 errors, 0 warnings\n")
    assert "[NK103]" in err
    assert "[NK201]" in err


def test_check_as_json_is_one_document(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = output(capsys, "--json", "check", str(bad))
    document = json.loads(out)
    assert (code, err) == (2, "")
    assert set(document) == {"findings", "suppressed", "not_checked"}
    assert set(document["findings"][0]) == {
        "id", "severity", "file", "line", "column", "path", "given", "allowed", "message", "fix", "source",
    }  # fmt: skip


NEED_NO_MORE_THAN_A_NAME = ("destroy", "leftovers")
"""And a region: what is wrong elsewhere in the file does not stop them."""


@pytest.mark.parametrize(
    ("verb", "what"),
    [
        (verb, what)
        for verb in (
            "plan",
            "render",
            "synth",
            "lock",
            "bootstrap",
            "deploy",
            "status",
            *NEED_NO_MORE_THAN_A_NAME,
        )
        for what in ("bad", "nameless", "missing", "directory", "empty")
        if (verb, what) not in [(verb, "bad") for verb in NEED_NO_MORE_THAN_A_NAME]
    ],
)
def test_every_verb_says_what_is_wrong_with_its_file(
    verb: str, what: str, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.yaml").touch()
    nameless = tmp_path / "nameless.yaml"
    nameless.write_text(re.sub(r"(?m)^name:.*$", "name: No", bad.read_text()))
    file = {
        "bad": bad,
        "nameless": nameless,
        "missing": tmp_path / "no.yaml",
        "directory": tmp_path,
        "empty": tmp_path / "empty.yaml",
    }[what]
    arguments = [verb, str(file), *(["-o", str(tmp_path / "out")] if verb in ("render", "synth") else [])]
    code, out, err = output(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "[NK" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "order", [["--json", "check", "F"], ["check", "--json", "F"], ["check", "F", "--json"]]
)
def test_global_options_may_stand_anywhere(
    order: list[str], good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = output(capsys, *[str(good) if word == "F" else word for word in order])
    assert json.loads(out)["findings"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chek"], "No such command"),
        (["check"], "Missing argument"),
        (["init", "Bad Name"], "3 to 30 of a-z"),
        (["init"], "needs a NAME"),
        (["init", "pilot", "--from", "trn2-pilott"], "did you mean 'trn2-pilot'?"),
        (["catalog", "inf2.4xlarge"], "inf2.8xlarge"),
    ],
)
def test_wrong_words_on_the_command_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = output(capsys, *arguments)
    assert code == 2
    assert words in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["chek"], ["check"], [], ["plan", "F", "--nope"], ["init"], ["init", "Bad Name"], ["catalog", "inf2.4xlarge"],
        ["check", "F", "--profile"], ["--profile=", "check", "F"], ["plan", "no.yaml"], ["render", "F"],
    ],
)  # fmt: skip
def test_with_json_every_refusal_is_one_document(
    arguments: list[str], good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = output(capsys, *[str(good) if word == "F" else word for word in arguments], "--json")
    assert (code, err) == (2, "")
    assert json.loads(out)["error"]


@pytest.mark.parametrize(
    "order",
    [["check", "F", "--profile"], ["--profile", "--json", "check", "F"], ["check", "--profile=", "F"]],
)
def test_a_profile_without_a_name_is_refused(
    order: list[str], good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = output(capsys, *[str(good) if word == "F" else word for word in order])
    assert code == 2
    assert "--profile needs the NAME" in out + err


@pytest.mark.parametrize("name", ["cdk", "check", "--json", "we ird\nname é.yaml"])
def test_a_file_may_have_any_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(changed({"account": None}))
    code, _, err = output(capsys, "--profile", "cdk", "check", "--", name)
    assert code == 0
    assert sum("[NK264]" in line for line in err.splitlines()) == 1


def test_the_profile_of_the_cdk_verb_is_not_taken_for_the_verb() -> None:
    arguments = ["--profile", "p", "cdk", "diff", "--json"]
    assert cli._global_options_first(arguments) == ([], arguments)


def run_in_shell(redirected: str, file: Path, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        f"{NEURONKIT} {redirected}",
        shell=True, env={"PATH": "/usr/bin:/bin", "FILE": str(file), **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("redirected", "code"),
    [
        ('plan "$FILE" >&-', 0),
        ('plan "$FILE" >&- 2>&-', 0),
        ("check nowhere.yaml >&- 2>&-", 2),
        ('plan "$FILE" >/dev/full', 3),
        ('check "$FILE" 2>/dev/full', 3),
        ('--json plan "$FILE" >/dev/full 2>/dev/full', 3),
    ],
)
def test_output_that_nobody_takes_is_no_bug(redirected: str, code: int, good: Path) -> None:
    returned, said = run_in_shell(redirected, good)
    assert returned == code
    assert "Traceback" not in said
    assert "Exception ignored" not in said


def test_a_reader_that_has_seen_enough_is_no_error(good: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [NEURONKIT, "plan", str(good)], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_a_terminal_that_knows_only_ascii_gets_escapes(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(changed({"region": "ñandú"}), encoding="utf-8")
    code, said = run_in_shell('check "$FILE"', file, PYTHONIOENCODING="ascii:strict")
    assert code == 2
    assert "\\xf1and\\xfa" in said


def test_init_leaves_an_existing_file_alone(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = good.read_bytes()
    assert output(capsys, "init", "pilot", "-o", str(good))[0] == 2
    assert good.read_bytes() == before


def test_a_bug_of_ours_ends_with_1_and_asks_for_a_report(tmp_path: Path) -> None:
    code = "import scripts.cli as c, sys; c.run = lambda a: 1 / 0; c.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "please report it" in done.stderr


def test_help_lists_every_verb() -> None:
    done = subprocess.run([NEURONKIT, "--help"], capture_output=True, text=True, check=True)
    assert all(f"  {verb} " in done.stdout for verb in cli.VERBS)


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--help"] if verb == "cdk" else [verb, "--help"]
    code, out, _ = output(capsys, *arguments)
    assert code == 0
    assert len(out) > 100


@pytest.mark.parametrize(("code", "noise"), [(130, ""), (3, "noise\n")])
def test_after_an_interruption_nothing_complains_at_the_end(code: int, noise: str) -> None:
    """As the CDK's Python side does, whose Node was interrupted as well."""
    program = (
        "import atexit, sys\n"
        "from scripts import cli\n"
        "atexit.register(lambda: print('noise', file=sys.stderr))\n"
        f"cli.run = lambda arguments: {code}\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, noise)
