"""A server with known latencies, and with known faults: raw sockets, so that it can misbehave as it likes."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Behaviour = Callable[["Request"], None]


@dataclass
class Request:
    number: int
    target: str
    headers: dict[str, str]
    body: bytes
    connection: socket.socket

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def chunk(self, data: bytes) -> None:
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def begin_stream(self) -> None:
        self.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    def json(self, document: object, status: str = "200 OK") -> None:
        data = json.dumps(document).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self.send(head.encode() + data)


@dataclass
class Engine:
    url: str
    requests: list[Request] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    connections: int = 0


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def token(text: str = "x ") -> bytes:
    return event({"choices": [{"delta": {"content": text}, "finish_reason": None}]})


def answering(
    tokens: int = 5, *, first: float = 0.0, gap: float = 0.0, usage: int | None = None, prompt: int = 7
) -> Behaviour:
    """A stream of `tokens`, the first after `first` seconds, the others `gap` seconds apart."""

    def behave(request: Request) -> None:
        request.begin_stream()
        request.chunk(event({"choices": [{"delta": {"role": "assistant"}, "finish_reason": None}]}))
        time.sleep(first)
        for number in range(tokens):
            time.sleep(gap if number else 0)
            request.chunk(token())
        request.chunk(event({"choices": [{"delta": {}, "finish_reason": "length"}]}))
        if usage is not None:
            counts = {"prompt_tokens": prompt, "completion_tokens": usage}
            request.chunk(event({"choices": [], "usage": counts}))
        request.chunk(b"data: [DONE]\n\n")
        request.send(b"0\r\n\r\n")

    return behave


@contextmanager
def engine(behave: Behaviour) -> Iterator[Engine]:
    """Each connection has a thread; when `behave` raises ConnectionAbortedError, the connection is closed there and then."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    known = Engine(f"http://127.0.0.1:{listener.getsockname()[1]}")
    lock = threading.Lock()
    opened: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            stream = connection.makefile("rb")
            while line := stream.readline():
                headers = {}
                while field := stream.readline().strip():
                    name, _, value = field.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", 0)))
                with lock:
                    known.arrived.append(time.monotonic())
                    request = Request(
                        len(known.requests), line.split()[1].decode(), headers, body, connection
                    )
                    known.requests.append(request)
                behave(request)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                known.connections += 1
                opened.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield known
    finally:
        # A blocked accept() does not notice that its socket is closed; a shutdown it does.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(5)
        for connection in opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
