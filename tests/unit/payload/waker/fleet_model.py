"""A fleet in memory with a clock of its own, and processes of the waker that are held before each call to AWS."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from waker.activity import Activity, Minute
from waker.cloud import Read
from waker.decisions import (
    Action,
    Phase,
    RecordWake,
    SetNodes,
    SetServices,
    SetState,
    Settings,
    State,
    View,
    Wake,
    Weights,
)
from waker.work import Tools, check, respond

SETTINGS = Settings(
    environment="pilot",
    fleet="chat",
    model="m",
    idle_seconds=600,
    hold_seconds=0,
    start_low_seconds=60,
    start_high_seconds=600,
    nodes_at_wake=1,
    wake_paths=("/v1/",),
)


class CloudError(Exception):
    """AWS refuses."""


class Fleet:
    """One service. An instance comes `start_seconds` after it was asked for, unless there is no capacity."""

    def __init__(self, start_seconds: float) -> None:
        self.now = 1_000_000.0
        self.start_seconds = start_seconds
        self.capacity = True
        self.state, self.wake = State(Phase.OFF, 0, 0.0), Wake(-1, 0.0)
        self.desired, self.group = 0, 0
        self.weights = Weights(0, 0, 100)
        self.healthy_at: float | None = None
        self.work: list[tuple[float, float]] = []
        """Of the engine: begin and end of each request."""
        self.arrivals: list[float] = []
        self.up_since: list[float] = []
        self.served_at: list[float] = []
        self.scale_ups = self.scale_downs = 0
        self.killed: list[float] = []

    @property
    def healthy(self) -> int:
        return int(self.desired > 0 and self.healthy_at is not None and self.now >= self.healthy_at)

    @property
    def running_requests(self) -> int:
        return sum(begin <= self.now < end for begin, end in self.work)

    def serve(self, seconds: float) -> None:
        assert self.healthy
        self.work.append((self.now, self.now + seconds))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        if self.desired and self.capacity and self.healthy_at is None:
            self.healthy_at = self.now + self.start_seconds

    def read(self, with_activity: bool) -> View:
        return View(
            now=self.now,
            state=self.state,
            wake=self.wake,
            desired=(self.desired,),
            running=(self.healthy,),
            deploying=False,
            healthy=self.healthy,
            weights=self.weights,
            override="auto",
            nodes_limit=4,
            group_desired=self.group,
            refused=None if self.capacity else "no capacity",
            activity=self._activity() if with_activity else None,
        )

    def _activity(self) -> Activity:
        window = self.now - SETTINGS.idle_seconds - 180
        # What the load balancer counts is seen three minutes later.
        requests = sum(window <= at <= self.now - 180 for at in self.arrivals)
        return Activity(requests, tuple(self._minute(self.now // 60 * 60 - 60 * n) for n in range(20, 0, -1)))

    def _minute(self, start: float) -> Minute:
        scrapes = [start + 15 * n for n in range(4)]
        up = [at for at in scrapes if self.healthy_at is not None and self.healthy_at <= at <= self.now]
        busy = max((sum(begin <= at < end for begin, end in self.work) for at in up), default=0)
        return Minute(start, busy, len(up))

    def do(self, action: Action) -> None:
        if isinstance(action, RecordWake):
            self.wake = action.wake
        elif isinstance(action, SetState):
            self.state = action.state
        elif isinstance(action, SetNodes):
            self.group = action.count
        elif isinstance(action, SetServices):
            self._set_services(action.count)
        elif self.weights == action.seen:
            self.weights = action.weights

    def _set_services(self, count: int) -> None:
        if count == 0 and self.desired:
            self.killed += [end for begin, end in self.work if begin <= self.now < end]
            self.scale_downs += 1
            self.desired, self.healthy_at, self.group = 0, None, 0
        elif count > self.desired:
            self.scale_ups += 1
            self.desired, self.group = count, max(count, self.group)
            self.healthy_at = self.now + self.start_seconds if self.capacity else None


class KilledError(BaseException):
    """The process is no more, wherever it was."""


class Process(threading.Thread):
    """Runs until its next call to AWS with each `step`; one at a time, so that a schedule is repeatable."""

    def __init__(self, fleet: Fleet, work: Callable[[Tools], dict[str, Any]]) -> None:
        super().__init__(daemon=True)
        self.fleet, self.work = fleet, work
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.over = self.killed = False
        self.result: dict[str, Any] | None = None
        self.error: Exception | None = None
        self.tools = Tools(self, lambda: fleet.now, lambda seconds: None, lambda line: None, (CloudError,))
        self.start()

    def run(self) -> None:
        self.go.acquire()
        try:
            self.result = self.work(self.tools)
        except KilledError:
            pass
        except Exception as error:  # noqa: BLE001 (the test reads it)
            self.error = error
        self.over = True
        self.done.release()

    def step(self) -> None:
        self.go.release()
        self.done.acquire()

    def finish(self) -> None:
        while not self.over:
            self.step()

    def kill(self) -> None:
        self.killed = True
        self.finish()

    def _pause(self) -> None:
        if self.killed:
            raise KilledError
        self.done.release()
        self.go.acquire()
        if self.killed:
            raise KilledError

    # What the waker sees of AWS.

    def settings(self) -> Settings:
        return SETTINGS

    def read(self, now: float, *, with_activity: bool) -> Read:
        self._pause()
        return Read(self.fleet.read(with_activity), SETTINGS, ())

    def do(self, action: Action) -> None:
        self._pause()
        self.fleet.do(action)


def request(fleet: Fleet) -> Process:
    event = {"requestContext": {"elb": {}}, "httpMethod": "POST", "path": "/v1/completions"}
    return Process(fleet, lambda tools: respond(event, tools))


def tick(fleet: Fleet) -> Process:
    return Process(fleet, check)
