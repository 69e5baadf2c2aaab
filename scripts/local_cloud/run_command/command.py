"""One Run Command on one login node: a process on the private Slurm's emulated login node."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts.local_cloud import runtime
from scripts.local_cloud.pcs import emulation
from scripts.local_cloud.run_command.login_nodes import LoginNode
from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from stacks.domain.errors import WorldError

STDOUT_CHARACTERS, STDERR_CHARACTERS = 24_000, 8_000
"""All that GetCommandInvocation gives back."""
FAULT_SERVICE = "login-node"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NO_SLURM = (
    "neuronkit local cloud: the cluster has no queue with nodes yet, so nothing stands for its login node"
)


@dataclass
class Command:
    """`execution_seconds` and `delivery_seconds` pass as the server's time scale says."""

    node: LoginNode
    account: str
    region: str
    lines: Sequence[str]
    working_directory: str
    delivery_seconds: float
    execution_seconds: float
    comment: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = "Pending"
    details: str = "Pending"
    response_code: int = -1
    stdout: str = ""
    stderr: str = ""
    requested: datetime = field(default_factory=lambda: datetime.now(UTC))
    started: datetime | None = None
    ended: datetime | None = None

    def start(self) -> None:
        threading.Thread(target=self._deliver, daemon=True).start()

    def _deliver(self) -> None:
        fault = runtime.current().faults.take_call(FAULT_SERVICE, self.node.instance_id)
        if fault is not None:
            if not fault.delay_seconds:
                # Silent for good, unless the fault is cleared in time.
                fault.cleared.wait(self._real(self.delivery_seconds))
                self._end("TimedOut", "Delivery Timed Out")
                return
            fault.wait()
        slurm = emulation.slurm_of(self.node.cluster.id)
        if slurm is None:
            self.stderr = _NO_SLURM
            self._end("Failed", "Failed", 1)
            return
        try:
            self._run(slurm)
        except (OSError, WorldError) as error:
            self.stderr = f"neuronkit local cloud: {error}"
            self._end("Failed", "Failed", 1)

    def _run(self, slurm: PrivateSlurm) -> None:
        self.started = datetime.now(UTC)
        self.status = self.details = "InProgress"
        directory = slurm.directory / "login" / self.id
        directory.mkdir(parents=True)
        script = directory / "_script.sh"
        script.write_text("\n".join(self.lines) + "\n")
        # `cd` there, because the working directory may exist only on the node.
        argv = slurm.login_command(
            ["sh", "-c", 'cd "$1" && exec sh "$2"', "sh", self.working_directory, str(script)]
        )
        with (directory / "stdout").open("wb") as stdout, (directory / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                argv,
                env=self._environment(slurm),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            timed_out = _wait(process, self._real(self.execution_seconds))
        self.stdout = _start_of(directory / "stdout", STDOUT_CHARACTERS)
        self.stderr = _start_of(directory / "stderr", STDERR_CHARACTERS)
        if timed_out:
            self._end("TimedOut", "Execution Timed Out")
        elif process.returncode == 0:
            self._end("Success", "Success", 0)
        else:
            self._end("Failed", "Failed", process.returncode % 256)

    def _environment(self, slurm: PrivateSlurm) -> dict[str, str]:
        path = f"{slurm.directory / emulation.STAND_INS}:{emulation.programs()}:{_PATH}"
        return {
            **emulation.environment(self.account, self.region),
            **slurm.environment,
            "PATH": path,
            "HOME": "/root",
        }

    def _end(self, status: str, details: str, response_code: int = -1) -> None:
        self.ended = datetime.now(UTC)
        self.response_code = response_code
        # Last: whoever sees a final status may read the rest.
        self.details, self.status = details, status

    def _real(self, seconds: float) -> float:
        return seconds / runtime.current().settings.time_scale

    def describe(self) -> dict[str, Any]:
        """As SendCommand answers."""
        return {
            "CommandId": self.id,
            "DocumentName": "AWS-RunShellScript",
            "Comment": self.comment,
            "ExpiresAfter": self.requested,
            "Parameters": {"commands": list(self.lines)},
            "InstanceIds": [self.node.instance_id],
            "RequestedDateTime": self.requested,
            "Status": self.status,
            "StatusDetails": self.details,
            "TargetCount": 1,
            "TimeoutSeconds": int(self.delivery_seconds),
        }

    def invocation(self) -> dict[str, Any]:
        """As GetCommandInvocation answers. Output appears when the command has ended."""
        return {
            "CommandId": self.id,
            "InstanceId": self.node.instance_id,
            "Comment": self.comment,
            "DocumentName": "AWS-RunShellScript",
            "PluginName": "aws:runShellScript",
            "ResponseCode": self.response_code,
            "ExecutionStartDateTime": _moment(self.started),
            "ExecutionEndDateTime": _moment(self.ended),
            "Status": self.status,
            "StatusDetails": self.details,
            "StandardOutputContent": self.stdout,
            "StandardErrorContent": self.stderr,
        }


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the time was up; what is left of the command is then ended."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() > deadline or runtime.current().stopping.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.01)
    return False


def _start_of(path: Path, characters: int) -> str:
    with path.open(encoding="utf-8", errors="replace") as text:
        return text.read(characters)


def _moment(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""
