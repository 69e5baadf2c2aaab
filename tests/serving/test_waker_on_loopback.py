"""The waker end to end: a load balancer's stand-in, an engine's process, the waker in process, AWS played by a small fleet.

The clock of the waker runs a hundred times as fast as ours, so that minutes of metrics pass in a second.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from waker.activity import Activity, Minute
from waker.cloud import Read
from waker.decisions import (
    Action,
    Phase,
    RecordWake,
    SetServices,
    SetState,
    Settings,
    SetWeights,
    State,
    View,
    Wake,
    Weights,
)
from waker.work import Tools, check, respond

from tests.serving.engine_process import EngineProcess
from tests.serving.front import Front, Group, Target

SCALE = 100
SETTINGS = Settings(
    environment="pilot",
    fleet="chat",
    model="stand-in",
    idle_seconds=300,
    hold_seconds=0,
    start_low_seconds=60,
    start_high_seconds=900,
    nodes_at_wake=1,
    wake_paths=("/v1/",),
)
ASK = {"model": "stand-in", "prompt": "one two", "max_tokens": 4}


class LoopbackFleet:
    """One service of one replica; what CloudWatch would know of the engine is read each time that a check reads."""

    def __init__(self, settings: Settings, **engine: object) -> None:
        self.settings_, self.engine_options = settings, engine
        self.state, self.wake = State(Phase.OFF, 0, 0.0), Wake(-1, 0.0)
        self.weights = Weights(0, 0, 100)
        self.engine: EngineProcess | None = None
        self.target: Target | None = None
        self.started, self.ended = 0, 0
        self.minutes: dict[float, Minute] = {}
        self.begin = time.monotonic()
        self.stopped = threading.Event()
        self.tools = Tools(self, self.now, self._sleep, lambda line: None, (OSError,))
        self.lock = threading.Lock()
        groups = [
            Group("engine"),
            Group("waker", lambda event, _context: respond(event, self._fresh_tools())),
        ]
        self.front = Front(groups, lambda: {"engine": self.weights.neuron, "waker": self.weights.waker})
        self.schedule = threading.Thread(target=self._schedule, daemon=True)
        self.failures: list[Exception] = []

    def now(self) -> float:
        return 1_000_000 + (time.monotonic() - self.begin) * SCALE

    def _sleep(self, seconds: float) -> None:
        time.sleep(seconds / SCALE)

    def _fresh_tools(self) -> Tools:
        """Of another process: the real one shares what it read for a few seconds."""
        return replace(self.tools, recent=[])

    def _schedule(self) -> None:
        while not self.stopped.wait(60 / SCALE):
            try:
                check(self._fresh_tools())
            except Exception as error:  # noqa: BLE001 (the test reads it)
                self.failures.append(error)

    def settings(self) -> Settings:
        return self.settings_

    def read(self, now: float, *, with_activity: bool) -> Read:
        healthy = int(self.target is not None and self.target.state == "healthy")
        activity = self._activity(now) if with_activity else None
        desired = (int(self.engine is not None),)
        view = View(
            now,
            self.state,
            self.wake,
            desired,
            (healthy,),
            False,
            healthy,
            self.weights,
            "auto",
            1,
            1,
            None,
            activity,
        )
        return Read(view, self.settings_, ())

    def _activity(self, now: float) -> Activity:
        minute = now // 60 * 60
        busy = self._busy()
        if busy is not None:
            before = self.minutes.get(minute, Minute(minute, 0, 0))
            self.minutes[minute] = Minute(minute, max(before.busy, busy), 4)
        seconds = self.settings_.idle_seconds / SCALE
        came = sum(
            at > time.time() - seconds for group in self.front.groups.values() for at in group.requests
        )
        return Activity(came, tuple(self.minutes.values()))

    def _busy(self) -> float | None:
        if self.engine is None or not self.engine.is_healthy():
            return None
        text = self.engine.request("GET", "/metrics")[1].decode()
        lines = [
            line
            for line in text.splitlines()
            if line.startswith(("vllm:num_requests_r", "vllm:num_requests_w"))
        ]
        return sum(float(line.split()[-1]) for line in lines)

    def do(self, action: Action) -> None:
        with self.lock:
            if isinstance(action, RecordWake):
                self.wake = action.wake
            elif isinstance(action, SetState):
                self.state = action.state
            elif isinstance(action, SetWeights):
                self.weights = action.weights if self.weights == action.seen else self.weights
            elif isinstance(action, SetServices):
                self._set_services(action.count)

    def _set_services(self, count: int) -> None:
        if count and self.engine is None:
            self.engine = EngineProcess(wait=False, **self.engine_options).start()
            self.target = self.front.register("engine", self.engine.port)
            self.started += 1
        elif not count and self.engine is not None and self.target is not None:
            self.front.deregister("engine", self.target)
            self.engine.terminate()
            assert self.engine.process is not None
            self.engine.process.wait(10)
            self.engine = self.target = None
            self.ended += 1

    def __enter__(self) -> LoopbackFleet:
        self.front.__enter__()
        self.schedule.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.schedule.join(20)
        self.front.__exit__(None, None, None)
        if self.engine is not None:
            self.engine.kill()

    def ask(self, **more: object) -> tuple[int, dict[str, str], Any]:
        return self.send("POST", "/v1/completions", {**ASK, **more})

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str], Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.front.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read()
            return response.status, dict(response.getheaders()), json.loads(text or b"{}")
        finally:
            connection.close()

    def wait_until_served(self, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while self.ask()[0] != 200:
            assert time.monotonic() < end, (self.state, self.weights)
            time.sleep(0.1)

    def wait_until_asleep(self, seconds: float = 40) -> None:
        end = time.monotonic() + seconds
        while self.engine is not None or self.state.phase is not Phase.OFF:
            assert time.monotonic() < end, (self.state, self.weights)
            time.sleep(0.05)


@pytest.fixture
def fleet() -> Iterator[LoopbackFleet]:
    with LoopbackFleet(SETTINGS, start_seconds=0.5) as made:
        yield made
    assert made.failures == []


def test_a_request_wakes_is_answered_and_the_fleet_sleeps_again(fleet: LoopbackFleet) -> None:
    status, headers, body = fleet.ask()
    assert status == 503
    assert 1 <= int(headers["Retry-After"]) <= 60
    assert body["error"]["code"] == "fleet_is_starting"
    fleet.wait_until_served()
    fleet.wait_until_asleep()
    assert (fleet.started, fleet.ended) == (1, 1)
    assert fleet.ask()[0] == 503
    fleet.wait_until_served()
    assert fleet.started == 2


def test_a_storm_of_clients_starts_one_engine(fleet: LoopbackFleet) -> None:
    answers: list[int] = []
    clients = [
        threading.Thread(target=lambda: answers.append(fleet.ask()[0]), daemon=True) for _ in range(20)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join(20)
    assert answers == [503] * 20
    assert fleet.started == 1


def test_monitors_and_crawlers_do_not_wake(fleet: LoopbackFleet) -> None:
    assert fleet.send("GET", "/v1/models")[2]["data"][0]["id"] == "stand-in"
    assert fleet.send("GET", "/robots.txt")[0] == 404
    assert fleet.send("GET", "/v1/completions")[0] == 503
    time.sleep(1)
    assert (fleet.started, fleet.state.phase) == (0, Phase.OFF)


def test_a_stream_that_is_longer_than_the_idle_time_is_not_cut() -> None:
    with LoopbackFleet(SETTINGS, start_seconds=0.2, token_seconds=0.1) as fleet:
        fleet.wait_until_served()
        status, _, body = fleet.ask(max_tokens=60)
        assert status == 200
        assert body["usage"]["completion_tokens"] == 60
        assert fleet.ended == 0
        fleet.wait_until_asleep()


def test_held_requests_are_sent_back_when_the_engine_is_there() -> None:
    with LoopbackFleet(replace(SETTINGS, hold_seconds=3000), start_seconds=0.5) as fleet:
        status, headers, _ = fleet.ask()
        assert (status, headers["Location"]) == (307, "/v1/completions")
        assert fleet.ask()[0] == 200


def test_what_is_held_for_too_long_is_told_to_come_again() -> None:
    with LoopbackFleet(replace(SETTINGS, hold_seconds=50), start_seconds=20) as fleet:
        begin = time.monotonic()
        assert fleet.ask()[0] == 503
        assert time.monotonic() - begin >= 40 / SCALE
