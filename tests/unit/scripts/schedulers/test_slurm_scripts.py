"""The texts for the login node: clean bash, nothing of a user's word runs, and no growth with the number of nodes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts.schedulers import slurm_scripts
from scripts.schedulers.slurm_scripts import REFUSED, UNREACHABLE, Place
from tests.unit.scripts.schedulers.fake_slurm import FakeSlurm

PLACE = Place("train", "neuronkit:pilot", "/shared/neuronkit/pilot/runs")
DIRECTORY = f"{PLACE.runs_directory}/smoke/smoke-1"
TEXTS = {
    "look": slurm_scripts.look_script(PLACE),
    "submit": slurm_scripts.submit_script(
        PLACE, "smoke-1", DIRECTORY, "#!/bin/bash\n", ("--job-name=smoke-1",), ("smoke-1", "s3://b/c", "20")
    ),
    "cancel": slurm_scripts.cancel_script(DIRECTORY, "7"),
    "watch": slurm_scripts.watch_script(DIRECTORY, "7", {"job.log": 5, "attempt-1/node-0.log": 9}, None),
}
# Options of sbatch, squeue, sinfo and scancel in their manuals of 22.05 and of 25.11.
KNOWN_OPTIONS = {"--parsable", "--test-only", "--job-name", "--comment", "-h", "-a", "-t", "-p", "-n", "-o", "-j", "-N"}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_shellcheck_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.sh"
    file.write_text("#!/usr/bin/env bash\n" + TEXTS[name])
    shellcheck = Path(sys.executable).with_name("shellcheck")
    found = subprocess.run([shellcheck, file], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("name", TEXTS)
def test_only_options_that_old_and_new_slurm_know(name: str) -> None:
    commands = re.findall(r"\b(?:sbatch|squeue|sinfo|scancel) [^|;)\n]*", TEXTS[name])
    used = {
        word.split("=")[0] for text in commands for word in text.split() if re.match(r"-{1,2}[a-zA-Z]", word)
    }
    assert used <= KNOWN_OPTIONS
    assert commands


HOSTILE = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1, max_size=20).map(
    lambda text: f"x{text}"
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(HOSTILE, max_size=3), name=HOSTILE)
def test_no_word_of_a_user_is_run(
    words: list[str], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Run, also with quotes, $(…), ; and blanks in every place that a user can reach: it arrives as one word."""
    fake = FakeSlurm(tmp_path_factory.mktemp("slurm") / "fake")
    sbatch = fake.directory / "bin" / "sbatch"
    sbatch.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$(dirname "$0")/../words"\necho 7\n')
    directory = fake.directory / "run $(touch pwned) 'x'"
    text = slurm_scripts.submit_script(
        PLACE, name, str(directory), "x", (f"--job-name={name}",), tuple(words)
    )
    answer = fake.run(text)
    assert (answer.exit_code, answer.text) == (0, "submitted 7\n")
    said = (fake.directory / "words").read_text().split("\n")[:-1]
    assert said == ["--parsable", f"--job-name={name}", "--comment=neuronkit:pilot", "job.sbatch", *words]
    assert [path.name for path in fake.directory.rglob("pwned")] == []


def test_a_submission_is_small(tmp_path: Path) -> None:
    """SSM takes it in one command; nothing in it counts nodes."""
    script = "#!/bin/bash\n" + "\n".join(f"say 'line {number} of a script'" for number in range(300))
    text = slurm_scripts.submit_script(PLACE, "smoke-1", DIRECTORY, script, (), ("smoke-1",))
    assert len(text) < 6000


def test_watching_many_nodes_sends_only_what_was_read() -> None:
    offsets = {f"attempt-1/node-{index}.log": 1 for index in range(64)}
    assert len(slurm_scripts.watch_script(DIRECTORY, "7", offsets, None)) < 4000


def submission(fake: FakeSlurm) -> str:
    directory = str(fake.directory / "runs" / "smoke" / "smoke-1")
    return slurm_scripts.submit_script(
        PLACE, "smoke-1", directory, "x", ("--job-name=smoke-1",), ("smoke-1",)
    )


def program(fake: FakeSlurm, name: str, text: str) -> None:
    path = fake.directory / "bin" / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", UNREACHABLE),
        ("sbatch: error: Unable to contact slurm controller (connect failure)", UNREACHABLE),
        ("sbatch: error: Batch job submission failed: Invalid account", REFUSED),
    ],
)
def test_an_answer_of_sbatch_that_was_lost_is_no_refusal_and_a_repeat_finds_the_job(
    tmp_path: Path, words: str, code: int
) -> None:
    fake = FakeSlurm(tmp_path / "fake")
    real = (fake.directory / "bin" / "sbatch").rename(fake.directory / "bin" / "sbatch-that-answers")
    program(
        fake,
        "sbatch",
        f'"{real}" "$@" || exit; [[ $* == *--test-only* ]] && exit; echo "{words}" >&2; exit 1',
    )
    answer = fake.run(submission(fake))
    assert (answer.exit_code, answer.stderr.strip()) == (code, words)
    assert fake.run(submission(fake)).text == "found 1\n"


def test_an_id_is_not_taken_where_the_other_runs_ids_cannot_be_read(tmp_path: Path) -> None:
    fake = FakeSlurm(tmp_path / "fake")
    assert fake.run(submission(fake)).text == "submitted 1\n"
    (fake.directory / "runs" / "smoke" / "smoke-1" / "job-id").unlink()
    program(fake, "grep", "exit 2")
    assert fake.run(submission(fake)).exit_code == UNREACHABLE
    (fake.directory / "bin" / "grep").unlink()
    assert fake.run(submission(fake)).text == "found 1\n"
