"""The JAX path in two processes on CPU devices. Optional: JAX is none of our dependencies.

In an environment that has only JAX and pytest: `python -m pytest -c /dev/null --rootdir . --confcutdir
tests/integration/smoke tests/integration/smoke/test_smoke_jax.py`, with PYTHONPATH set to the repository.
"""

import signal
import socket

import pytest

pytest.importorskip("jax")

from tests.integration.smoke.job import MAIN_ADDRESS, SHORT, SmokeJob, free_port

JAX = (*SHORT, "--backend", "jax")
pytestmark = pytest.mark.jax


@pytest.fixture(scope="module")
def uninterrupted_jax(tmp_path_factory):
    job = SmokeJob(tmp_path_factory.mktemp("jax"))
    try:
        job.finish(2, *JAX)
    finally:
        job.stop_everything()
    return job


def test_two_processes_agree_with_numpy(uninterrupted_jax, uninterrupted):
    assert {record["backend"] for record in uninterrupted_jax.metrics()} == {"jax"}
    assert "on 2 cpu device(s), 1 here" in uninterrupted_jax.attempts[0].output()
    assert uninterrupted_jax.losses() == pytest.approx(uninterrupted(2), rel=1e-4)


def test_a_failed_run_goes_on_exactly(job, uninterrupted_jax):
    failed = job.start(2, *JAX, "--fail-at-step", "7", "--fail-rank", "1")
    assert failed.wait(60) == [3, 17]
    assert "rank 1 at 127.0.0.1 ended or was cut off" in failed.errors(0)
    job.finish(2, *JAX)
    assert job.losses() == uninterrupted_jax.losses()


def test_coordinator_where_the_bootstrap_says(job, monkeypatch):
    port = free_port()
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", f"{MAIN_ADDRESS}:{port}")
    attempt = job.start(2, *JAX, "--steps", "100000")
    attempt.wait_for("step 1/", seconds=120)
    socket.create_connection((MAIN_ADDRESS, port), timeout=5).close()
    attempt.signal(signal.SIGTERM, 0)
    assert attempt.wait(20) == [143, 143]


def test_devices_that_do_not_divide_the_batch(job, uninterrupted, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=7")
    job.finish(1, *JAX)
    assert job.losses() == pytest.approx(uninterrupted(1), rel=1e-4)


def test_a_numpy_checkpoint_goes_on_with_jax(job, uninterrupted):
    job.finish(2, *SHORT, "--steps", "8")
    resumed = job.finish(2, *JAX)
    assert "written with backend numpy, this run has jax" in resumed.output()
    assert job.losses() == pytest.approx(uninterrupted(2), rel=1e-4)


def test_sigterm_saves_the_step_and_ends_all(job):
    attempt = job.start(2, *JAX, "--steps", "100000", "--checkpoint-every", "100000")
    attempt.wait_for("step 3/", seconds=120)
    attempt.signal(signal.SIGTERM, 1)
    assert attempt.wait(20) == [143, 143]
    assert job.checkpoints() == [f"step-{max(job.losses()):06d}"]


def test_the_death_of_rank_1_ends_rank_0(job):
    attempt = job.start(2, *JAX, "--steps", "100000")
    attempt.wait_for("step 3/", seconds=120)
    attempt.signal(signal.SIGKILL, 1)
    assert attempt.processes[0].wait(20) == 3
    assert "rank 1 at 127.0.0.1" in attempt.errors(0)
