"""HTTP in front of the batcher.

The standard library's server: of AWS's inference images nothing states that they have FastAPI or uvicorn (their
Dockerfiles install TorchServe, which is no longer maintained), and each has Python. The load balancer keeps few
connections, and the chips bound the throughput, not this.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import wait
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from encoder.backend import Backend, StandIn
from encoder.batcher import FAILURES_MAX, Batcher, OverloadedError, TooLongError
from encoder.neuron_backend import MissingError, NeuronBackend
from encoder.options import Options, options
from encoder.requests import BadRequestError, embeddings_answer, predict_answer, read_rows

RETRY_SECONDS = "1"
POLL_SECONDS = 0.05
UNAVAILABLE = 69
STOPPED = 128 + signal.SIGTERM


class Service:
    """What the handlers share."""

    def __init__(self, found: Options, backend: Backend, batcher: Batcher) -> None:
        self.options = found
        self.backend = backend
        self.batcher = batcher
        self.is_warm = threading.Event()
        self.is_draining = threading.Event()
        self._lock = threading.Lock()
        self._active = 0
        self.rejected_total = 0

    def enter(self) -> None:
        with self._lock:
            self._active += 1

    def leave(self) -> None:
        with self._lock:
            self._active -= 1

    def reject(self) -> None:
        with self._lock:
            self.rejected_total += 1

    @property
    def active(self) -> int:
        with self._lock:
            return self._active

    def why_not_ready(self) -> str:
        """Empty: it is."""
        if self.is_draining.is_set():
            return "draining"
        if not self.is_warm.is_set():
            return "warming"
        if self.batcher.counts().failures_in_a_row >= FAILURES_MAX:
            return f"the last {FAILURES_MAX} batches failed"
        return ""

    def metrics(self) -> str:
        counts = self.batcher.counts()
        rows = (
            ("neuronkit_requests_running", "gauge", "inputs in a batch", counts.running),
            ("neuronkit_requests_waiting", "gauge", "inputs that wait", counts.waiting),
            ("neuronkit_inputs_total", "counter", "inputs answered", counts.inputs_total),
            ("neuronkit_batches_total", "counter", "runs", counts.batches_total),
            ("neuronkit_padding_total", "counter", "rows that filled batches", counts.padded_inputs_total),
            ("neuronkit_rejected_total", "counter", "requests not taken", self.rejected_total),
        )
        return "".join(
            f"# HELP {name} {words}\n# TYPE {name} {kind}\n{name} {value}\n"
            for name, kind, words, value in rows
        )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(200, {"status": "alive"})
        elif self.path == "/ready":
            why = self.service.why_not_ready()
            self._answer(503 if why else 200, {"status": why or "ready"})
        elif self.path == "/metrics":
            self._send(200, self.service.metrics().encode(), "text/plain; version=0.0.4")
        elif self.path == "/v1/models":
            model = {"id": self.service.options.name, "object": "model"}
            self._answer(200, {"object": "list", "data": [model]})
        else:
            self._fail(404, f"no {self.path} here")

    def do_POST(self) -> None:
        self.service.enter()
        try:
            self._post()
        finally:
            self.service.leave()

    def _post(self) -> None:
        body = self._body()
        if body is None:
            return
        if self.path not in ("/v1/embeddings", "/predict"):
            self._fail(404, f"no {self.path} here")
            return
        why = self.service.why_not_ready()
        if why:
            self._refuse(503, why)
            return
        try:
            self._compute(body)
        except (BadRequestError, TooLongError) as error:
            self._fail(400, str(error))
        except OverloadedError as error:
            self._refuse(429, str(error))

    def _compute(self, body: bytes) -> None:
        service, embeds = self.service, self.path == "/v1/embeddings"
        if embeds and service.backend.task != "embedding":
            raise BadRequestError("this model classifies: POST /predict")
        name, note = service.options.name, service.backend.note
        rows = read_rows(body, "input" if embeds else "inputs", name, service.backend.tokens)
        if len(rows) > service.options.queue:
            raise BadRequestError(f"{len(rows)} inputs in a request; {service.options.queue} at most")
        answers = service.batcher.submit(rows)
        wait(answers)
        failed = next((error for answer in answers if (error := answer.exception())), None)
        if failed is not None:
            self._fail(500, f"the batch failed: {type(failed).__name__}: {failed}")
            return
        vectors = [answer.result() for answer in answers]
        found = (
            embeddings_answer(name, rows, vectors, note) if embeds else predict_answer(name, vectors, note)
        )
        self._answer(200, found)

    def _body(self) -> bytes | None:
        """None: answered already. Refused before it is read when it is too large, and then the connection ends."""
        given = self.headers.get("Content-Length", "")
        most = self.service.options.body_bytes_max
        if not given.isdecimal():
            self.close_connection = True
            self._fail(411, "Content-Length is missing")
        elif int(given) > most:
            self.close_connection = True
            self._fail(413, f"the body has {given} bytes; {most} at most")
        else:
            return self.rfile.read(int(given))
        return None

    def _refuse(self, status: int, words: str) -> None:
        self.service.reject()
        self._fail(status, words, retry=True)

    def _fail(self, status: int, words: str, *, retry: bool = False) -> None:
        kinds = {429: "rate_limit_error", 500: "server_error", 503: "unavailable_error"}
        body = {"error": {"message": words, "type": kinds.get(status, "invalid_request_error")}}
        self._send(status, json.dumps(body).encode(), "application/json", retry=retry)

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str, *, retry: bool = False) -> None:
        if self.service.is_draining.is_set():
            self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if retry:
            self.send_header("Retry-After", RETRY_SECONDS)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Health checks would fill the log; the load balancer has its own."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def main(words: Sequence[str] | None = None) -> int:
    # The first process of a container ignores SIGTERM unless it says what to do, and frameworks load for long.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))
    found = options(words)
    try:
        backend = _backend(found)
    except MissingError as error:
        print(f"neuronkit: {error}", file=sys.stderr, flush=True)
        return UNAVAILABLE
    batcher = Batcher(
        backend, found.batches, found.lengths, found.queue, found.batch_wait_seconds, found.cores
    )
    service = Service(found, backend, batcher)
    handler = type("BoundHandler", (Handler,), {"service": service, "timeout": found.keep_alive_seconds})
    server = Server((found.host, found.port), handler)
    signal.signal(signal.SIGTERM, lambda *_: _stop(service))
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    print(f"neuronkit: {found.name} on port {server.server_address[1]}, warming", file=sys.stderr, flush=True)
    failed = _warm(service)
    while not service.is_draining.is_set() and not failed:
        service.is_draining.wait(1)
    _drain(service)
    server.shutdown()
    return UNAVAILABLE if failed else 0


def _stop(service: Service) -> None:
    """There is nothing to drain before the first request could be taken."""
    service.is_draining.set()
    if not service.is_warm.is_set():
        raise SystemExit(STOPPED)


def _backend(found: Options) -> Backend:
    if found.backend == "stand-in":
        return StandIn(found.stand_in_seconds, found.cores)
    return NeuronBackend(found.backend, found.model, found.artifacts, found.cores)


def _warm(service: Service) -> bool:
    """Whether it failed."""
    try:
        service.batcher.warm()
    except Exception as error:  # noqa: BLE001 - a compiler's error ends the task, with its words
        print(f"neuronkit: warming failed: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return True
    service.is_warm.set()
    print("neuronkit: ready", file=sys.stderr, flush=True)
    return False


def _drain(service: Service) -> None:
    """What was taken is answered, as far as the time allows."""
    deadline = time.monotonic() + service.options.drain_seconds
    while service.active and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
