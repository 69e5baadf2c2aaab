"""Launch, follow and cancel as they really go on a Slurm: the texts of `slurm_scripts` on its login node."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from scripts.aws.cloud import Cloud
from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from scripts.schedulers.remote_answer import Answer
from scripts.schedulers.slurm_answers import node_counts
from scripts.schedulers.slurm_scheduler import SlurmScheduler
from stacks.domain.errors import WorldError
from stacks.domain.render.batch import Run
from tests.environments import plan_of
from tests.slurm import needs_slurm, wait_for

pytestmark = needs_slurm
BUCKET = "pilot-storage-1"
PLAN = plan_of(
    {
        "clusters.train.scheduler": "slurm",
        "clusters.train.slurm": {"shared_storage": {"kind": "efs"}},
    }
)
JOB = PLAN.jobs[0]


@dataclass
class LoginNode:
    """The private Slurm's login node; an answer can be lost on its way back."""

    slurm: PrivateSlurm
    lost_answers: int = 0
    texts: list[str] = field(default_factory=list)

    def run(self, script: str) -> Answer:
        self.texts.append(script)
        done = self.slurm.run(["bash", "-c", script], stdin=subprocess.DEVNULL)
        if self.lost_answers:
            self.lost_answers -= 1
            raise WorldError("the answer was lost")
        return Answer(done.stdout.encode(), done.stderr, done.returncode)


@pytest.fixture
def scheduler(slurm: PrivateSlurm) -> Iterator[SlurmScheduler]:
    """With a directory of runs of its own."""
    with mock_aws():
        session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-2")
        cloud = Cloud("us-east-2", "1" * 12, is_local=True, session=session)
        cloud.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-east-2"}
        )
        made = SlurmScheduler(cloud, PLAN, PLAN.clusters[0], BUCKET, LoginNode(slurm), None)
        yield made
        for run in made.active_runs():
            made.cancel(run, made.logs_of(JOB, run.name))
        wait_for("no job is left", lambda: not made.active_runs())
        subprocess.run(["rm", "-rf", str(slurm.shared_directory / "neuronkit")], check=True)


def script(body: str, *options: str, nodes: int = 2) -> str:
    lines = ["#!/bin/bash", "#SBATCH --partition=train --exclusive --chdir=/tmp --open-mode=append"]
    lines += [f"#SBATCH --nodes={nodes}", *(f"#SBATCH {option}" for option in options), body]
    return "\n".join(lines) + "\n"


def directory(slurm: PrivateSlurm, run: str) -> Path:
    return slurm.shared_directory / "neuronkit" / "pilot" / "runs" / "smoke" / run


def login(scheduler: SlurmScheduler) -> LoginNode:
    assert isinstance(scheduler.transport, LoginNode)
    return scheduler.transport


LOGS = """
cd "/shared/neuronkit/pilot/runs/smoke/$1"
mkdir -p attempt-1
echo "rank 0 begins" >attempt-1/node-0.log
printf 'rank 1 begins\\nhalf a line' >attempt-1/node-1.log
echo "the script's own words"
until [[ -e go ]]; do sleep 0.05; done
echo ", now whole" >>attempt-1/node-1.log
"""


def test_a_run_is_submitted_once_and_followed_to_its_end(
    scheduler: SlurmScheduler, slurm: PrivateSlurm
) -> None:
    content = script(LOGS)
    submitted = scheduler.submit(JOB, Run("smoke-1"), content)
    assert len(login(scheduler).texts) == 1
    again = scheduler.submit(JOB, Run("smoke-1"), content)
    assert again.id == submitted.id
    stored = scheduler.cloud.client("s3").get_object(Bucket=BUCKET, Key="runs/smoke/smoke-1/job.sbatch")
    assert stored["Body"].read().decode() == content

    logs = scheduler.logs_of(JOB, "smoke-1")
    watch = scheduler.watch(submitted, logs)
    seen: list[tuple[int | None, str]] = []

    def has_begun() -> bool:
        seen.extend((line.node, line.text) for line in watch.look().lines)
        return len(seen) == 3

    wait_for("three whole lines", has_begun)
    assert set(seen) == {(None, "the script's own words"), (0, "rank 0 begins"), (1, "rank 1 begins")}
    assert [run.name for run in scheduler.active_runs()] == ["smoke-1"]
    (directory(slurm, "smoke-1") / "go").touch()
    wait_for("the end", lambda: not watch_and_keep(watch, seen))
    assert seen[3:] == [(1, "half a line, now whole")]
    found = scheduler.find("smoke-1")
    assert found is not None
    assert found[1] == logs


def watch_and_keep(watch: object, seen: list[tuple[int | None, str]]) -> bool:
    sight = watch.look()  # type: ignore[attr-defined]
    seen.extend((line.node, line.text) for line in sight.lines)
    return bool(sight.run.is_active)


def test_when_the_answer_is_lost_the_same_launch_finds_its_run(scheduler: SlurmScheduler) -> None:
    login(scheduler).lost_answers = 1
    with pytest.raises(WorldError, match="lost"):
        scheduler.submit(JOB, Run("smoke-2"), script("sleep 60"))
    submitted = scheduler.submit(JOB, Run("smoke-2"), script("sleep 60"))
    active = scheduler.active_runs()
    assert [(run.name, run.id) for run in active] == [("smoke-2", submitted.id)]


