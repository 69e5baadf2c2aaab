"""The text that starts an engine, run by a real shell: model, compiled graphs, then the engine as the first process.

`vllm` is a small HTTP server in its place, and boto3 a module that copies from a directory.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.render.engine_container import ARTIFACTS_PATH, EngineContainer
from stacks.domain.render.engines import LOCAL_PATH, compile_container, engine_container
from tests.environments import plan_of
from tests.unit.domain.fleet_cases import fleet, trn2

VLLM = """#!{python}
import http.server, json, os, pathlib, signal, sys
compiled = pathlib.Path(os.environ.get("NEURON_COMPILED_ARTIFACTS") or os.environ["VLLM_CACHE_ROOT"])
was_warm = (compiled / "graph").exists()
compiled.mkdir(parents=True, exist_ok=True)
(compiled / "graph").write_text("graph")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
words = sys.argv[1:]
told = {{"pid": os.getpid(), "words": words, "warm": was_warm, "model": os.listdir(words[1]),
        "metrics": os.listdir(os.environ["PROMETHEUS_MULTIPROC_DIR"])}}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", int(words[words.index("--port") + 1])), Handler).serve_forever()
"""
BOTO3 = """
import pathlib, shutil
class Client:
    def get_paginator(self, _): return self
    def paginate(self, Bucket, Prefix):
        root = pathlib.Path({root!r})
        return [{{"Contents": [{{"Key": Prefix + p.name}} for p in (root / Bucket / Prefix).glob("*")]}}]
    def download_file(self, bucket, key, path): shutil.copy(pathlib.Path({root!r}, bucket, key), path)
def client(_): return Client()
"""


class Host:
    """A machine's directories in one of the test's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "bin").mkdir()
        (root / "bin" / "vllm").write_text(VLLM.format(python=sys.executable))
        (root / "bin" / "vllm").chmod(0o755)
        (root / "bin" / "python3").symlink_to(sys.executable)
        (root / "modules").mkdir()
        (root / "modules" / "boto3.py").write_text(BOTO3.format(root=str(root / "s3")))
        model = root / "s3" / "mine" / "models" / "llama-3.1-8b"
        model.mkdir(parents=True)
        (model / "config.json").write_text("{}")
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self.started: list[subprocess.Popen[str]] = []

    def _here(self, text: str, port: int) -> str:
        for path in (ARTIFACTS_PATH, LOCAL_PATH):
            text = text.replace(path, f"{self.root}{path}")
        return text.replace(f"--port {port}", f"--port {self.port}").replace(
            f"127.0.0.1:{port}", f"127.0.0.1:{self.port}"
        )

    def start(self, container: EngineContainer, **more: str) -> subprocess.Popen[str]:
        variables = {name: self._here(value, container.port) for name, value in container.environment}
        process = subprocess.Popen(
            ["/bin/sh", *container.entry_point[1:], self._here(container.command[0], container.port)],
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin", "PYTHONPATH": str(self.root / "modules"), "NEURONKIT_BUCKET": "mine", **variables, **more},
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.started.append(process)
        return process

    def told(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        deadline = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                    found: dict[str, Any] = json.loads(answer.read())
                    return found
            except OSError:
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < deadline
                time.sleep(0.1)

    def serve_once(self, container: EngineContainer) -> tuple[dict[str, Any], str]:
        """What the engine was told, and what the start said."""
        process = self.start(container)
        found = self.told(process)
        process.send_signal(signal.SIGTERM)
        words = process.communicate(timeout=20)[1]
        assert (found["pid"], process.returncode) == (process.pid, 0)
        return found, words

    def new_machine(self) -> None:
        """Another node: only the file system of the fleet is the same."""
        shutil.rmtree(f"{self.root}{LOCAL_PATH}", ignore_errors=True)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    found = Host(tmp_path)
    yield found
    for process in found.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def containers(changes: dict[str, Any]) -> tuple[EngineContainer, EngineContainer]:
    plan = plan_of(changes)
    found = plan.fleet("chat")
    compiles = compile_container(plan, found)
    assert compiles is not None
    return engine_container(plan, found, found.slices[0]), compiles


@pytest.mark.parametrize("changes", [fleet(), trn2()], ids=["vllm-nxdi", "vllm-neuron"])
def test_the_engine_is_the_process_that_ecs_stops(host: Host, changes: dict[str, Any]) -> None:
    """`serve_once` compares the process ids, and expects SIGTERM to reach the engine."""
    told, words = host.serve_once(containers(changes)[0])
    assert told["words"][0] == "serve"
    assert "config.json" in told["model"]
    assert "cold" in words


@pytest.mark.parametrize("changes", [fleet(), trn2(), trn2(compile_on="cpu")], ids=["nxdi", "neuron", "cpu"])
def test_after_the_compile_task_a_new_node_starts_warm(host: Host, changes: dict[str, Any]) -> None:
    serves, compiles = containers(changes)
    task = host.start(compiles)
    words = task.communicate(timeout=60)[1]
    assert (task.returncode, "saved" in words) == (0, True)
    host.new_machine()
    told, words = host.serve_once(serves)
    assert (told["warm"], "warm" in words, "cold" in words) == (True, True, False)


def test_without_the_compile_task_each_node_is_cold(host: Host) -> None:
    serves, _ = containers(fleet())
    host.serve_once(serves)
    host.new_machine()
    assert not host.serve_once(serves)[0]["warm"]


def test_graphs_of_another_shape_are_not_used(host: Host) -> None:
    host.start(containers(fleet())[1]).communicate(timeout=60)
    host.new_machine()
    assert not host.serve_once(containers(fleet(sequences=4))[0])[0]["warm"]


def test_metrics_of_a_former_process_are_gone(host: Host) -> None:
    former = Path(f"{host.root}{LOCAL_PATH}/metrics")
    former.mkdir(parents=True)
    (former / "old.db").touch()
    assert host.serve_once(containers(fleet())[0])[0]["metrics"] == []


def test_a_model_that_is_not_there_ends_the_start_with_words(host: Host) -> None:
    process = host.start(containers(fleet())[0], NEURONKIT_BUCKET="another")
    words = process.communicate(timeout=30)[1]
    assert (process.returncode, "has no files" in words, "Traceback" in words) == (69, True, False)


def test_a_start_that_fetches_can_be_stopped(host: Host) -> None:
    slow = host.root / "modules" / "boto3.py"
    slow.write_text(
        f"import pathlib, time\npathlib.Path({str(host.root / 'began')!r}).touch()\ntime.sleep(60)\n"
    )
    process = host.start(containers(fleet())[0])
    deadline = time.monotonic() + 20
    while not (host.root / "began").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 143


def test_an_image_without_python_is_said(host: Host) -> None:
    empty = host.root / "empty"
    empty.mkdir()
    process = host.start(containers(fleet())[0], PATH=str(empty))
    assert process.communicate(timeout=30)[1].startswith("neuronkit: the image has no python3")
    assert process.returncode == 69
