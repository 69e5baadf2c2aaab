"""Starts and ends an engine stand-in as a process of its own."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


class EngineProcess:
    """`with EngineProcess(token_seconds=0.1) as engine:` waits until it serves, unless wait=False."""

    def __init__(self, *, wait: bool = True, port: int | None = None, **options: object) -> None:
        self.port = port or free_port()
        self.wait = wait
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        self.command = [sys.executable, "-m", "tests.serving.engine_stand_in", f"--port={self.port}", *words]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> EngineProcess:
        self.process = subprocess.Popen(self.command, cwd=ROOT)
        if self.wait:
            self.wait_healthy()
        return self

    def wait_healthy(self, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not self.is_healthy():
            assert self.process is not None
            assert self.process.poll() is None, "the stand-in ended"
            assert time.monotonic() < end, "the stand-in does not start"
            time.sleep(0.05)

    def is_healthy(self) -> bool:
        try:
            return self.request("GET", "/health")[0] == 200
        except OSError:
            return False

    def request(self, method: str, path: str, body: Any = None, seconds: float = 20) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def set(self, **settings: object) -> None:
        assert self.request("POST", "/stand-in", settings)[0] == 200

    def terminate(self) -> None:
        """SIGTERM, without waiting."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> EngineProcess:
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
