"""The exporter as a process, out of its container's command, beside an engine's stand-in."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from stacks.domain.render.engine import render
from stacks.domain.render.exporter import ExporterScript
from stacks.domain.render.travelling_program import travelling_program
from tests.serving.engine_process import EngineProcess, free_port


class Exporter:
    def __init__(self, port: int, stall_seconds: float) -> None:
        variables = {
            "NEURONKIT_ENVIRONMENT": "pilot",
            "NEURONKIT_FLEET": "chat",
            "NEURONKIT_SIDE": "neuron",
            "NEURONKIT_ENGINE_PORT": str(port),
            "NEURONKIT_INTERVAL_SECONDS": "0.1",
            "NEURONKIT_TIMEOUT_SECONDS": "0.3",
            "NEURONKIT_STALL_SECONDS": str(stall_seconds),
            "PATH": os.environ["PATH"],
        }
        script = render(ExporterScript(travelling_program("exporter")))
        self.process = subprocess.Popen(
            ["sh", "-c", script], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[dict[str, Any]] = []
        self.words: list[str] = []
        self.readers = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_words, daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read_lines(self) -> None:
        assert self.process.stdout
        self.lines.extend(json.loads(line) for line in iter(self.process.stdout.readline, ""))

    def _read_words(self) -> None:
        assert self.process.stderr
        for line in iter(self.process.stderr.readline, ""):
            self.words.append(line)

    def wait_for(self, what: Callable[[], object], seconds: float = 15) -> None:
        end = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < end, (self.lines[-1:], self.words)
            time.sleep(0.02)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


@contextlib.contextmanager
def exporter_of(port: int, stall_seconds: float = 60) -> Iterator[Exporter]:
    exporter = Exporter(port, stall_seconds)
    try:
        yield exporter
    finally:
        if exporter.process.poll() is None:
            exporter.process.kill()
        exporter.process.wait()
        for reader in exporter.readers:
            reader.join(5)
        for pipe in (exporter.process.stdout, exporter.process.stderr):
            if pipe:
                pipe.close()


def ask_in_background(port: int, tokens: int) -> threading.Thread:
    def ask() -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        with contextlib.suppress(OSError, Exception):
            connection.request(
                "POST",
                "/v1/completions",
                json.dumps({"model": "stand-in", "prompt": "a", "max_tokens": tokens}),
            )
            connection.getresponse().read()
        connection.close()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("names", ["new", "old"])
def test_metrics_in_the_embedded_format(names: str) -> None:
    with EngineProcess(names=names, token_seconds=0.02) as engine, exporter_of(engine.port) as exporter:
        exporter.wait_for(lambda: exporter.lines)
        asked = ask_in_background(engine.port, 100)
        exporter.wait_for(lambda: any(line["RequestsRunning"] == 1 for line in exporter.lines))
        exporter.wait_for(lambda: any(line.get("EngineTokens", 0) > 0 for line in exporter.lines))
        assert exporter.end() == 0
        line = next(line for line in exporter.lines if line["RequestsRunning"] == 1)
        directive = line["_aws"]["CloudWatchMetrics"][0]
        assert directive["Namespace"] == "neuronkit/serving"
        assert directive["Dimensions"] == [["Environment", "Fleet", "Side"]]
        assert {metric["Name"] for metric in directive["Metrics"]} == set(line) - {
            "_aws",
            "Environment",
            "Fleet",
            "Side",
        }
        assert abs(line["_aws"]["Timestamp"] / 1000 - time.time()) < 60
        assert (line["Replicas"], line["EngineProgress"], line["EngineStalled"], line["CacheUsage"]) == (
            1,
            1,
            0,
            0.25,
        )
        engine.terminate()
        asked.join(5)


def test_a_late_start_a_death_and_a_restart() -> None:
    port = free_port()
    with exporter_of(port, stall_seconds=1) as exporter:
        exporter.wait_for(lambda: exporter.words)
        time.sleep(1.3)
        assert exporter.lines == []
        for _ in range(2):
            with EngineProcess(port=port, start_seconds=0.2):
                count = len(exporter.lines)
                exporter.wait_for(lambda count=count: len(exporter.lines) > count)
        count = len(exporter.lines)
        time.sleep(1.3)
        assert len(exporter.lines) <= count + 1
        assert exporter.end() == 0


def test_garbage_and_slow_answers_are_no_values_and_no_end() -> None:
    with EngineProcess() as engine, exporter_of(engine.port) as exporter:
        exporter.wait_for(lambda: exporter.lines)
        for trouble, word in (
            ({"garbage": True}, "no line of Prometheus"),
            ({"metrics_delay_seconds": 2}, "does not answer"),
        ):
            engine.set(garbage=False, **trouble) if "garbage" not in trouble else engine.set(**trouble)
            exporter.wait_for(lambda word=word: any(word in text for text in exporter.words))
        engine.set(garbage=False, metrics_delay_seconds=0)
        count = len(exporter.lines)
        exporter.wait_for(lambda: len(exporter.lines) > count)
        assert exporter.process.poll() is None


def test_a_dead_engine_with_green_health_ends_the_task() -> None:
    with EngineProcess(token_seconds=0.02) as engine, exporter_of(engine.port, stall_seconds=1) as exporter:
        asked = ask_in_background(engine.port, 1000)
        exporter.wait_for(lambda: any(line["RequestsRunning"] == 1 for line in exporter.lines))
        engine.set(dead=True)
        assert exporter.process.wait(10) == 70
        exporter.wait_for(lambda: exporter.lines[-1]["EngineStalled"] == 1)
        assert engine.is_healthy()
        assert any(line["EngineProgress"] == 0 and line["EngineStalled"] == 0 for line in exporter.lines)
        assert "stalled" in exporter.words[-1]
        engine.kill()
        asked.join(5)


def test_a_long_first_token_is_no_stall() -> None:
    with (
        EngineProcess(first_token_seconds=0.8, tokens=2) as engine,
        exporter_of(engine.port, stall_seconds=2) as exporter,
    ):
        ask_in_background(engine.port, 2).join(10)
        exporter.wait_for(lambda: exporter.lines)
        assert exporter.process.poll() is None
