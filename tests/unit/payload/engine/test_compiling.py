"""A compile task ends by itself, saves what was made, and never leaves an engine behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PAYLOADS = Path(__file__).resolve().parents[4] / "stacks" / "payload"
ENGINE = """
import http.server, os, pathlib, sys, time
port, local, after = int(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
pathlib.Path(sys.argv[4]).write_text(str(os.getpid()))
local.mkdir(parents=True, exist_ok=True)
time.sleep(after)
(local / "graph.neff").write_text("graph")
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", port), H).serve_forever()
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Task:
    def __init__(self, directory: Path) -> None:
        self.directory, self.port = directory, free_port()
        (directory / "engine.py").write_text(ENGINE)
        self.local, self.shared, self.pid_file = (
            directory / "local",
            directory / "shared" / "key",
            directory / "pid",
        )

    def start(self, *command: str, seconds: str = "20") -> subprocess.Popen[str]:
        words = ["compile", "--shared", str(self.shared), "--local", str(self.local), "--manifest", '{"a":1}']
        words += ["--ready", f"http://127.0.0.1:{self.port}/health", "--seconds", seconds, "--", *command]
        return subprocess.Popen(
            [sys.executable, "-m", "engine", *words],
            env={**os.environ, "PYTHONPATH": str(PAYLOADS)},
            stderr=subprocess.PIPE,
            text=True,
        )

    def engine(self, after: float = 0.2) -> tuple[str, ...]:
        return (sys.executable, str(self.directory / "engine.py"), str(self.port), str(self.local), str(after), str(self.pid_file))  # fmt: skip

    def run(self, *command: str, seconds: str = "20") -> tuple[int, str]:
        process = self.start(*command, seconds=seconds)
        words = process.communicate(timeout=60)[1]
        return process.returncode, words

    def engine_is_gone(self) -> bool:
        try:
            os.kill(int(self.pid_file.read_text()), 0)
        except ProcessLookupError:
            return True
        return False


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)


def test_it_saves_when_the_engine_is_ready_and_ends_it(task: Task) -> None:
    assert task.run(*task.engine())[0] == 0
    assert (task.shared / "files" / "graph.neff").read_text() == "graph"
    assert task.engine_is_gone()


def test_a_second_task_finds_its_work_done(task: Task) -> None:
    task.run(*task.engine())
    task.pid_file.unlink()
    status, words = task.run(*task.engine())
    assert (status, "warm already" in words, task.pid_file.exists()) == (0, True, False)


def test_an_engine_that_ends_by_itself_with_success_is_saved(task: Task) -> None:
    made = f"import pathlib; p = pathlib.Path({str(task.local)!r}); p.mkdir(); (p / 'g').touch()"
    assert task.run(sys.executable, "-c", made)[0] == 0
    assert (task.shared / "files" / "g").exists()


def test_an_engine_that_fails_saves_nothing_and_its_status_is_said(task: Task) -> None:
    status, words = task.run(sys.executable, "-c", "raise SystemExit(7)")
    assert (status, "ended with 7" in words, task.shared.exists()) == (69, True, False)


def test_waiting_for_the_engine_is_bounded(task: Task) -> None:
    status, words = task.run(*task.engine(after=60), seconds="1")
    assert (status, "not ready within 1 s" in words, task.shared.exists()) == (69, True, False)
    assert task.engine_is_gone()


def test_a_task_that_is_stopped_ends_its_engine(task: Task) -> None:
    process = task.start(*task.engine(after=60))
    deadline = time.monotonic() + 20
    while not task.pid_file.exists() or not task.pid_file.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    words = process.communicate(timeout=30)[1]
    assert (process.returncode, "nothing is saved" in words) == (69, True)
    assert task.engine_is_gone()
