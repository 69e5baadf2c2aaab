"""The waker and a fleet in any order of events: no wake is lost, nothing that runs is ended, one start for a wake."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from waker.cloud import Read
from waker.decisions import Action, Phase, SetState, on_tick
from waker.work import check

from tests.unit.payload.waker.fleet_model import SETTINGS, Fleet, Process, request, tick

CALLS = 6


class WakerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.processes: list[Process] = []
        self.promised_at: float | None = None
        """When a client was last told that the fleet is, or will be, there."""
        self.lacked_at = 0.0

    @initialize(start=st.sampled_from([30.0, 200.0, 500.0]))
    def begin(self, start: float) -> None:
        self.fleet = Fleet(start)

    @rule(seconds=st.sampled_from([5.0, 100.0, 2000.0]))
    def a_request_arrives(self, seconds: float) -> None:
        self.fleet.arrivals.append(self.fleet.now)
        if self.fleet.weights.at_waker:
            self.processes.append(request(self.fleet))
        elif self.fleet.healthy:
            self.fleet.serve(seconds)

    @rule(count=st.integers(2, 8))
    def a_storm(self, count: int) -> None:
        for _ in range(count):
            self.a_request_arrives(5.0)

    @rule()
    def the_schedule_fires(self) -> None:
        self.processes.append(tick(self.fleet))

    @precondition(lambda self: self.processes)
    @rule(data=st.data(), calls=st.integers(1, CALLS))
    def a_process_goes_on(self, data: st.DataObject, calls: int) -> None:
        process = data.draw(st.sampled_from(self.processes))
        for _ in range(calls):
            if not process.over:
                process.step()
        self._collect()

    @precondition(lambda self: self.processes)
    @rule(data=st.data())
    def a_process_dies(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.processes)).kill()
        self._collect()

    @rule(minutes=st.sampled_from([1, 2, 5, 15]))
    def time_passes(self, minutes: int) -> None:
        """Processes live for seconds; the schedule fires each minute."""
        for process in self.processes:
            process.finish()
        self._collect()
        for _ in range(minutes):
            self.fleet.pass_time(60)
            check = tick(self.fleet)
            check.finish()
            assert check.error is None
            self._kept_promises()

    @precondition(lambda self: self.fleet.desired)
    @rule()
    def time_passes_until_it_is_about_to_end(self) -> None:
        """Where orders matter most."""
        self.time_passes(1)
        for _ in range(60):
            self.fleet.pass_time(60)
            if SetState(replace(self.fleet.state, phase=Phase.ENDING)) in self._next_actions():
                return
            tick(self.fleet).finish()
            self._kept_promises()

    def _next_actions(self) -> tuple[Action, ...]:
        return on_tick(self.fleet.read(with_activity=True), SETTINGS).actions

    @rule(there=st.booleans())
    def capacity_changes(self, there: bool) -> None:
        self.fleet.capacity = there
        self.lacked_at = self.fleet.now

    def _collect(self) -> None:
        for process in [process for process in self.processes if process.over]:
            self.processes.remove(process)
            if process.killed:
                continue
            assert process.error is None
            assert process.result is not None
            if "statusCode" in process.result:
                assert process.result["statusCode"] == 503
                code = json.loads(process.result["body"])["error"]["code"]
                assert code in {"fleet_is_starting", "fleet_is_awake", "no_capacity"}
                self.promised_at = self.fleet.now

    def _kept_promises(self) -> None:
        fleet, promised = self.fleet, self.promised_at
        if promised is None or fleet.now - promised >= SETTINGS.idle_seconds:
            return
        waited = fleet.now - max(promised, self.lacked_at)
        assert fleet.now - promised < 120 or fleet.desired >= 1, "a wake was lost"
        if fleet.capacity and waited > fleet.start_seconds + 180:
            assert fleet.healthy, "a wake was lost on the way"
            assert fleet.weights.neuron > 0, "nothing was handed over"

    @invariant()
    def nothing_that_runs_is_ended(self) -> None:
        assert not getattr(self, "fleet", Fleet(0)).killed

    @invariant()
    def one_start_for_a_wake(self) -> None:
        if hasattr(self, "fleet"):
            assert self.fleet.desired <= 1
            assert self.fleet.group <= 1
            assert self.fleet.scale_ups - self.fleet.scale_downs in (0, 1)

    @invariant()
    def a_rule_has_a_weight(self) -> None:
        if hasattr(self, "fleet"):
            weights = self.fleet.weights
            assert (weights.neuron > 0) != (weights.waker > 0)

    def teardown(self) -> None:
        for process in self.processes:
            process.finish()
            process.join()


WakerMachine.TestCase.settings = settings(
    max_examples=50, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestWakerMachine = WakerMachine.TestCase


def minutes(fleet: Fleet, count: int) -> None:
    for _ in range(count):
        fleet.pass_time(60)
        tick(fleet).finish()


def awake() -> Fleet:
    fleet = Fleet(200)
    request(fleet).finish()
    minutes(fleet, 6)
    assert fleet.weights.neuron > 0
    return fleet


def test_a_storm_starts_one_replica() -> None:
    fleet = Fleet(200)
    storm = [request(fleet) for _ in range(30)]
    while any(not process.over for process in storm):
        for process in storm:
            if not process.over:
                process.step()
    assert (fleet.scale_ups, fleet.desired, fleet.group) == (1, 1, 1)
    assert all(process.result and process.result["statusCode"] == 503 for process in storm)


def test_it_sleeps_when_idle_and_not_before() -> None:
    fleet = awake()
    minutes(fleet, 7)
    assert fleet.state.phase is Phase.ON
    minutes(fleet, 12)
    assert (fleet.state.phase, fleet.desired) == (Phase.OFF, 0)
    assert fleet.scale_downs == 1


def test_a_long_answer_keeps_it_up_however_long() -> None:
    fleet = awake()
    fleet.serve(3 * 3600)
    minutes(fleet, 170)
    assert fleet.desired == 1
    minutes(fleet, 40)
    assert fleet.desired == 0
    assert not fleet.killed


def test_a_request_while_it_falls_is_handed_over_at_once() -> None:
    fleet = awake()
    while fleet.state.phase is not Phase.FALLING:
        minutes(fleet, 1)
    assert fleet.weights.at_waker
    request(fleet).finish()
    assert fleet.weights.neuron > 0
    minutes(fleet, 3)
    assert (fleet.state.phase, fleet.scale_downs) == (Phase.ON, 0)


def test_a_request_at_the_very_last_moment_is_not_lost() -> None:
    """Its record comes after the check has read for the last time before it ends the replicas."""
    fleet = awake()
    while fleet.state.phase is not Phase.FALLING:
        minutes(fleet, 1)
    last = tick(fleet)
    for _ in range(40):
        fleet.pass_time(60)
        last = tick(fleet)
        while not last.over and fleet.state.phase is not Phase.ENDING:
            last.step()
        if not last.over:
            break
    last.step()  # it has read; next it sets the services to zero
    late = request(fleet)
    late.finish()
    last.finish()
    assert fleet.scale_downs == 1
    minutes(fleet, 1)
    assert fleet.desired == 1
    minutes(fleet, 6)
    assert fleet.weights.neuron > 0


class SlowReader(Process):
    """Of AWS's answers comes the last one so late that what the first ones said is no longer true."""

    def read(self, now: float, *, with_activity: bool) -> Read:
        found = super().read(now, with_activity=with_activity)
        if found.view.state.phase is Phase.ENDING and not found.view.wanted:
            request(self.fleet).finish()
            self.fleet.pass_time(16)
        return found


