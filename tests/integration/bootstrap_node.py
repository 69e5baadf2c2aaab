"""One node of a job on this machine: the registered command in real bash, with a bucket, devices and a clock for tests.

Only what the Neuron images are known to bring is on PATH: bash, coreutils, tar, gzip, python3 and the aws command.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stacks.domain.jobs import pack
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.batch import ClusterOutputs, Run, job_definition, submit_request

DATA = Path(__file__).parents[1] / "data" / "bootstrap"
BUCKET = "bucket"
OUTPUTS = ClusterOutputs(
    BUCKET, "queue", "arn:aws:iam::111122223333:role/job", "arn:aws:iam::111122223333:role/execution", "logs"
)
COREUTILS = "cat dirname env head mkdir mktemp mv rm sha256sum touch wc"
OTHER_PROGRAMS = "bash gzip hostname tar"


@dataclass
class World:
    """What the nodes of one test share: a bucket, a clock, and a directory in which the command leaves what it saw."""

    root: Path
    plan: Plan
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for directory in (
            self.bucket,
            self.timers,
            self.seen,
            self.source,
            self.root / "bin",
            self.root / "python",
        ):
            directory.mkdir(parents=True)
        for program in f"{COREUTILS} {OTHER_PROGRAMS}".split():
            (self.root / "bin" / program).symlink_to(shutil.which(program) or program)
        (self.root / "bin" / "python3").symlink_to(sys.executable)
        for program in ("aws", "sleep"):
            (self.root / "bin" / program).symlink_to(DATA / program)
        self.has_boto3(True)

    @property
    def job(self) -> JobPlan:
        return self.plan.jobs[0]

    @property
    def s3(self) -> Path:
        return self.root / "s3"

    @property
    def bucket(self) -> Path:
        return self.s3 / BUCKET

    @property
    def timers(self) -> Path:
        return self.root / "timers"

    @property
    def seen(self) -> Path:
        return self.root / "seen"

    @property
    def source(self) -> Path:
        return self.root / "source"

    def run_path(self, *parts: str) -> Path:
        return self.bucket.joinpath("runs", self.job.name, "run-1", *parts)

    def calls(self) -> list[str]:
        log = self.s3 / "calls.log"
        return log.read_text().splitlines() if log.exists() else []

    def fail(self, count: int, text: str) -> None:
        """The next so many aws calls with that text in them fail."""
        with (self.s3 / "failures").open("a") as rules:
            rules.write(f"{count} {text}\n")

    def has_boto3(self, there: bool) -> None:
        (self.root / "python" / "boto3.py").write_text("" if there else "raise ImportError\n")

    def has_torchrun(self) -> None:
        (self.root / "bin" / "torchrun").symlink_to(DATA / "torchrun")

    def pipe(self, path: Path) -> Path:
        if not path.exists():
            os.mkfifo(path)
        return path

    def program(self, name: str, script: str) -> None:
        """In the place of the real one, to which there is a link (through which a write would go to the real one)."""
        path = self.root / "bin" / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{script}\n")
        path.chmod(0o755)

    def hold_timers(self, *seconds: int) -> None:
        """Such timers last until tick(), or until the bootstrap itself ends them."""
        for number in seconds:
            self.pipe(self.timers / str(number))
            self.pipe(self.timers / f"{number}.waiting")

    def tick(self, seconds: int) -> None:
        """Waits until such a timer waits, and lets it run out."""
        (self.timers / f"{seconds}.waiting").read_text()
        (self.timers / str(seconds)).write_text("")

    def devices(self, chips: int, efa: int) -> Path:
        root = self.root / f"dev-{chips}-{efa}"
        (root / "infiniband").mkdir(parents=True, exist_ok=True)
        for index in range(chips):
            (root / f"neuron{index}").touch()
        (root / "neuron_monitor").touch()
        for index in range(efa):
            (root / "infiniband" / f"uverbs{index}").touch()
        return root

    def start(
        self,
        script: str,
        *,
        rank: int = 0,
        run: Run | None = None,
        variables: dict[str, str] | None = None,
        entrypoint: tuple[str, ...] = (),
    ) -> subprocess.Popen[str]:
        """The job's command is `bash job.sh` with this script: it leaves things in $SEEN and may `meet PLACE` the test."""
        for place in re.findall(r"\bmeet (\w+)", script):
            self.pipe(self.seen / f"at-{place}")
        (self.source / "job.sh").write_text(script)
        package = pack(self.job, self.plan, self.source)
        self.store(package.key, package.content)
        definition = job_definition(self.plan, self.job, package.sha256, OUTPUTS)
        container = definition["nodeProperties"]["nodeRangeProperties"][0]["container"]
        submission = submit_request(self.plan, self.job, run or Run("run-1"), "definition", OUTPUTS)
        temporary = self.root / f"node-{len(self.started)}"
        temporary.mkdir()
        environment = {
            **_variables(container),
            **_variables(submission["nodeOverrides"]["nodePropertyOverrides"][0]["containerOverrides"]),
            **self._batch_variables(rank),
            **self._test_variables(temporary),
            **(variables or {}),
        }
        environment = {name: value for name, value in environment.items() if value != "UNSET"}
        process = subprocess.Popen(
            [*entrypoint, *container["command"]],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def store(self, key: str, content: bytes) -> None:
        place = self.bucket / key
        place.parent.mkdir(parents=True, exist_ok=True)
        whole = self.root / "incoming"
        whole.write_bytes(content)
        whole.replace(place)  # as in S3, nobody ever reads half an object

    def run(self, script: str, **options: Any) -> tuple[int, str]:
        """Exit code and log."""
        return finish(self.start(script, **options))

    def _batch_variables(self, rank: int) -> dict[str, str]:
        variables = {
            "AWS_BATCH_JOB_NODE_INDEX": str(rank),
            "AWS_BATCH_JOB_NUM_NODES": str(self.job.nodes),
            "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
        }
        if rank > 0:
            variables["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = "10.0.0.7"
        return variables

    def _test_variables(self, temporary: Path) -> dict[str, str]:
        return {
            "PATH": str(self.root / "bin"),
            "PYTHONPATH": str(self.root / "python"),
            "TMPDIR": str(temporary),
            "NEURONKIT_DEVICE_ROOT": str(
                self.devices(self.job.chips_per_node, self.job.efa_devices_per_node)
            ),
            "FAKE_S3": str(self.s3),
            "FAKE_TIMERS": str(self.timers),
            "SEEN": str(self.seen),
        }

    def survivors(self) -> list[str]:
        """Command lines of processes that outlived the nodes that started them."""
        sessions = {process.pid for process in self.started if process.poll() is not None}
        return [line for session, _, line in _processes() if session in sessions]

    def close(self) -> None:
        sessions = {process.pid for process in self.started}
        for session, pid, _ in _processes():
            if session in sessions:
                os.kill(pid, signal.SIGKILL)
        for process in self.started:
            process.communicate()


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    log, _ = process.communicate(timeout=20)
    return process.returncode, log


def _variables(container: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container["environment"]}


def _processes() -> list[tuple[int, int, str]]:
    """Session, process id and command line of what runs on this machine."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            status = (directory / "stat").read_text().rpartition(")")[2].split()
            line = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if status[0] != "Z":
            found.append((int(status[3]), int(directory.name), line))
    return found
