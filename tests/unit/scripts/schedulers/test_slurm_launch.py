"""On Slurm, too, a launch never starts a run twice, wherever the client or the login node dies.

S3 is moto's; Slurm's programs are stand-ins, and the texts for them run in a real bash.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from scripts import launching
from scripts.aws.cloud import Cloud
from scripts.console import Console
from scripts.launching import Launched, Launcher, require_image
from scripts.run_choice import Resume, parse_resume
from scripts.run_store import RunRecord, RunStore
from scripts.schedulers.slurm_scheduler import SlurmScheduler
from stacks.domain.errors import InputError, WorldError
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.render.batch import Run
from stacks.domain.render.slurm import run_directory
from tests.environments import plan_of
from tests.unit.scripts.schedulers.fake_slurm import FakeSlurm

BUCKET = "pilot-storage-1"


def slurm_plan(mount_point: str = "/shared", **changes: object) -> Plan:
    """With the shared file system at a directory of the test's."""
    plan = plan_of(
        {
            "clusters.train.scheduler": "slurm",
            "clusters.train.slurm": {"shared_storage": {"kind": "efs"}},
            **{name.replace("__", "."): value for name, value in changes.items()},
        }
    )
    cluster: ClusterPlan = plan.clusters[0]
    assert cluster.slurm is not None
    assert cluster.slurm.shared_storage is not None
    storage = replace(cluster.slurm.shared_storage, mount_point=mount_point)
    return replace(plan, clusters=(replace(cluster, slurm=replace(cluster.slurm, shared_storage=storage)),))


class Killed(BaseException):
    """As a SIGKILL."""


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with mock_aws():
        session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-2")
        made = Cloud("us-east-2", "1" * 12, is_local=True, session=session)
        made.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-east-2"}
        )
        yield made


@dataclass
class Machine:
    cloud: Cloud
    slurm: FakeSlurm
    directory: Path
    plan: Plan
    owner: str = "me@here"

    def launch(self, resume: str | None = None, run: str | None = None) -> Launched:
        job = self.plan.jobs[0]
        scheduler = SlurmScheduler(self.cloud, self.plan, self.plan.clusters[0], BUCKET, self.slurm, None)
        launcher = Launcher(
            Console(),
            self.cloud,
            self.plan,
            job,
            scheduler,
            self.directory,
            pause=lambda s: None,
            owner=self.owner,
        )
        return launcher.launch(parse_resume(resume) if resume else None, run)

    @property
    def runs(self) -> Path:
        return self.directory / "shared" / "neuronkit" / "pilot" / "runs" / "smoke"


@pytest.fixture
def machine(cloud: Cloud, tmp_path: Path) -> Machine:
    return Machine(cloud, FakeSlurm(tmp_path / "slurm"), tmp_path, slurm_plan(str(tmp_path / "shared")))


def test_a_launch_takes_one_look_and_one_submission(machine: Machine) -> None:
    launched = machine.launch()
    assert launched.as_dict() == {
        "run": "smoke-1",
        "state": "PENDING",
        "scheduler_id": "1",
        "nodes": 4,
        "metrics": f"s3://{BUCKET}/runs/smoke/smoke-1/metrics.jsonl",
        "logs": str(machine.runs / "smoke-1"),
    }
    assert launched.logs == run_directory(machine.plan, machine.plan.jobs[0], "smoke-1")
    assert len(machine.slurm.texts) == 2
    assert (machine.runs / "smoke-1" / "job.sbatch").read_text().startswith("#!")
    stored = RunStore(machine.cloud, BUCKET, "smoke").read("smoke-1")
    assert stored is not None
    assert stored.record == RunRecord("smoke-1", "smoke", "me@here", "1", None, None)


def test_a_repeated_launch_joins_and_after_the_end_the_next_number_comes(machine: Machine) -> None:
    machine.launch()
    assert machine.launch().joined
    machine.slurm.set_state("smoke-1", "FAILED")
    assert machine.launch().run == "smoke-2"
    assert machine.slurm.names() == ["smoke-1", "smoke-2"]


KILLS: dict[str, Callable[[Machine], None]] = {
    "before the submission": lambda m: kill(m, before=2),
    "after the submission": lambda m: kill(m, after=2),
    "on the login node, after sbatch": lambda m: (m.slurm.directory / "die-after-sbatch").touch(),
}


def kill(machine: Machine, before: int = 0, after: int = 0) -> None:
    """At the n-th text."""

    def die_at(number: int) -> Callable[[], None]:
        def look() -> None:
            if len(machine.slurm.texts) == number:
                raise Killed

        return look

    machine.slurm.before, machine.slurm.after = die_at(before), die_at(after)


