"""What goes wrong ends every process within seconds, with one line that says what, and never a traceback."""

import signal
import time

import pytest

from tests.integration.smoke.job import SHORT

ENDLESS = (*SHORT, "--steps", "100000", "--checkpoint-every", "100000")
SOON_SECONDS = 10


def assert_one_line(text: str) -> None:
    assert text.count("\n") == 1, text
    assert text.startswith("train.py: ")


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_the_death_of_one_ends_all(job, rank):
    attempt = job.start(4, *ENDLESS)
    attempt.wait_for("step 3/")
    attempt.signal(signal.SIGKILL, rank)
    codes = attempt.wait(SOON_SECONDS)
    others = [other for other in range(4) if other != rank]
    assert codes[rank] == -signal.SIGKILL
    assert [codes[other] for other in others] == [3, 3, 3]
    for other in others:
        assert_one_line(attempt.errors(other))
        assert f"rank {rank} at 127.0.0." in attempt.errors(other)
        assert "ended or was cut off" in attempt.errors(other)


def test_the_silence_of_one_ends_all(job):
    attempt = job.start(3, *ENDLESS, "--peer-seconds", "3")
    attempt.wait_for("step 3/")
    attempt.signal(signal.SIGSTOP, 2)
    assert [process.wait(SOON_SECONDS) for process in attempt.processes[:2]] == [3, 3]
    for other in (0, 1):
        assert_one_line(attempt.errors(other))
        assert "rank 2 at 127.0.0.1 sent nothing for 3 s" in attempt.errors(other)


@pytest.mark.parametrize("ranks", [(0,), (2,), (0, 1, 2)], ids=str)
def test_sigterm_saves_the_step_and_ends_all(job, ranks):
    attempt = job.start(3, *ENDLESS)
    attempt.wait_for("step 3/")
    attempt.signal(signal.SIGTERM, *ranks)
    assert attempt.wait(SOON_SECONDS) == [143, 143, 143]
    last_step = max(job.losses())
    assert job.checkpoints() == [f"step-{last_step:06d}"]
    for rank in range(3):
        assert_one_line(attempt.errors(rank))
        assert f"stopped by SIGTERM after step {last_step}, which is saved" in attempt.errors(rank)


def test_a_run_stopped_by_sigterm_goes_on_exactly(job, uninterrupted):
    attempt = job.start(2, *SHORT, "--step-seconds", "0.5")
    attempt.wait_for("step 5/")
    attempt.signal(signal.SIGTERM, 1)
    assert attempt.wait(SOON_SECONDS) == [143, 143]
    job.finish(2, *SHORT)
    assert job.losses() == uninterrupted(2)


def test_sigterm_cuts_a_long_step_short(job):
    attempt = job.start(1, *ENDLESS, "--step-seconds", "20")
    attempt.wait_for("training ")
    time.sleep(0.3)
    attempt.signal(signal.SIGTERM, 0)
    assert attempt.wait(SOON_SECONDS) == [143]


def test_sigterm_while_waiting_for_the_others(job):
    attempt = job.start(2, *SHORT, ranks=range(1))
    attempt.wait_for_meeting()
    attempt.signal(signal.SIGTERM, 0)
    assert attempt.wait(SOON_SECONDS) == [143]
    assert_one_line(attempt.errors())


@pytest.mark.parametrize(
    ("variables", "options", "named"),
    [
        ({"MAIN_ADDRESS": ""}, (), "NEURONKIT_MAIN_ADDRESS is missing"),
        ({"NODE_RANK": "two"}, (), "NEURONKIT_NODE_RANK is 'two'"),
        ({"DATA": "/no/such/text"}, (), "cannot read the text /no/such/text"),
        ({"MAIN_ADDRESS": "192.0.2.1"}, (), "rank 0 cannot listen on 192.0.2.1"),
        ({"MAIN_ADDRESS": "no.such.host.invalid"}, (), "rank 0 cannot listen on no.such.host.invalid"),
        ({}, ("--steps", "none"), "'none' is not a whole number"),
        ({}, ("--batch-size", "1"), "less than one window for each"),
    ],
    ids=str,
)
def test_wrong_input_is_one_line(job, variables, options, named):
    attempt = job.start(2, *SHORT, *options, ranks=range(1), **variables)
    assert attempt.wait(SOON_SECONDS) == [2]
    assert_one_line(attempt.errors())
    assert named in attempt.errors()


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"CHECKPOINT_DIR": "/dev/null/checkpoints"}, "cannot use the checkpoint directory"),
        ({"METRICS_FILE": "/dev/null/metrics.jsonl"}, "cannot write the metrics file"),
        ({"RESUME_STEP": "9"}, "cannot resume from step 9"),
    ],
    ids=str,
)
def test_what_rank_0_cannot_do_ends_all(job, variables, named):
    attempt = job.start(2, *SHORT, **variables)
    assert attempt.wait(SOON_SECONDS) == [2, 3]
    for rank in (0, 1):
        assert_one_line(attempt.errors(rank))
        assert named in attempt.errors(rank)


def test_a_checkpoint_that_cannot_be_written_fails_the_run(job):
    attempt = job.start(2, *SHORT, "--step-seconds", "0.5")
    attempt.wait_for("step 1/")
    job.checkpoint_dir.rmdir()
    job.checkpoint_dir.write_text("in the way")
    assert attempt.wait(SOON_SECONDS) == [5, 3]
    assert_one_line(attempt.errors())
    assert "cannot write the checkpoint" in attempt.errors()
    assert "cannot write the checkpoint" in attempt.errors(1)