def test_a_check_does_not_act_on_what_it_read_long_before() -> None:
    fleet = awake()
    while fleet.state.phase is not Phase.RETURNING:
        fleet.pass_time(60)
        SlowReader(fleet, check).finish()
    assert fleet.scale_downs == 0
    minutes(fleet, 2)
    assert (fleet.state.phase, fleet.scale_downs) == (Phase.ON, 0)
    assert fleet.weights.neuron > 0


def test_who_asked_just_before_a_start_was_given_up_is_not_forgotten() -> None:
    """The load balancer counts the request only when the fleet has begun to fall."""
    fleet = Fleet(30)
    fleet.capacity = False
    fleet.arrivals.append(fleet.now)
    request(fleet).finish()
    minutes(fleet, 18)
    fleet.arrivals.append(fleet.now)
    request(fleet).finish()
    minutes(fleet, 8)
    assert (fleet.state.phase, fleet.scale_downs) == (Phase.ON, 0)
    minutes(fleet, 40)
    assert (fleet.state.phase, fleet.desired) == (Phase.OFF, 0), "and nobody pays for ever"


def test_without_capacity_clients_hear_it_and_it_goes_on_trying() -> None:
    fleet = Fleet(60)
    fleet.capacity = False
    request(fleet).finish()
    minutes(fleet, 2)
    asked = request(fleet)
    asked.finish()
    assert asked.result is not None
    assert "no_capacity" in asked.result["body"]
    fleet.capacity = True
    minutes(fleet, 3)
    assert fleet.weights.neuron > 0
