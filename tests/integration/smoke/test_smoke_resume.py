"""A run that was stopped and goes on gives the losses of one that never stopped: not close, the same."""

import shutil

import pytest

from tests.integration.smoke.job import SHORT, free_port


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_failed_run_goes_on_exactly(job, uninterrupted, processes):
    failed = job.start(processes, *SHORT, "--fail-at-step", "7", "--fail-rank", str(processes - 1))
    codes = failed.wait()
    assert codes == [3] * (processes - 1) + [17]
    assert list(job.losses()) == [1, 2, 3, 4, 5, 6]
    assert job.checkpoints() == ["step-000004"]

    resumed = job.finish(processes, *SHORT)
    assert "resuming from the checkpoint of step 4" in resumed.output()
    assert "step 4/12" not in resumed.output()
    assert "step 5/12" in resumed.output()
    assert job.losses() == uninterrupted(processes)


def test_a_step_of_ones_choice(job, uninterrupted):
    job.finish(2, *SHORT)
    again = job.finish(2, *SHORT, RESUME_STEP="4")
    assert "resuming from the checkpoint of step 4" in again.output()
    assert job.losses() == uninterrupted(2)
    assert job.checkpoints() == ["step-000004", "step-000008", "step-000012"]


def test_step_zero_starts_anew(job, uninterrupted):
    job.finish(1, *SHORT)
    again = job.finish(1, *SHORT, RESUME_STEP="0")
    assert "step 1/12" in again.output()
    assert job.losses() == uninterrupted(1)


def test_more_steps_than_before(job, uninterrupted):
    job.finish(2, *SHORT, "--steps", "6")
    assert job.checkpoints() == ["step-000004", "step-000006"]
    job.finish(2, *SHORT)
    assert job.losses() == uninterrupted(2)


def test_a_run_that_is_complete_has_nothing_to_do(job):
    job.finish(2, *SHORT)
    before = job.metrics()
    again = job.finish(2, *SHORT)
    assert "nothing left to do" in again.output()
    assert job.metrics() == before


def test_on_another_machine_with_the_checkpoints_only(job, new_job, uninterrupted):
    job.finish(2, *SHORT, "--steps", "8")
    elsewhere = new_job("elsewhere")
    shutil.copytree(job.checkpoint_dir, elsewhere.checkpoint_dir)
    elsewhere.finish(2, *SHORT)
    assert elsewhere.losses() == {step: loss for step, loss in uninterrupted(2).items() if step > 8}


def test_only_rank_0_needs_the_checkpoints(job, tmp_path, uninterrupted):
    job.finish(2, *SHORT, "--steps", "8")
    port = str(free_port())
    main = job.start(2, *SHORT, ranks=range(1), RENDEZVOUS_PORT=port)
    other = job.start(
        2, *SHORT, ranks=range(1, 2), RENDEZVOUS_PORT=port, CHECKPOINT_DIR=str(tmp_path / "none")
    )
    assert main.wait() + other.wait() == [0, 0]
    assert job.losses() == uninterrupted(2)
    assert not (tmp_path / "none").exists()


def test_another_number_of_processes_is_close_and_says_so(job, uninterrupted):
    job.finish(4, *SHORT, "--steps", "8")
    resumed = job.finish(2, *SHORT)
    assert "written with processes 4, this run has 2" in resumed.output()
    assert "not to the last bit" in resumed.output()
    assert job.losses() == pytest.approx(uninterrupted(1), rel=1e-4)


def test_a_torn_checkpoint_is_passed_over(job, uninterrupted):
    job.finish(2, *SHORT, "--steps", "8")
    state = job.checkpoint_dir / "step-000008" / "state.npz"
    state.write_bytes(state.read_bytes()[:1000])
    resumed = job.finish(2, *SHORT)
    assert "skipping a damaged checkpoint" in resumed.output()
    assert "resuming from the checkpoint of step 4" in resumed.output()
    assert job.losses() == uninterrupted(2)


@pytest.mark.parametrize(
    ("options", "named"),
    [(("--seed", "4"), "its seed is 3, not 4"), (("--batch-size", "64"), "its global_batch is 96, not 64")],
)
def test_a_checkpoint_of_another_run_is_refused(job, options, named):
    job.finish(1, *SHORT, "--steps", "4")
    attempt = job.start(1, *SHORT, *options)
    assert attempt.wait() == [2]
    assert named in attempt.errors()
    assert "NEURONKIT_RESUME_STEP=0" in attempt.errors()
