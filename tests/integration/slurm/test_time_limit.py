"""A time limit that really runs out: the signal is Slurm's own, and so is the end of a job that does not heed it.

Slurm looks at time limits every 30 s, and its least is a minute: both runs go on at the same time.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scripts.following import Follower
from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from scripts.schedulers.remote_answer import Answer
from scripts.schedulers.scheduler import ScheduledRun
from scripts.schedulers.slurm_answers import parse_ended
from scripts.schedulers.slurm_runs import of_directory
from scripts.schedulers.slurm_watch import SlurmWatch
from tests.integration.slurm.job_world import (
    SLURM,
    JobWorld,
    Launched,
    leave_nothing_running,
    slurm_of,
    smoke_command,
)
from tests.slurm import needs_slurm
from tests.unit.scripts.fakes import a_cloud

pytestmark = [*needs_slurm, pytest.mark.timeout(420)]

STEPS = 40
LIMITED = {
    **SLURM,
    "jobs.smoke.nodes": 4,
    "jobs.smoke.attempts": 2,
    "jobs.smoke.time_limit_minutes": 1,
}
# The first attempt cannot end within its minute; the second need not wait.
TOO_SLOW_AT_FIRST = (
    f"exec python3 train.py --backend numpy --steps {STEPS} --checkpoint-every 5 "
    '--step-seconds "$([ "$NEURONKIT_ATTEMPT" = 1 ] && echo 3 || echo 0)"'
)
RESUMES = {**LIMITED, "jobs.smoke.command": ["bash", "-c", TOO_SLOW_AT_FIRST]}
UNINTERRUPTED = {
    **LIMITED,
    "jobs.smoke.command": smoke_command("--steps", str(STEPS), "--checkpoint-every", "5"),
}
IGNORES = {**LIMITED, "jobs.smoke.command": ["bash", "-c", 'trap "" TERM; while :; do sleep 1; done']}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[JobWorld]:
    with slurm_of(SLURM) as slurm:
        yield JobWorld(slurm, tmp_path)
        leave_nothing_running(slurm)


def test_a_time_limit_that_runs_out(world: JobWorld) -> None:
    whole = world.launch(UNINTERRUPTED)
    assert whole.ended()["state"] == "COMPLETED", whole.words()
    resumes, ignores = world.launch(RESUMES), world.launch(IGNORES)
    assert resumes.fields()["TimeLimit"] == "00:01:00"

    assert resumes.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 2}, resumes.words()
    assert "the time limit is near: stopping" in resumes.words()
    assert "attempt 1 ended: TIMEOUT" in resumes.words()
    assert "resuming from s3://" in resumes.node_logs(attempt=2)["node-0.log"]
    assert resumes.losses() == whole.losses()

    watch = SlurmWatch(run_text(world.slurm), mounted(ignores), waiting(ignores))
    said: list[str] = []
    run = Follower(a_cloud(local=True), watch, said.append, lambda _: None).follow()
    assert (run.state, run.has_failed) == ("TIMEOUT", True)
    # The script's own code, or the killed command's where Slurm let the script live to hear of it.
    words = rf"{run.name}: TIMEOUT: it reached its time limit; exit code (143|137); Slurm says TimeLimit"
    assert re.fullmatch(words, said[-1])
    error = watch.failure(run)
    assert error.exit_code == 4
    assert "it reached its time limit" in error.message
    # Slurm killed the script with the job; what it had noted says the same when Slurm has forgotten the job.
    forgotten = of_directory(run.name, run.id, parse_ended((ignores.directory / "ended.json").read_text()))
    assert (forgotten.state, forgotten.has_failed) == ("TIMEOUT", True)
    assert "attempt 2" not in ignores.words()


def run_text(slurm: PrivateSlurm) -> Callable[[str, str], Answer]:
    """On the login node, as `neuronkit launch --follow` does."""

    def run(script: str, _: str) -> Answer:
        done = slurm.run(["bash", "-c", script], stdin=subprocess.DEVNULL)
        return Answer(done.stdout.encode(), done.stderr, done.returncode)

    return run


def mounted(launched: Launched) -> str:
    slurm = launched.slurm
    return f"{slurm.shared_mount}/{launched.directory.relative_to(slurm.shared_directory)}"


def waiting(launched: Launched) -> ScheduledRun:
    return ScheduledRun(
        launched.directory.name,
        launched.job_id,
        "PENDING",
        is_active=True,
        has_failed=False,
        order=1,
        nodes=4,
    )
