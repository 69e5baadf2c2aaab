"""A stand-in for an Application Load Balancer on loopback: one rule with weights, target groups, Lambda targets.

As the real one it sends a request to a group by weight alone: a group without targets answers 503, one whose targets are
all unhealthy is tried all the same (fail open), and no group ever takes another's share.
"""

from __future__ import annotations

import base64
import http.client
import json
import random
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

LambdaHandler = Callable[[dict[str, Any], object], dict[str, Any]]
WeightsReader = Callable[[], Mapping[str, int]]


@dataclass
class Target:
    port: int
    healthy: bool = False
    draining: bool = False
    outstanding: int = 0
    good: int = 0
    bad: int = 0

    @property
    def state(self) -> str:
        if self.draining:
            return "draining"
        return "healthy" if self.healthy else "unhealthy"


@dataclass
class Group:
    """Of instances, or of one Lambda function, which is called in process."""

    name: str
    handler: LambdaHandler | None = None
    health_path: str = "/health"
    healthy_count: int = 2
    unhealthy_count: int = 3
    targets: list[Target] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)
    """When each came: what RequestCount would say."""

    def healthy_targets(self) -> list[Target]:
        return [t for t in self.targets if t.healthy and not t.draining]

    def choice(self) -> Target | None:
        open_targets = [t for t in self.targets if not t.draining]
        return min(self.healthy_targets() or open_targets, key=lambda t: t.outstanding, default=None)


class Front:
    """`with Front(groups, weights) as front:`; `weights` is read for each request, as a rule would be."""

    def __init__(
        self,
        groups: list[Group],
        weights: WeightsReader,
        *,
        idle_timeout_seconds: float = 60,
        health_interval_seconds: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.groups = {group.name: group for group in groups}
        self.weights = weights
        self.idle_timeout_seconds = idle_timeout_seconds
        self.health_interval_seconds = health_interval_seconds
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        handler = type("Handler", (_Handler,), {"front": self})
        self.server = _Server(("127.0.0.1", 0), handler)
        self.port = int(self.server.server_address[1])
        self.threads = [
            threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True),
            threading.Thread(target=self._check, daemon=True),
        ]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def register(self, group: str, port: int) -> Target:
        target = Target(port)
        with self.lock:
            self.groups[group].targets.append(target)
        return target

    def deregister(self, group: str, target: Target, delay_seconds: float = 30) -> None:
        """No new requests; returns when those that run have ended, or after the delay."""
        target.draining = True
        end = time.monotonic() + delay_seconds
        while target.outstanding and time.monotonic() < end:
            time.sleep(0.02)
        with self.lock:
            self.groups[group].targets.remove(target)

    def group_of_request(self) -> Group | None:
        weights = {name: weight for name, weight in self.weights().items() if weight > 0}
        if not weights:
            return None
        with self.lock:
            name = self.random.choices(list(weights), list(weights.values()))[0]
            self.groups[name].requests.append(time.time())
        return self.groups[name]

    def _check(self) -> None:
        while not self.stopped.wait(self.health_interval_seconds):
            with self.lock:
                pairs = [(group, target) for group in self.groups.values() for target in group.targets]
            for group, target in pairs:
                _note(group, target, self._answers(group, target))

    def _answers(self, group: Group, target: Target) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=2)
        try:
            connection.request("GET", group.health_path, headers={"User-Agent": "ELB-HealthChecker/2.0"})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def __enter__(self) -> Front:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
        self.threads[1].join(5)


def _note(group: Group, target: Target, good: bool) -> None:
    target.good, target.bad = (target.good + 1, 0) if good else (0, target.bad + 1)
    if target.good >= group.healthy_count:
        target.healthy = True
    elif target.bad >= group.unhealthy_count:
        target.healthy = False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    front: Front

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        group = self.front.group_of_request()
        if group is None:
            return self._plain(503, "no group has a weight")
        if group.handler is not None:
            return self._call(group, body)
        target = group.choice()
        if target is None:
            return self._plain(503, "no target is registered")
        with self.front.lock:
            target.outstanding += 1
        try:
            return self._forward(target, body)
        finally:
            with self.front.lock:
                target.outstanding -= 1

    def _forward(self, target: Target, body: bytes) -> None:
        timeout = self.front.idle_timeout_seconds
        connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=timeout)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request(self.command, self.path, body or None, headers)
            response = connection.getresponse()
        except TimeoutError:
            connection.close()
            return self._plain(504, "the target was silent for longer than the idle timeout")
        except (OSError, http.client.HTTPException):
            connection.close()
            return self._plain(502, "the target closed or refused the connection")
        try:
            self._pass_on(response)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            connection.close()
        return None

    def _pass_on(self, response: http.client.HTTPResponse) -> None:
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "server", "date"):
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while part := response.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _call(self, group: Group, body: bytes) -> None:
        assert group.handler is not None
        try:
            answer = group.handler(self._event(group, body), None)
        except Exception:  # noqa: BLE001 (the real one answers 502 to whatever a function raises)
            return self._plain(502, "the function failed")
        content = answer.get("body") or ""
        data = base64.b64decode(content) if answer.get("isBase64Encoded") else content.encode()
        return self._send(int(answer["statusCode"]), data, answer.get("headers") or {})

    def _event(self, group: Group, body: bytes) -> dict[str, Any]:
        """The form that Elastic Load Balancing's guide gives for Lambda targets, without multi-value headers."""
        path, _, query = self.path.partition("?")
        return {
            "requestContext": {"elb": {"targetGroupArn": group.name}},
            "httpMethod": self.command,
            "path": path,
            "queryStringParameters": dict(urllib.parse.parse_qsl(query, keep_blank_values=True)),
            "headers": {
                **{name.lower(): value for name, value in self.headers.items()},
                "x-forwarded-for": "127.0.0.1",
                "x-forwarded-proto": "http",
            },
            "body": body.decode("utf-8", errors="replace"),
            "isBase64Encoded": False,
        }

    def _plain(self, status: int, why: str) -> None:
        self._send(status, json.dumps({"front": why}).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""
