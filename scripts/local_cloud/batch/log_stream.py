"""A node's output, line by line, to CloudWatch Logs, as the awslogs driver sends it."""

from __future__ import annotations

import contextlib
import time

from moto.logs.exceptions import ResourceAlreadyExistsException
from moto.logs.models import LogsBackend, logs_backends

from scripts.local_cloud import runtime
from scripts.local_cloud.batch.container_environment import InitializationError
from scripts.local_cloud.batch.job import Job, Node

_DEFAULT_GROUP = "/aws/batch/job"
# Docker cuts longer lines.
_MAX_LINE_BYTES = 16 * 1024


class LogStream:
    def __init__(self, job: Job, node: Node, task_id: str) -> None:
        configuration = node.container.get("logConfiguration") or {}
        driver = configuration.get("logDriver", "awslogs")
        if driver != "awslogs":
            raise InitializationError(
                f"CannotStartContainerError: log driver {driver} is not emulated by the local cloud"
            )
        options = configuration.get("options") or {}
        self.group = options.get("awslogs-group", _DEFAULT_GROUP)
        prefix = options.get("awslogs-stream-prefix", job.definition.name)
        self.name = f"{prefix}/default/{task_id}"
        self._backend: LogsBackend = logs_backends[job.account][options.get("awslogs-region", job.region)]
        self._rest = b""
        # Batch makes its default group itself; any other has to exist.
        create = (
            self.group == _DEFAULT_GROUP or options.get("awslogs-create-group", "false").lower() == "true"
        )
        self._open(create)

    def _open(self, create_group: bool) -> None:
        with runtime.current().moto_lock:
            if self.group not in self._backend.groups:
                if not create_group:
                    raise InitializationError(
                        "CannotStartContainerError: Error response from daemon: failed to initialize logging driver: "
                        f"failed to create Cloudwatch log stream: ResourceNotFoundException: The specified log group "
                        f"does not exist. ({self.group})"
                    )
                self._backend.create_log_group(self.group, {})
            with contextlib.suppress(ResourceAlreadyExistsException):
                self._backend.create_log_stream(self.group, self.name)

    def write(self, data: bytes) -> None:
        """Passes on every whole line at once; the rest waits for its end, or for `close`."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > _MAX_LINE_BYTES:
            lines.append(self._rest[:_MAX_LINE_BYTES])
            self._rest = self._rest[_MAX_LINE_BYTES:]
        self._put(lines)

    def close(self) -> None:
        if self._rest:
            self._put([self._rest])
        self._rest = b""

    def _put(self, lines: list[bytes]) -> None:
        timestamp = int(time.time() * 1000)
        events = [
            {"timestamp": timestamp, "message": piece.decode(errors="replace")}
            for line in lines
            for piece in _pieces(line.removesuffix(b"\r"))
        ]
        if not events:
            return
        with runtime.current().moto_lock:
            # Somebody may have deleted the group: the awslogs driver drops the output then.
            if self.group in self._backend.groups and self.name in self._backend.groups[self.group].streams:
                self._backend.put_log_events(self.group, self.name, events)


def _pieces(line: bytes) -> list[bytes]:
    return [line[start : start + _MAX_LINE_BYTES] for start in range(0, len(line), _MAX_LINE_BYTES)]
