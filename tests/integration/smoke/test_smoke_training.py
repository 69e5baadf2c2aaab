"""It trains, says what it does in lines that programs read, and gives the same losses however many share the work."""

import re
import subprocess
import sys

import pytest

from tests.integration.smoke.job import SHORT, TRAIN

STEP_LINE = re.compile(r"^step (\d+)/60 loss (\d+\.\d{4}) tokens (\d+) (\d+\.\d{3})s$", re.MULTILINE)


def test_four_processes_learn_the_text(job):
    attempt = job.finish(4, "--backend", "numpy")
    losses = job.losses()
    assert list(losses) == list(range(1, 61))
    assert losses[1] > 5
    assert sum(losses[step] for step in range(56, 61)) / 5 < 2.8
    assert job.checkpoints() == ["step-000020", "step-000040", "step-000060"]
    shown = [(int(step), loss) for step, loss, _, _ in STEP_LINE.findall(attempt.output())]
    assert shown == [(step, f"{loss:.4f}") for step, loss in losses.items()]


def test_metrics_lines(job):
    attempt = job.finish(2, *SHORT)
    for record in job.metrics():
        assert list(record) == ["step", "loss", "tokens", "seconds", "backend", "device", "processes"]
        assert record["tokens"] == 96
        assert 0 < record["seconds"] < 10
        assert (record["backend"], record["device"], record["processes"]) == ("numpy", "cpu", 2)
    assert "step " not in attempt.output(rank=1)
    assert "no accelerator is used" in attempt.output()


def test_the_number_of_processes_changes_no_more_than_the_last_digits(uninterrupted):
    alone = uninterrupted(1)
    for processes in (2, 3, 4):
        assert uninterrupted(processes) == pytest.approx(alone, rel=1e-4)


def test_the_seed_decides(job, new_job, uninterrupted):
    job.finish(1, *SHORT)
    assert job.losses() == uninterrupted(1)
    other = new_job("other")
    other.finish(1, *SHORT, "--seed", "4")
    assert other.losses() != job.losses()


def test_alone_it_needs_no_variables(tmp_path):
    done = subprocess.run(
        [sys.executable, str(TRAIN), "--backend", "numpy", "--steps", "2"],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "smoke-run" / "metrics.jsonl").read_text().splitlines()) == 2
    assert [path.name for path in (tmp_path / "smoke-run" / "checkpoints").iterdir()] == ["step-000002"]


def test_a_text_of_ones_own(job, tmp_path):
    text = tmp_path / "abc.txt"
    text.write_text("abc" * 200)
    job.finish(1, *SHORT, "--steps", "60", DATA=str(text))
    assert job.losses()[60] < 0.05


def test_steps_last_as_long_as_asked(job):
    job.finish(2, *SHORT, "--steps", "3", "--step-seconds", "0.2")
    assert all(0.2 <= record["seconds"] < 5 for record in job.metrics())
