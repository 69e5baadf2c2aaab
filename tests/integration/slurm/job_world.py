"""Jobs of a plan on a private Slurm: the kit's own script, package and bootstrap; the bucket is a directory."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from scripts.local_cloud.slurm.virtual_group import VirtualGroup, ultraserver_files
from stacks.domain.jobs import pack, resolve_source
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.batch import Run
from stacks.domain.render.slurm import job_script, run_directory, submit_arguments
from tests.environments import plan_of
from tests.slurm import job_fields, private_slurm, wait_for

STAND_INS = Path(__file__).parents[2] / "data" / "bootstrap"
BUCKET = "bucket"
NUMBERS = itertools.count(1)
SLURM: dict[str, Any] = {
    "clusters.train.scheduler": "slurm",
    "clusters.train.nodes": 8,
    "clusters.train.slurm": {"shared_storage": {"kind": "efs"}},
    "jobs.smoke.sync_seconds": 5,
}
ULTRASERVERS: dict[str, Any] = {**SLURM, "clusters.train.instance_type": "trn2u.48xlarge"}


def smoke_command(*options: str) -> list[str]:
    return ["python3", "train.py", "--backend", "numpy", *options]


def groups_of(plan: Plan) -> tuple[VirtualGroup, ...]:
    """Virtual nodes for every node group of the plan's cluster."""
    cluster, slurm = plan.clusters[0], plan.clusters[0].slurm
    assert slurm is not None
    return tuple(
        VirtualGroup(
            name=group.name,
            nodes=group.nodes_max,
            features=group.features,
            cpus=slurm.cpus_per_node or 1,
            neuron_devices=cluster.chips_per_node,
            efa_devices=cluster.efa_interfaces_per_node,
            weight=index + 1,
            place_files=ultraserver_files(group.nodes_max, f"{index + 1:016x}")
            if cluster.ultraserver
            else (),
        )
        for index, group in enumerate(slurm.node_groups)
    )


@dataclass
class Launched:
    slurm: PrivateSlurm
    job_id: str
    directory: Path
    bucket: Path
    """The run's part of it."""

    def fields(self) -> dict[str, str]:
        return job_fields(self.slurm, self.job_id)

    def wait_until(self, what: str, happened: Callable[[], bool], seconds: float = 150) -> None:
        """Fails with the logs of the run."""
        try:
            wait_for(what, happened, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.fields()}\n{self.words()}") from None

    def ended(self, seconds: float = 240) -> dict[str, Any]:
        """What the job left in ended.json, once Slurm is done with it."""
        path = self.directory / "ended.json"
        self.wait_until("the run ended", path.exists, seconds)
        self.wait_until(
            "Slurm is done with it", lambda: self.fields()["JobState"] not in ("RUNNING", "COMPLETING")
        )
        ended: dict[str, Any] = json.loads(path.read_text())
        return ended

    def wait_for_checkpoint(self) -> None:
        """In the bucket."""
        self.wait_until("a checkpoint", lambda: any(self.bucket.glob("checkpoints/step-*/checkpoint.json")))

    def words(self) -> str:
        """All logs."""
        files = sorted(self.directory.rglob("*.log"))
        return "\n".join(f"== {file.relative_to(self.directory)}\n{file.read_text()}" for file in files)

    def losses(self) -> dict[int, float]:
        lines = (self.bucket / "metrics.jsonl").read_text().splitlines()
        return {line["step"]: line["loss"] for line in map(json.loads, lines)}

    def places(self, attempt: int = 1) -> list[list[str]]:
        text = (self.directory / f"attempt-{attempt}" / "places").read_text()
        return [line.split() for line in text.splitlines()]

    def node_logs(self, attempt: int = 1) -> dict[str, str]:
        return {
            file.name: file.read_text() for file in (self.directory / f"attempt-{attempt}").glob("node-*.log")
        }


@dataclass
class JobWorld:
    slurm: PrivateSlurm
    root: Path
    more_variables: dict[str, str] = field(default_factory=dict)

    @property
    def s3(self) -> Path:
        return self.root / "s3"

    def variables(self) -> dict[str, str]:
        """Of the submitting shell. A function stands before every program of its name, a virtual environment's too."""
        return {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "FAKE_S3": str(self.s3),
            "SEEN": str(self.root / "seen"),
            "BASH_FUNC_aws%%": f'() {{ "{STAND_INS}/aws" "$@"; }}',
            **self.more_variables,
        }

    def program(self, name: str, script: str) -> None:
        """A stand-in that every node finds, except where a virtual environment has one of the name."""
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def launch(self, changes: dict[str, Any]) -> Launched:
        plan = plan_of(changes)
        return self.launch_job(plan, plan.job("smoke"))

    def launch_job(self, plan: Plan, job: JobPlan) -> Launched:
        run = Run(f"smoke-{next(NUMBERS)}")
        for place in (self.s3, self.root / "seen", self.root / "bin"):
            place.mkdir(exist_ok=True, parents=True)
        package = pack(job, plan, resolve_source(job.source, self.root))
        self._store(package.key, package.content)
        options, arguments = submit_arguments(plan, job, run)
        directory = self.shared(run_directory(plan, job, run.id))
        directory.mkdir(parents=True)
        script = job_script(plan, job, package.sha256, BUCKET)
        answer = self.sbatch(script, "--parsable", *options, arguments=arguments)
        assert answer.returncode == 0, answer.stderr
        bucket = self.s3 / BUCKET / "runs" / job.name / run.id
        return Launched(self.slurm, answer.stdout.strip(), directory, bucket)

    def sbatch(
        self, script: str, *options: str, arguments: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        place = self.slurm.shared_directory / f"job-{next(NUMBERS)}.sbatch"
        place.write_text(script)
        mount = f"{self.slurm.shared_mount}/{place.name}"
        return self.slurm.run(["sbatch", *options, mount, *arguments], env=self.variables())

    def shared(self, path: str) -> Path:
        return self.slurm.shared_directory / path.removeprefix(f"{self.slurm.shared_mount}/")

    def _store(self, key: str, content: bytes) -> None:
        place = self.s3 / BUCKET / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


@contextmanager
def slurm_of(changes: dict[str, Any]) -> Iterator[PrivateSlurm]:
    with private_slurm(groups_of(plan_of(changes)), "train") as slurm:
        yield slurm


def leave_nothing_running(slurm: PrivateSlurm) -> None:
    slurm.run(["scancel", "--user=root"])
    for name, state in slurm.states().items():
        if state.startswith("down"):
            slurm.start_node(name)
    wait_for("all nodes idle again", lambda: set(slurm.states().values()) == {"idle"})
