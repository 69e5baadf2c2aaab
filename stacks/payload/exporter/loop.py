"""Reads an engine's metrics every few seconds and writes them as CloudWatch's embedded metric format.

They go to standard output: the awslogs driver takes each line to CloudWatch Logs, which makes metrics of it. So the image
needs neither boto3 nor the task's credentials: engines' images have Python, and not all of them more.

The exporter is an essential container of its task. When the engine stalls, it ends with 70, and ECS replaces the task. A red
health check would not do: it is not acted upon in the grace period, which is as long as the slowest start.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.names import Reading, reading
from exporter.progress import Progress
from exporter.prometheus import NotMetricsError, parse

STALLED = 70
"""sysexits.h EX_SOFTWARE."""
WRONG_USE = 64
ENDS = {signal.SIGTERM, signal.SIGINT}
ANSWER_BYTES_MAX = 8 * 1024 * 1024
NAMESPACE = "neuronkit/serving"
UNITS = {"StartupSeconds": "Seconds", "CompilationSeconds": "Seconds"}


@dataclass(frozen=True)
class Settings:
    environment: str
    fleet: str
    side: str
    host: str
    """The engine's name where containers of a task have no loopback in common (bridge mode with a link)."""
    port: int
    health_path: str
    metrics_path: str
    interval_seconds: float
    timeout_seconds: float
    stall_seconds: float


def settings_of(variables: Mapping[str, str]) -> Settings:
    def number(name: str, otherwise: float) -> float:
        return float(variables.get(name) or otherwise)

    return Settings(
        environment=variables["NEURONKIT_ENVIRONMENT"],
        fleet=variables["NEURONKIT_FLEET"],
        side=variables["NEURONKIT_SIDE"],
        host=variables.get("NEURONKIT_ENGINE_HOST") or "127.0.0.1",
        port=int(variables["NEURONKIT_ENGINE_PORT"]),
        health_path=variables.get("NEURONKIT_HEALTH_PATH") or "/health",
        metrics_path=variables.get("NEURONKIT_METRICS_PATH") or "/metrics",
        interval_seconds=number("NEURONKIT_INTERVAL_SECONDS", 15),
        timeout_seconds=number("NEURONKIT_TIMEOUT_SECONDS", 5),
        stall_seconds=number("NEURONKIT_STALL_SECONDS", 600),
    )


def main() -> int:
    try:
        settings = settings_of(os.environ)
    except (KeyError, ValueError) as error:
        _say(f"a variable is missing or no number: {error}")
        return WRONG_USE
    # Waited for, not handled: a handler that sets an event may wait for the very lock that it interrupted.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    return run(settings, lambda seconds: signal.sigtimedwait(ENDS, seconds) is not None)


def run(settings: Settings, ends_within: Callable[[float], bool]) -> int:
    """Until a signal comes within the time that it waits."""
    progress = Progress(settings.stall_seconds)
    told = ""
    while True:
        started = time.monotonic()
        found, words = scrape(settings)
        now = time.monotonic()
        tokens = None
        if found:
            tokens = progress.note(found, now)
        else:
            progress.silent(now, healthy=_is_green(settings))
        if found or progress.is_stalled(now):
            _write(metrics(settings, progress, found, tokens, now))
        if words != told:
            _say(words or "the engine answers")
            told = words
        if progress.is_stalled(now):
            _say(
                f"stalled: for {progress.standing_seconds(now):.0f} s nothing has come of what runs or waits, or of its "
                "metrics, though it was seen to work; this task ends, ECS starts another"
            )
            return STALLED
        if ends_within(max(0.0, settings.interval_seconds - (time.monotonic() - started))):
            return 0


def scrape(settings: Settings) -> tuple[Reading | None, str]:
    """What the engine says, or why that is not known."""
    try:
        status, text = _get(settings, settings.metrics_path)
        if status != 200:
            return None, f"{settings.metrics_path} answers {status}"
        found = reading(parse(text))
    except NotMetricsError as error:
        return None, f"{settings.metrics_path}: {error}"
    except (OSError, http.client.HTTPException) as error:
        return None, f"the engine does not answer: {type(error).__name__}"
    return found, "" if found else f"{settings.metrics_path} does not tell of requests"


def metrics(
    settings: Settings, progress: Progress, found: Reading | None, tokens: float | None, now: float
) -> dict[str, object]:
    values: dict[str, float | None] = {
        "EngineStalled": float(progress.is_stalled(now)),
        "EngineProgress": float(not progress.is_slow(now)),
    }
    if found:
        values |= {
            "RequestsRunning": found.running,
            "RequestsWaiting": found.waiting,
            "Replicas": 1.0,
            "EngineTokens": tokens,
            "CacheUsage": found.cache_usage,
            "StartupSeconds": found.startup_seconds,
            "CompilationSeconds": found.compilation_seconds,
        }
    known = {name: value for name, value in values.items() if value is not None}
    dimensions = {"Environment": settings.environment, "Fleet": settings.fleet, "Side": settings.side}
    directive = {
        "Namespace": NAMESPACE,
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": name, "Unit": UNITS.get(name, "None")} for name in known],
    }
    head = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]}
    return {"_aws": head, **dimensions, **known}


def _is_green(settings: Settings) -> bool:
    try:
        return _get(settings, settings.health_path)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def _get(settings: Settings, path: str) -> tuple[int, str]:
    """Within the timeout in all: an engine that sends a byte now and then is not waited for."""
    connection = http.client.HTTPConnection(settings.host, settings.port, timeout=settings.timeout_seconds)
    deadline = time.monotonic() + settings.timeout_seconds
    content = b""
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        while part := response.read1(65536):
            content += part
            if time.monotonic() > deadline or len(content) > ANSWER_BYTES_MAX:
                raise TimeoutError
    finally:
        connection.close()
    return response.status, content.decode("utf-8", errors="replace")


def _write(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _say(words: str) -> None:
    print(f"exporter: {words}", file=sys.stderr, flush=True)