def test_without_its_note_a_run_is_found_in_the_queue(scheduler: SlurmScheduler, slurm: PrivateSlurm) -> None:
    """As when the login node dies between sbatch and the note of the id."""
    submitted = scheduler.submit(JOB, Run("smoke-3"), script("sleep 60"))
    (directory(slurm, "smoke-3") / "job-id").unlink()
    assert scheduler.submit(JOB, Run("smoke-3"), script("sleep 60")).id == submitted.id
    assert len(scheduler.active_runs()) == 1


def test_launches_at_the_same_time_submit_once(scheduler: SlurmScheduler, slurm: PrivateSlurm) -> None:
    scheduler.submit(JOB, Run("smoke-4"), script("sleep 60"))
    text = login(scheduler).texts[-1].replace("smoke-4", "smoke-5")
    commands = [slurm.login_command(["bash", "-c", text]) for _ in range(4)]
    environment = {**slurm.environment, "HOME": "/root"}
    processes = [subprocess.Popen(c, env=environment, stdout=subprocess.PIPE, text=True) for c in commands]
    said = sorted(process.communicate(timeout=60)[0].split()[0] for process in processes)
    assert said == ["found", "found", "found", "submitted"]
    assert sorted(run.name for run in scheduler.active_runs()) == ["smoke-4", "smoke-5"]


def test_somebody_elses_job_of_that_name_is_not_ours(scheduler: SlurmScheduler, slurm: PrivateSlurm) -> None:
    done = slurm.run(["sbatch", "--parsable", "--job-name=smoke-6", "--output=/dev/null", "--wrap=sleep 60"])
    other = done.stdout.strip()
    try:
        assert scheduler.active_runs() == ()
        assert scheduler.submit(JOB, Run("smoke-6"), script("sleep 60")).id != other
    finally:
        slurm.run(["scancel", other])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--gres=neuron:99", "Requested node configuration is not available"),
        ("--constraint=trn9", "Requested node configuration is not available|Invalid feature specification"),
        ("--partition=nowhere", "invalid partition"),
        ("--tres-per-task=x", "unrecognized option"),
    ],
)
def test_a_refusal_has_slurms_own_words_and_leaves_nothing(
    scheduler: SlurmScheduler, option: str, words: str
) -> None:
    with pytest.raises(WorldError, match=f"Slurm refuses run smoke-7: .*({words})") as caught:
        scheduler.submit(JOB, Run("smoke-7"), script("true", option))
    assert caught.value.exit_code == 3
    assert scheduler.active_runs() == ()


def test_a_waiting_run_says_why_and_its_cancellation_is_remembered(
    scheduler: SlurmScheduler, slurm: PrivateSlurm
) -> None:
    scheduler.submit(JOB, Run("smoke-8"), script("sleep 60", nodes=8))
    waiting = scheduler.submit(JOB, Run("smoke-9"), script("sleep 60", nodes=8))
    watch = scheduler.watch(waiting, scheduler.logs_of(JOB, "smoke-9"))
    wait_for("its reason", lambda: "all fitting nodes are in use" in watch.look().words)
    scheduler.cancel(waiting, scheduler.logs_of(JOB, "smoke-9"))
    sight = watch.look()
    assert (sight.run.state, sight.run.has_failed) == ("CANCELLED", True)
    assert (directory(slurm, "smoke-9") / "ended.json").read_text().startswith('{"state": "CANCELLED"')
    scheduler.active_runs()
    assert scheduler.seen is not None
    assert "8" in node_counts(scheduler.seen.nodes)


def test_a_failed_run_names_exit_code_node_and_last_words(scheduler: SlurmScheduler) -> None:
    body = """
cd "/shared/neuronkit/pilot/runs/smoke/$1"
mkdir -p attempt-1/failures attempt-2/failures
echo "5 trn2-1 0 1" >attempt-1/failures/0
echo "ValueError: no such data" >attempt-2/node-1.log
echo "19 trn2-1 0 3" >attempt-2/failures/0
echo "18 trn2-2 1 17" >attempt-2/failures/1
printf '{"state": "FAILED", "exit_code": 17, "attempt": 2}\\n' >ended.json
exit 17
"""
    submitted = scheduler.submit(JOB, Run("smoke-10"), script(body))
    watch = scheduler.watch(submitted, scheduler.logs_of(JOB, "smoke-10"))
    wait_for("the end", lambda: not watch.look().run.is_active)
    error = watch.failure(watch.look().run)
    assert error.exit_code == 4
    assert error.message.splitlines() == [
        "run smoke-10 failed: its script ended with an error; exit code 17; Slurm says NonZeroExitCode",
        "  node 1 (trn2-2): exit code 17",
        "  node 0 (trn2-1): exit code 3",
        "  node 1: ValueError: no such data",
    ]


def test_long_logs_come_whole_over_several_answers(scheduler: SlurmScheduler) -> None:
    body = """
cd "/shared/neuronkit/pilot/runs/smoke/$1"
mkdir -p attempt-1
seq 1 100000 >attempt-1/node-0.log
printf '%0300000d' 7 >attempt-1/node-1.log
"""
    submitted = scheduler.submit(JOB, Run("smoke-11"), script(body))
    watch = scheduler.watch(submitted, scheduler.logs_of(JOB, "smoke-11"))
    seen: list[tuple[int | None, str]] = []
    wait_for("the end", lambda: not watch_and_keep(watch, seen))
    watch_and_keep(watch, seen)
    assert [int(text) for node, text in seen if node == 0] == list(range(1, 100001))
    assert "".join(text for node, text in seen if node == 1) == "7".rjust(300000, "0")
