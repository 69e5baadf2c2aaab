"""A process in place of an inference engine: no model, no chip, but HTTP, streams, metrics and ends like vLLM's.

    python -m tests.serving.engine_stand_in --port 8080 --start-seconds 2

Nothing listens before the start is over. `POST /stand-in {"dead": true}` changes a setting while it runs: `dead` (no more
tokens; /health stays green, as in vllm#39863), `overloaded` (503 to new requests), `garbage` (nonsense on /metrics),
`metrics_delay_seconds`, `token_seconds`, `first_token_seconds`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ENDS = {signal.SIGTERM, signal.SIGINT}
NAMES = {
    "new": ("vllm:kv_cache_usage_perc", "vllm:inter_token_latency_seconds"),
    "old": ("vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds"),
}


class AbortedError(Exception):
    """The engine ends before the request does."""


class Engine:
    """Works on `sequences` requests at once; the others wait; of more than `waiting` it refuses."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.settings: dict[str, Any] = {
            "dead": False,
            "overloaded": False,
            "garbage": False,
            "metrics_delay_seconds": 0.0,
            "token_seconds": options.token_seconds,
            "first_token_seconds": options.first_token_seconds,
        }
        self.aborted = threading.Event()
        self.ending = threading.Event()
        self.changed = threading.Condition()
        self.running = self.waiting = self.finished = 0
        self.prompt_tokens = self.generation_tokens = 0

    def admit(self) -> bool:
        with self.changed:
            full = self.running >= self.options.sequences and self.waiting >= self.options.waiting
            if self.settings["overloaded"] or self.ending.is_set() or full:
                return False
            self.waiting += 1
            return True

    def tokens(self, prompt_tokens: int, count: int) -> Iterator[str]:
        """After `admit`. Ends with AbortedError when the engine does."""
        started = False
        try:
            with self.changed:
                while self.running >= self.options.sequences:
                    self._not_aborted()
                    self.changed.wait(0.05)
                self.waiting -= 1
                self.running += 1
                started = True
            for number in range(count):
                self._work("first_token_seconds" if number == 0 else "token_seconds")
                with self.changed:
                    self.prompt_tokens += prompt_tokens if number == 0 else 0
                    self.generation_tokens += 1
                yield f"word{number} "
            with self.changed:
                self.finished += 1
        finally:
            with self.changed:
                if started:
                    self.running -= 1
                else:
                    self.waiting -= 1
                self.changed.notify_all()

    def _work(self, setting: str) -> None:
        end = time.monotonic() + self.settings[setting]
        while self.settings["dead"] or time.monotonic() < end:
            self._not_aborted()
            time.sleep(0.005 if not self.settings["dead"] else 0.05)
        self._not_aborted()

    def _not_aborted(self) -> None:
        if self.aborted.is_set():
            raise AbortedError

    def metrics(self) -> str:
        if self.settings["garbage"]:
            return "<html>\x00 not { metrics\nvllm:num_requests_running{ 1 2 3\n"
        cache, latency = NAMES[self.options.names]
        label = f'{{engine="0",model_name="{self.options.model}"}}'
        with self.changed:
            rows = [
                ("gauge", "vllm:num_requests_running", self.running),
                ("gauge", "vllm:num_requests_waiting", self.waiting),
                ("gauge", cache, self.running / max(1, self.options.sequences)),
                ("counter", "vllm:prompt_tokens_total", self.prompt_tokens),
                ("counter", "vllm:generation_tokens_total", self.generation_tokens),
                ("counter", "vllm:request_success_total", self.finished),
                ("gauge", "vllm_neuron:startup_time_seconds", self.options.start_seconds),
            ]
            bucket = f'{label[:-1]},le="+Inf"}}'
            histogram = f"# TYPE {latency} histogram\n{latency}_bucket{bucket} {self.generation_tokens}\n"
        text = "".join(f"# TYPE {name} {kind}\n{name}{label} {float(value)}\n" for kind, name, value in rows)
        return text + histogram


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_GET(self) -> None:
        if self.path in ("/health", "/ping"):
            self._send(200, b"")
        elif self.path == "/metrics":
            time.sleep(self.engine.settings["metrics_delay_seconds"])
            self._send(200, self.engine.metrics().encode(), "text/plain; version=0.0.4")
        elif self.path == "/v1/models":
            self._json(
                200, {"object": "list", "data": [{"id": self.engine.options.model, "object": "model"}]}
            )
        else:
            self._error(404, "no such path")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            return self._error(400, "the body is no JSON")
        if self.path == "/stand-in":
            self.engine.settings.update(request)
            return self._json(200, self.engine.settings)
        if self.path.partition("?")[0] not in ("/v1/chat/completions", "/v1/completions"):
            return self._error(404, "no such path")
        if request.get("model") != self.engine.options.model:
            return self._error(404, f"the model `{request.get('model')}` does not exist")
        if not self.engine.admit():
            return self._error(503, "the engine is overloaded or ends")
        return self._complete(request)

    def _complete(self, request: dict[str, Any]) -> None:
        chat = "/chat/" in self.path
        text = json.dumps(request.get("messages") or request.get("prompt") or "")
        prompt_tokens = len(text.split())
        tokens = self.engine.tokens(
            prompt_tokens, int(request.get("max_tokens") or self.engine.options.tokens)
        )
        try:
            if request.get("stream"):
                self._stream(tokens, chat, prompt_tokens, request)
            else:
                words = list(tokens)
                self._json(200, self._answer("".join(words), chat, prompt_tokens, len(words)))
        except (AbortedError, OSError):
            self.close_connection = True
        finally:
            tokens.close()  # type: ignore[attr-defined]

    def _stream(self, tokens: Iterator[str], chat: bool, prompt_tokens: int, request: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        count = 0
        for word in tokens:
            count += 1
            delta = {"delta": {"content": word}} if chat else {"text": word}
            self._event(json.dumps({"object": "chunk", "choices": [{"index": 0, **delta}]}))
        if (request.get("stream_options") or {}).get("include_usage"):
            self._event(json.dumps({"object": "chunk", "choices": [], "usage": _usage(prompt_tokens, count)}))
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        chunk = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.flush()

    def _answer(self, text: str, chat: bool, prompt_tokens: int, count: int) -> dict[str, Any]:
        what = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        return {
            "object": "chat.completion" if chat else "text_completion",
            "model": self.engine.options.model,
            "choices": [{"index": 0, "finish_reason": "length", **what}],
            "usage": _usage(prompt_tokens, count),
        }

    def _error(self, status: int, message: str) -> None:
        self._json(status, {"error": {"message": message, "type": "stand_in", "param": None, "code": status}})

    def _json(self, status: int, value: object) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def _usage(prompt_tokens: int, count: int) -> dict[str, int]:
    return {"prompt_tokens": prompt_tokens, "completion_tokens": count, "total_tokens": prompt_tokens + count}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error."""


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    engine = Engine(options)
    # Waited for, not handled: a handler that sets an event may wait for the very lock that it interrupted.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    if signal.sigtimedwait(ENDS, options.start_seconds):
        return 143
    handler = type("Handler", (Handler,), {"engine": engine})
    server = Server(("127.0.0.1", options.port), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    signal.sigwait(ENDS)
    engine.ending.set()
    end = time.monotonic() + options.shutdown_seconds
    while engine.running + engine.waiting and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.05)  # the last bytes of an answer
    engine.aborted.set()
    time.sleep(0.1)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="A stand-in for an inference engine. It computes nothing.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", default="stand-in")
    parser.add_argument("--start-seconds", type=float, default=0, help="nothing listens before")
    parser.add_argument("--first-token-seconds", type=float, default=0.01)
    parser.add_argument("--token-seconds", type=float, default=0.01)
    parser.add_argument("--tokens", type=int, default=8, help="of an answer, unless max_tokens says so")
    parser.add_argument("--sequences", type=int, default=4, help="requests that it works on at once")
    parser.add_argument("--waiting", type=int, default=1000, help="requests that wait; then 503")
    parser.add_argument(
        "--shutdown-seconds", type=float, default=0, help="after SIGTERM; 0 aborts, as vLLM does"
    )
    parser.add_argument("--names", choices=sorted(NAMES), default="new", help="of metrics that vLLM renamed")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
