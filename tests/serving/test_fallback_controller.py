"""The fallback controller's own handler between real processes: a Neuron engine that dies and comes back, a GPU engine that is
started for it. AWS's clients are in memory; the front sends each request by the weights that the controller wrote."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from fallback.handler import check
from fallback.health import DOWN_CHECKS, UP_CHECKS

from tests.serving.engine_process import EngineProcess
from tests.serving.front import Front, Group, Target
from tests.unit.payload.fallback.fleet_aws import ACCOUNT_VARIABLES, GPU, NEURON, FleetAws

VARIABLES = {
    **ACCOUNT_VARIABLES,
    "NEURONKIT_NEURON_SERVICES": "neuron-0",
    "NEURONKIT_GPU_REPLICAS_MAXIMUM": "1",
}
START = 1_800_000_000.0
RETURN_CHECKS = UP_CHECKS + 3
DRAIN_CHECKS = int(VARIABLES["NEURONKIT_DRAIN_SECONDS"]) // 60
ASK = {"model": "stand-in", "prompt": "one two", "max_tokens": 3}


def wait_until(true: Callable[[], bool], what: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


class Fleet(FleetAws):
    """Health is the front's; the GPU service starts and ends a process."""

    def __init__(self) -> None:
        super().__init__(desired={"neuron-0": 1, "gpu": 0})
        self.front = Front([Group(NEURON), Group(GPU)], lambda: self.weights, health_interval_seconds=0.05)
        self.neuron = EngineProcess()
        self.gpu = EngineProcess(wait=False, token_seconds=0.05)
        self.gpu_target: Target | None = None
        self.ending: threading.Thread | None = None
        self.now = START

    def describe_target_health(self, TargetGroupArn: str) -> dict[str, object]:  # noqa: N803
        states = [target.state for target in self.front.groups[TargetGroupArn].targets]
        return {"TargetHealthDescriptions": [{"TargetHealth": {"State": state}} for state in states]}

    def describe_scalable_targets(self, **_: object) -> dict[str, object]:
        return {"ScalableTargets": []}

    def update_service(self, cluster: str, service: str, desiredCount: int) -> None:  # noqa: N803
        super().update_service(cluster, service, desiredCount)
        if desiredCount:
            self.gpu.start()
            self.gpu_target = self.front.register(GPU, self.gpu.port)
        else:
            self.ending = threading.Thread(target=self._end_gpu)
            self.ending.start()

    def _end_gpu(self) -> None:
        """As ECS does: first the target is deregistered, with its delay, then the task ends."""
        assert self.gpu_target is not None
        self.front.deregister(GPU, self.gpu_target)
        self.gpu.kill()

    def checks(self, count: int) -> dict[str, object]:
        for _ in range(count):
            self.now += 60
            state = check(self.clients(), VARIABLES, self.now)
        return state

    def healthy_in_front(self, group: str) -> bool:
        return bool(self.front.groups[group].healthy_targets())

    def ask(self) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.front.port, timeout=10)
        try:
            connection.request("POST", "/v1/completions", json.dumps(ASK))
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    def asked(self, group: str, times: int = 5) -> list[int]:
        """The answers of requests that all went to the group."""
        before = len(self.front.groups[group].requests)
        answers = [self.ask() for _ in range(times)]
        assert len(self.front.groups[group].requests) == before + times
        return answers


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    made = Fleet()
    with contextlib.ExitStack() as stack:
        stack.callback(made.gpu.kill)
        stack.enter_context(made.neuron)
        stack.enter_context(made.front)
        made.front.register(NEURON, made.neuron.port)
        wait_until(lambda: made.healthy_in_front(NEURON), "Neuron is not healthy")
        yield made
        if made.ending is not None:
            made.ending.join(30)


def on_gpu(fleet: Fleet) -> None:
    fleet.checks(2)
    fleet.neuron.kill()
    wait_until(lambda: not fleet.healthy_in_front(NEURON), "Neuron stays healthy")
    fleet.checks(DOWN_CHECKS)
    wait_until(lambda: fleet.healthy_in_front(GPU), "GPU is not healthy")
    fleet.checks(1)


def test_a_dead_neuron_engine_is_replaced_within_its_checks(fleet: Fleet) -> None:
    fleet.checks(2)
    assert fleet.asked(NEURON) == [200] * 5
    fleet.neuron.kill()
    assert fleet.ask() == 502
    wait_until(lambda: not fleet.healthy_in_front(NEURON), "Neuron stays healthy")
    fleet.checks(DOWN_CHECKS)
    assert fleet.desired["gpu"] == 1
    assert fleet.weights[GPU] == 0, "not before it is healthy"
    wait_until(lambda: fleet.healthy_in_front(GPU), "GPU is not healthy")
    state = fleet.checks(1)
    assert fleet.asked(GPU) == [200] * 5
    assert state["active"]


def test_requests_return_and_a_stream_on_gpu_ends_whole(fleet: Fleet) -> None:
    on_gpu(fleet)
    events: list[bytes] = []
    reading = threading.Thread(target=read_stream, args=(fleet.front.port, 80, events))
    reading.start()
    wait_until(lambda: bool(events), "the stream does not begin")
    fleet.neuron.start()
    wait_until(lambda: fleet.healthy_in_front(NEURON), "Neuron is not healthy again")
    fleet.checks(RETURN_CHECKS)
    assert (fleet.weights[NEURON], fleet.weights[GPU]) == (100, 0)
    assert fleet.asked(NEURON) == [200] * 5
    assert reading.is_alive(), "the stream outlives the change of the weights"
    assert fleet.desired["gpu"] == 1
    fleet.checks(DRAIN_CHECKS + 1)
    assert fleet.desired["gpu"] == 0
    reading.join(30)
    assert events[-1] == b"data: [DONE]"
    assert sum(b"word" in event for event in events) == 80


def test_a_dead_engine_with_green_health_moves_requests_by_its_progress(fleet: Fleet) -> None:
    fleet.checks(1)
    fleet.neuron.set(dead=True)
    fleet.metric_values = {"neuron_progress": [0.0]}
    assert fleet.healthy_in_front(NEURON)
    fleet.checks(DOWN_CHECKS)
    wait_until(lambda: fleet.healthy_in_front(GPU), "GPU is not healthy")
    fleet.checks(1)
    assert fleet.asked(GPU) == [200] * 5


def test_with_both_dead_the_words_say_so_and_the_first_that_comes_back_serves(fleet: Fleet) -> None:
    on_gpu(fleet)
    fleet.gpu.kill()
    wait_until(lambda: not fleet.healthy_in_front(GPU), "GPU stays healthy")
    state = fleet.checks(DOWN_CHECKS)
    assert (state["reason"], fleet.weights[GPU]) == ("nobody-serves", 100)
    fleet.neuron.start()
    wait_until(lambda: fleet.healthy_in_front(NEURON), "Neuron is not healthy again")
    fleet.checks(1)
    assert fleet.asked(NEURON) == [200] * 5


def read_stream(port: int, tokens: int, events: list[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/v1/completions", json.dumps({**ASK, "max_tokens": tokens, "stream": True}))
    response = connection.getresponse()
    while line := response.readline():
        if line.strip():
            events.append(line.strip())
    connection.close()
