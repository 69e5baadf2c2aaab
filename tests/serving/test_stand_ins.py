"""The stand-ins themselves: what other tests rely on."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.serving.engine_process import EngineProcess
from tests.serving.front import Front, Group

ASK = {"model": "stand-in", "prompt": "one two", "max_tokens": 5}


@contextlib.contextmanager
def stream(port: int, **more: object) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/v1/completions", json.dumps({**ASK, "stream": True, **more}))
    response = connection.getresponse()
    try:
        yield response
    finally:
        response.close()
        connection.close()


def lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """To the end, or to where the connection is cut."""
    with contextlib.suppress(http.client.HTTPException, ValueError, OSError):
        while line := response.readline():
            yield line


def value(text: bytes, name: str) -> float:
    return next(float(line.split()[-1]) for line in text.decode().splitlines() if line.startswith(name + "{"))


def test_an_engine_answers_streams_and_counts() -> None:
    with EngineProcess() as engine:
        status, body = engine.request("POST", "/v1/completions", ASK)
        assert status == 200
        assert json.loads(body)["usage"]["completion_tokens"] == 5
        with stream(engine.port) as response:
            events = response.read().decode().strip().split("\n\n")
        assert len(events) == 6
        assert events[-1] == "data: [DONE]"
        metrics = engine.request("GET", "/metrics")[1]
        assert value(metrics, "vllm:generation_tokens_total") == 10
        assert value(metrics, "vllm:num_requests_running") == 0


def test_nothing_listens_before_the_start_is_over() -> None:
    with EngineProcess(wait=False, start_seconds=0.6) as engine:
        assert not engine.is_healthy()
        engine.wait_healthy()


def test_a_dead_engine_is_green_and_makes_no_token() -> None:
    with EngineProcess(token_seconds=0.02) as engine, stream(engine.port, max_tokens=1000) as response:
        response.readline()
        engine.set(dead=True)
        time.sleep(0.1)
        first = value(engine.request("GET", "/metrics")[1], "vllm:generation_tokens_total")
        time.sleep(0.2)
        metrics = engine.request("GET", "/metrics")[1]
        assert value(metrics, "vllm:generation_tokens_total") == first
        assert value(metrics, "vllm:num_requests_running") == 1
        assert engine.is_healthy()


def test_overload_is_refused() -> None:
    with EngineProcess() as engine:
        engine.set(overloaded=True)
        assert engine.request("POST", "/v1/completions", ASK)[0] == 503


@pytest.mark.parametrize(("shutdown_seconds", "whole"), [(10, True), (0, False)])
def test_sigterm_in_the_middle_of_a_stream(shutdown_seconds: float, whole: bool) -> None:
    options = {"token_seconds": 0.05, "shutdown_seconds": shutdown_seconds}
    with EngineProcess(**options) as engine, stream(engine.port, max_tokens=10) as response:
        response.readline()
        engine.terminate()
        text = b"".join(lines(response)).decode()
        assert ("[DONE]" in text) is whole
        assert engine.process is not None
        assert engine.process.wait(5) == 0


def ask(front: Front) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=10)
    try:
        connection.request("POST", "/v1/completions?a=b", json.dumps(ASK))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_the_front_sends_by_weight_alone() -> None:
    seen: list[dict[str, Any]] = []

    def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
        seen.append(event)
        return {"statusCode": 503, "headers": {"Retry-After": "7"}, "body": "{}"}

    weights = {"engine": 0, "waker": 1}
    with (
        EngineProcess() as engine,
        Front([Group("engine"), Group("waker", handler)], lambda: weights) as front,
    ):
        assert ask(front) == (503, {})
        assert seen[0]["queryStringParameters"] == {"a": "b"}
        assert seen[0]["path"] == "/v1/completions"
        weights.update(engine=1, waker=0)
        assert ask(front) == (503, {"front": "no target is registered"})
        target = front.register("engine", engine.port)
        status, body = ask(front)
        assert (status, body["usage"]["completion_tokens"]) == (200, 5)
        end = time.monotonic() + 5
        while target.state != "healthy" and time.monotonic() < end:
            time.sleep(0.05)
        assert target.state == "healthy"
        front.deregister("engine", target)
        assert ask(front)[0] == 503


def test_a_silent_target_is_cut_at_the_idle_timeout() -> None:
    with (
        EngineProcess(first_token_seconds=2) as engine,
        Front([Group("engine")], lambda: {"engine": 1}, idle_timeout_seconds=0.3) as front,
    ):
        front.register("engine", engine.port)
        assert ask(front)[0] == 504
