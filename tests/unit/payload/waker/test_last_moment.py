"""Every order in which the check that ends a fleet, and requests that come at that moment, can call AWS."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from waker.decisions import Phase, SetState, on_tick

from tests.unit.payload.waker.fleet_model import SETTINGS, Fleet, Process, request, tick

CALLS = 8
"""Of one process, at most."""


def minutes(fleet: Fleet, count: int) -> None:
    for _ in range(count):
        fleet.pass_time(60)
        tick(fleet).finish()


def about_to_end() -> Fleet:
    fleet = Fleet(200)
    request(fleet).finish()
    for _ in range(60):
        fleet.pass_time(60)
        plan = on_tick(fleet.read(with_activity=True), SETTINGS)
        if any(isinstance(a, SetState) and a.state.phase is Phase.ENDING for a in plan.actions):
            return fleet
        tick(fleet).finish()
    raise AssertionError("it never ends")


def run(fleet: Fleet, requests: list[Process], checks: list[Process], order: Iterable[int]) -> None:
    """Clients whose request is answered ask again at once, and those that reach the engine are at work for long."""
    processes = [*checks, *requests]
    asking = set(requests)
    for number in order:
        if not processes[number].over:
            processes[number].step()
        for process in [process for process in asking if process.over]:
            if fleet.weights.neuron and fleet.healthy:
                asking.remove(process)
                fleet.serve(500)
    for process in processes:
        process.finish()
        process.join()
        assert process.error is None


def is_kept(fleet: Fleet) -> None:
    assert not fleet.killed, "a request at work was cut off"
    minutes(fleet, 1)
    assert fleet.desired == 1, "a wake was lost"
    minutes(fleet, 6)
    assert fleet.healthy
    assert fleet.weights.neuron > 0, "nothing was handed over"


def orders(calls: int) -> Iterator[list[int]]:
    for chosen in itertools.combinations(range(2 * calls), calls):
        yield [int(place in chosen) for place in range(2 * calls)]


@pytest.mark.parametrize("part", range(4))
def test_one_check_and_one_request_in_every_order(part: int) -> None:
    seen = set()
    for order in itertools.islice(orders(6), part, None, 4):
        fleet = about_to_end()
        run(fleet, [request(fleet)], [tick(fleet)], order)
        seen.add(fleet.scale_downs)
        is_kept(fleet)
    assert seen == {0, 1}, "orders in which it ends, and in which it does not"


@settings(max_examples=150, deadline=None)
@example(
    [0, 0, 0, 1, 1, 2, 2, 2, 0, 0, 0, 2]
)  # one check hands over; the other had read before that, and ends it
@given(st.lists(st.integers(0, 3), min_size=10, max_size=4 * CALLS))
def test_two_checks_and_two_requests(order: list[int]) -> None:
    fleet = about_to_end()
    run(fleet, [request(fleet), request(fleet)], [tick(fleet), tick(fleet)], order)
    is_kept(fleet)