@pytest.mark.parametrize("moment", KILLS)
@pytest.mark.parametrize("state", ["PENDING", "COMPLETED"])
def test_killed_anywhere_the_same_command_starts_exactly_one_run(
    machine: Machine, moment: str, state: str
) -> None:
    KILLS[moment](machine)
    with pytest.raises((Killed, WorldError)):
        machine.launch()
    machine.slurm.before = machine.slurm.after = lambda: None
    was_submitted = bool(machine.slurm.names())
    machine.slurm.set_state("smoke-1", state)
    launched = machine.launch()
    expected = ["smoke-1", "smoke-2"] if was_submitted and state == "COMPLETED" else ["smoke-1"]
    assert machine.slurm.names() == expected
    assert launched.run == expected[-1]


def test_a_submitted_run_that_slurm_has_forgotten_is_not_submitted_again(machine: Machine) -> None:
    kill(machine, after=2)
    with pytest.raises(Killed):
        machine.launch()
    machine.slurm.before = machine.slurm.after = lambda: None
    machine.slurm.forget("smoke-1")
    (machine.runs / "smoke-1" / "ended.json").write_text(
        json.dumps({"state": "COMPLETED", "exit_code": 0, "attempt": 1})
    )
    assert machine.launch().run == "smoke-2"


def test_whoever_adopts_a_claim_that_was_submitted_meanwhile_finds_the_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our look was before the other machine's submission, and its claim is old: the login node's lock decides."""
    RunStore(machine.cloud, BUCKET, "smoke").claim(RunRecord("smoke-1", "smoke", "you@there"))
    monkeypatch.setattr(launching, "CLAIM_SECONDS", -1.0)
    other = SlurmScheduler(
        machine.cloud,
        machine.plan,
        machine.plan.clusters[0],
        BUCKET,
        FakeSlurm(machine.directory / "o"),
        None,
    )
    other.transport = replace_directory(machine.slurm)

    def submit_first() -> None:
        if len(machine.slurm.texts) == 2:
            other.submit(machine.plan.jobs[0], Run("smoke-1"), "#!/bin/bash\n")

    machine.slurm.before = submit_first
    assert machine.launch().scheduler_id == "1"
    assert machine.slurm.names() == ["smoke-1"]


def replace_directory(slurm: FakeSlurm) -> FakeSlurm:
    same = FakeSlurm.__new__(FakeSlurm)
    same.directory, same.texts = slurm.directory, []
    same.before = same.after = lambda: None
    return same


def test_a_refusal_is_said_with_slurms_words_and_taken_up_later(machine: Machine) -> None:
    refusal = machine.slurm.directory / "refusal"
    refusal.write_text("sbatch: error: Batch job submission failed: Requested time limit is invalid\n")
    with pytest.raises(WorldError, match=r"Slurm refuses run smoke-1: .*Requested time limit is invalid"):
        machine.launch()
    refusal.unlink()
    assert machine.launch().run == "smoke-1"


def test_a_controller_that_is_down_is_said(machine: Machine) -> None:
    (machine.slurm.directory / "down").touch()
    with pytest.raises(WorldError, match="Unable to contact slurm controller"):
        machine.launch()
    assert RunStore(machine.cloud, BUCKET, "smoke").names() == ()


def test_a_resumed_run_is_told_its_checkpoint(machine: Machine) -> None:
    key = "runs/smoke/smoke-1/checkpoints/step-000020/checkpoint.json"
    machine.cloud.client("s3").put_object(Bucket=BUCKET, Key=key, Body=b"{}")
    launched = machine.launch(resume="smoke-1:20")
    assert launched.resumes == Resume("smoke-1", 20)
    assert f"smoke-2 s3://{BUCKET}/runs/smoke/smoke-1/checkpoints 20" in machine.slurm.texts[-1]


def test_a_job_in_a_virtual_environment_needs_no_image_and_one_in_a_container_does() -> None:
    require_image(slurm_plan().jobs[0])
    contained = slurm_plan(clusters__train__slurm={"shared_storage": {"kind": "efs"}, "runs_in": "apptainer"})
    with pytest.raises(InputError, match="not resolved"):
        require_image(contained.jobs[0])


def test_sixty_four_nodes_are_rendered_and_submitted_within_a_second(machine: Machine) -> None:
    machine.plan = slurm_plan(str(machine.directory / "shared"), clusters__train__nodes=64)
    machine.launch()
    machine.slurm.set_state("smoke-1", "COMPLETED")
    began = time.perf_counter()
    launched = machine.launch()
    assert time.perf_counter() - began < 1.0
    assert (launched.run, launched.nodes) == ("smoke-2", 64)
