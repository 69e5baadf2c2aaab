"""One node of a job as a process of this machine, under `node_supervisor.py`."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

from scripts.local_cloud import runtime
from scripts.local_cloud.batch import container_environment, node_supervisor
from scripts.local_cloud.batch.driver_files import write_driver_files
from scripts.local_cloud.batch.job import Job, Node, now_ms
from scripts.local_cloud.batch.log_stream import LogStream

_addresses = itertools.count(1)


class NodeProcess:
    """Starting one raises InitializationError for what ECS would refuse. `ended` is set when output and process are done."""

    def __init__(self, job: Job, node: Node, directory: Path) -> None:
        self.job = job
        self.node = node
        self.directory = directory
        self.ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._leader: int | None = None

    def start(self) -> None:
        node, job = self.node, self.job
        task_id = uuid.uuid4().hex
        cluster = f"neuronkit-local-cloud/{job.environment_name}"
        node.task_arn = _ecs_arn(job, f"task/{cluster}/{task_id}")
        node.instance_arn = _ecs_arn(job, f"container-instance/{cluster}/{uuid.uuid4().hex}")
        node.address = next_address()
        self._make_directories()
        environment = container_environment.build(job, node, self.directory)
        log = LogStream(job, node, task_id)
        node.log_stream = log.name
        log.write(_banner(node).encode() + b"\n")
        self._launch(environment, log)
        node.started = now_ms()

    def stop(self, grace_seconds: float) -> None:
        """SIGTERM now, SIGKILL after the grace."""
        self._order(f"stop {grace_seconds}")

    def kill(self) -> None:
        """Ends everything of the node at once, and waits for it."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None and not process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        self.ended.wait(5)

    def remove_directory(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _make_directories(self) -> None:
        (self.directory / "work" / "tmp").mkdir(parents=True)
        devices = (self.node.container.get("linuxParameters") or {}).get("devices") or ()
        for device in devices:
            stand_in = self.directory / "devices" / device["hostPath"].removeprefix("/").removeprefix("dev/")
            stand_in.parent.mkdir(parents=True, exist_ok=True)
            stand_in.touch()
        (self.directory / "devices").mkdir(exist_ok=True)
        write_driver_files(self.directory / "sysfs", self.job, self.node)

    def _launch(self, environment: dict[str, str], log: LogStream) -> None:
        specification = {
            "command": self.node.container.get("command") or [],
            "environment": environment,
            "directory": str(self.directory / "work"),
        }
        told, tell = os.pipe()
        output, sink = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", node_supervisor.__file__, str(tell)],
            env={},
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=sink,
            pass_fds=(tell,),
            start_new_session=True,
        )
        os.close(tell)
        os.close(sink)
        self._order(json.dumps(specification))
        threading.Thread(target=self._follow, args=(told, output, log), daemon=True).start()

    def _order(self, line: str) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.closed:
            return
        try:
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
        except BrokenPipeError:
            pass

    def _follow(self, told: int, output: int, log: LogStream) -> None:
        assert self._process is not None
        with os.fdopen(told) as announcement:
            text = announcement.read()
        self._leader = int(text) if text else None
        while data := os.read(output, 65536):
            log.write(data)
        os.close(output)
        status = self._process.wait()
        if status < 0 and self._leader is not None:
            # The supervisor itself was killed, so it could not clean up.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, signal.SIGKILL)
        log.close()
        self.node.exit_code = status if status >= 0 else 128 - status
        self.node.stopped = now_ms()
        self.ended.set()


def _banner(node: Node) -> str:
    return (
        f"neuronkit local cloud: image {node.container['image']} is emulated by this machine's Python "
        f"{platform.python_version()} in a plain process; no container, no Neuron device"
    )


def _ecs_arn(job: Job, resource: str) -> str:
    return f"arn:{job.arn.split(':')[1]}:ecs:{job.region}:{job.account}:{resource}"


def next_address() -> str:
    """A loopback address of its own for each node, where the system answers to all of 127.0.0.0/8."""
    if sys.platform != "linux":
        return "127.0.0.1"
    number = next(_addresses) % (256 * 254)
    return f"127.77.{number // 254}.{number % 254 + 1}"


def job_directory(job: Job) -> Path:
    return runtime.current().state_dir / "jobs" / job.id / f"attempt-{job.attempt}"
