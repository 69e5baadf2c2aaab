"""The encoder's server as a process on loopback, with the stand-in: batches, overload, SIGTERM, wrong bodies."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from exporter.names import FINISHED, RUNNING, WAITING

PAYLOADS = Path(__file__).resolve().parents[4] / "stacks" / "payload"
Answer = tuple[int, dict[str, Any], dict[str, str]]


class Server:
    def __init__(self, *words: str) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        given = [
            "--model",
            "/none",
            "--name",
            "bert",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--artifacts",
            "/none",
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "encoder", *given, "--backend", "stand-in", *words],
            env={**os.environ, "PYTHONPATH": str(PAYLOADS)},
            stderr=subprocess.PIPE,
            text=True,
        )

    def await_ready(self) -> Server:
        deadline = time.monotonic() + 20
        while True:
            try:
                if self.get("/ready")[0] == 200:
                    return self
            except OSError:
                assert self.process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def get(self, path: str) -> Answer:
        return self._ask("GET", path, None, {})

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._ask("POST", path, data, headers)

    def embed(self, given: Any) -> Answer:
        return self.post("/v1/embeddings", {"input": given, "model": "bert"})

    def metric(self, name: str) -> float:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} "))

    def await_requests(self, *, running: int, waiting: int = 0) -> None:
        deadline = time.monotonic() + 10
        while (
            self.metric("neuronkit_requests_running"),
            self.metric("neuronkit_requests_waiting"),
        ) != (running, waiting):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def _ask(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), dict(answer.getheaders())
        finally:
            connection.close()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=20)
        return self.process.returncode


@pytest.fixture
def start() -> Iterator[Any]:
    servers: list[Server] = []

    def _start(*words: str) -> Server:
        servers.append(Server(*words))
        return servers[-1]

    yield _start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server(
        "--batches", "1,4", "--lengths", "4,8", "--body-bytes-max", "2000", "--queue", "6"
    ).await_ready()
    yield found
    assert found.end() == 0


def test_embeddings_have_openais_shape(server: Server) -> None:
    status, body, _ = server.embed(["one two", "three"])
    assert status == 200
    assert [row["index"] for row in body["data"]] == [0, 1]
    assert body["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
    assert (body["object"], body["model"]) == ("list", "bert")
    norms = [sum(x * x for x in row["embedding"]) for row in body["data"]]
    assert norms == pytest.approx([1, 1])


def test_a_stand_in_says_so(server: Server) -> None:
    assert "stand-in" in server.embed("x")[1]["note"]


def test_predict_and_embeddings_see_the_same_input(server: Server) -> None:
    outputs = server.post("/predict", {"inputs": "one two"})[1]["outputs"]
    assert outputs == [server.embed("one two")[1]["data"][0]["embedding"]]


def test_tokens_are_taken_as_they_are(server: Server) -> None:
    assert server.embed([1, 2, 3])[1]["data"][0] == server.embed([[1, 2, 3]])[1]["data"][0]
    assert len(server.embed([[1], [2, 3]])[1]["data"]) == 2


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 1500, "no JSON"),
        ([], 'object with "input"'),
        ({}, 'object with "input"'),
        ({"input": []}, "empty"),
        ({"input": 7}, "a text, a list of tokens"),
        ({"input": ""}, "none may be empty"),
        ({"input": [[1, "a"]]}, "a text, a list of tokens"),
        ({"input": [-1]}, "a text, a list of tokens"),
        ({"input": "x", "model": "gpt"}, "no model is called 'gpt'"),
        ({"input": "a b c d e f g h i"}, "9 tokens; 8 at most"),
        ({"input": ["x"] * 7}, "7 inputs in a request; 6 at most"),
    ],
)
def test_a_wrong_body_is_the_clients_fault_and_said(server: Server, body: Any, words: str) -> None:
    status, answer, _ = server.post("/v1/embeddings", body)
    assert (status, words in answer["error"]["message"]) == (400, True)
    assert server.embed("still here")[0] == 200


def test_a_huge_body_is_refused_before_it_is_read(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert server.embed("still here")[0] == 200


@pytest.mark.parametrize(
    "length", [b"", b"Content-Length: -1\r\n", b"Content-Length: many\r\n", b"Transfer-Encoding: chunked\r\n"]
)
def test_a_body_without_a_length_is_refused(server: Server, length: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 411 ")


def test_other_paths_and_methods(server: Server) -> None:
    assert server.get("/nothing")[0] == 404
    assert server.post("/nothing", {})[0] == 404
    assert server.get("/v1/models")[1]["data"][0]["id"] == "bert"
    assert server.get("/health")[0] == 200


def test_a_connection_serves_many_requests(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for text in ("one", "two"):
        connection.request("POST", "/predict", json.dumps({"inputs": text}))
        assert connection.getresponse().read()
    connection.close()


def test_a_failing_batch_is_its_requests_answer_and_then_the_servers_state(start: Any) -> None:
    server = start("--batches", "1", "--lengths", "8").await_ready()
    for _ in range(2):
        status, body, _ = server.embed([13])
        assert (status, "fails on token 13" in body["error"]["message"]) == (500, True)
    assert server.embed("fine")[0] == 200
    for _ in range(3):
        server.embed([13])
    assert (server.get("/health")[0], server.get("/ready")[0], server.embed("fine")[0]) == (200, 503, 503)


def test_requests_that_come_together_share_batches(start: Any) -> None:
    server = start(
        "--batches", "1,2,8", "--lengths", "8", "--stand-in-seconds", "0.2", "--batch-wait-seconds", "0.2"
    ).await_ready()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(server.embed, [f"word {n}" for n in range(8)]))
    assert [status for status, _, _ in answers] == [200] * 8
    assert server.metric("neuronkit_batches_total") <= 2
    assert server.metric("neuronkit_inputs_total") == 8
    alone = [server.embed(f"word {n}")[1]["data"] for n in range(8)]
    assert [body["data"] for _, body, _ in answers] == alone


def test_cores_work_side_by_side(start: Any) -> None:
    words = ("--batches", "1", "--lengths", "8", "--stand-in-seconds", "1.5")
    server = start(*words, "--cores", "4").await_ready()
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        pending = [pool.submit(server.embed, f"x {n}") for n in range(4)]
        server.await_requests(running=4)
        assert [answer.result()[0] for answer in pending] == [200] * 4
    assert time.monotonic() - began < 4 * 1.5
    assert server.metric("neuronkit_requests_running") == 0


def test_lengths_do_not_share_a_batch(start: Any) -> None:
    server = start("--batches", "8", "--lengths", "2,8", "--batch-wait-seconds", "0.2").await_ready()
    assert server.embed(["a", "a b c", "b", "a b c d"])[0] == 200
    assert server.metric("neuronkit_batches_total") == 2
    assert server.metric("neuronkit_padding_total") == 12


def test_overload_is_answered_at_once_and_counted(start: Any) -> None:
    server = start(
        "--batches", "1", "--lengths", "8", "--queue", "2", "--stand-in-seconds", "0.5"
    ).await_ready()
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(server.embed, ["x"] * 10))
    statuses = [status for status, _, _ in answers]
    assert set(statuses) == {200, 429}
    assert 2 <= statuses.count(200) <= 4
    assert all("Retry-After" in headers for status, _, headers in answers if status == 429)
    assert server.metric("neuronkit_rejected_total") == statuses.count(429)


def test_what_waits_and_runs_is_seen_while_it_does(start: Any) -> None:
    server = start("--batches", "1", "--lengths", "8", "--stand-in-seconds", "1").await_ready()
    with ThreadPoolExecutor(3) as pool:
        pending = [pool.submit(server.embed, "x") for _ in range(3)]
        server.await_requests(running=1, waiting=2)
        assert [answer.result()[0] for answer in pending] == [200] * 3
    server.await_requests(running=0)


def test_the_exporter_knows_these_metrics(server: Server) -> None:
    for names in (RUNNING, WAITING, FINISHED):
        assert any(server.metric(name) >= 0 for name in names if name.startswith("neuronkit_"))


def test_sigterm_in_the_middle_of_a_request_lets_it_end(start: Any) -> None:
    server = start("--batches", "1", "--lengths", "8", "--stand-in-seconds", "3").await_ready()
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(server.embed, "x")
        server.await_requests(running=1)
        server.process.send_signal(signal.SIGTERM)
        while server.get("/ready")[0] != 503:
            assert not pending.done()
        status, body, headers = server.embed("late")
        assert (status, body["error"]["message"], headers["Connection"]) == (503, "draining", "close")
        assert pending.result()[0] == 200
    server.process.communicate(timeout=10)
    assert server.process.returncode == 0


def test_draining_is_bounded(start: Any) -> None:
    server = start(
        "--batches", "1", "--lengths", "8", "--stand-in-seconds", "8", "--drain-seconds", "0.2"
    ).await_ready()
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(server.embed, "x")
        server.await_requests(running=1)
        began = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - began < 6
        with pytest.raises((OSError, http.client.HTTPException)):
            pending.result()


def test_it_is_alive_before_it_is_ready_and_can_be_stopped_then(start: Any) -> None:
    server = start("--batches", "1", "--lengths", "8", "--stand-in-seconds", "30")
    deadline = time.monotonic() + 10
    while True:
        try:
            found = (server.get("/health")[0], server.get("/ready")[0], server.embed("x")[0])
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert found == (200, 503, 503)
    assert server.end() == 128 + signal.SIGTERM


def test_an_image_without_its_framework_is_said() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "encoder", "--model", "/none", "--name", "m", "--port", "0", "--artifacts", "/none"],
        env={**os.environ, "PYTHONPATH": str(PAYLOADS)}, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert ended.returncode == 69
    assert "the image has no torch" in ended.stderr
    assert "Traceback" not in ended.stderr
