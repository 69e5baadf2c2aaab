"""The controller against any history of both sides, with the promises that README.md makes."""

from __future__ import annotations

from dataclasses import replace

from fallback.decisions import PATIENT_CHECKS, SWITCHES_PER_HOUR, TO_THE_WAKER, Decision
from fallback.health import DOWN_CHECKS
from fallback.memory import HOUR_SECONDS
from fallback.observed import Override, Weights
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.unit.payload.fallback.fleet_world import MODEL, OVERFLOW, WEIGHTED, World

MOST_SWITCHES = SWITCHES_PER_HOUR + HOUR_SECONDS // (PATIENT_CHECKS * 60)
CALM_CHECKS = 90
"""An hour until the budget is fresh, five good checks, four steps, a GPU start, and some."""


class Fallback(RuleBasedStateMachine):
    @initialize(
        base=st.sampled_from([OVERFLOW, WEIGHTED, MODEL]),
        back=st.sampled_from(["gradual", "at-once"]),
        minimum=st.integers(0, 1),
        sleeps=st.booleans(),
    )
    def begin(self, base, back, minimum, sleeps) -> None:
        settings = replace(base, back=back, gpu_minimum=minimum, sleeps=sleeps and base is not MODEL)
        share = settings.base_share
        self.world = World(settings, weights=Weights(100 - share, share), gpu_desired=minimum)
        self.dark = {"neuron": 0, "gpu": 0}
        self.moves: list[tuple[float, int]] = []
        self.gpu_was_stable = True
        self.world.gpu_ages = [99] * minimum

    # ---- what happens to a fleet

    @rule(up=st.integers(0, 2))
    def neuron_has(self, up) -> None:
        self.world.neuron_up = up

    @rule(pattern=st.lists(st.sampled_from([0, 2]), min_size=4, max_size=40))
    def neuron_flaps(self, pattern) -> None:
        for up in pattern:
            self.world.neuron_up = up
            self.minute()

    @rule(broken=st.booleans(), refused=st.booleans())
    def gpu_has(self, broken, refused) -> None:
        self.gpu_was_stable = self.gpu_was_stable and not broken
        self.world.gpu_broken, self.world.gpu_refused = broken, "no g5.xlarge" if refused else ""

    @rule(pattern=st.lists(st.tuples(st.booleans(), st.sampled_from([0, 2])), min_size=4, max_size=60))
    def both_flap(self, pattern) -> None:
        self.gpu_was_stable = False
        for self.world.gpu_broken, self.world.neuron_up in pattern:
            self.minute()

    @rule(refused=st.booleans(), waiting=st.sampled_from([None, 0.0, 50.0]))
    def neuron_capacity(self, refused, waiting) -> None:
        self.world.neuron_refused = "no inf2.8xlarge" if refused else ""
        self.world.neuron_waiting = waiting

    @rule(waiting=st.sampled_from([None, 0.0, 50.0]))
    def gpu_load(self, waiting) -> None:
        self.world.gpu_waiting = waiting

    @rule(deploying=st.booleans(), up=st.integers(0, 2))
    def deployment(self, deploying, up) -> None:
        self.world.deploying, self.world.neuron_up = deploying, up

    @rule(mode=st.sampled_from(["auto", "neuron", "gpu"]), minutes=st.none() | st.integers(1, 30))
    def override_set(self, mode, minutes) -> None:
        until = None if minutes is None else self.world.now + 60 * minutes
        self.world.override = Override(mode, until)
        self.forgive()

    @rule(withdrawn=st.booleans())
    def shift(self, withdrawn) -> None:
        self.world.withdrawn = withdrawn
        self.world.neuron_desired = 0 if withdrawn else 2

    @rule()
    def all_ends_and_starts_again(self) -> None:
        world = self.world
        if world.settings.sleeps or world.settings.mode == "model" or world.override.at(world.now) == "gpu":
            return
        world.withdrawn, world.neuron_desired, world.gpu_desired = False, 0, 0
        self.forgive()
        for _ in range(5):
            assert world.check().reason == "off"
            assert world.gpu_desired == 0
        world.neuron_desired = 2

    @rule()
    def sleep_or_wake(self) -> None:
        if not self.world.settings.sleeps or self.world.withdrawn:
            return
        self.forgive()
        if self.world.neuron_desired:
            self.world.sleep()
        else:
            self.world.wake()

    @rule(
        garbage=st.sampled_from(["", "{}", "[1]", "nonsense", '{"memory": {"neuron": 7, "switches": "x"}}'])
    )
    def state_lost(self, garbage) -> None:
        self.world.state = garbage
        self.forgive()

    @rule(writes=st.sets(st.sampled_from(["gpu", "weights", "state"]), min_size=1), minutes=st.integers(1, 4))
    def throttled(self, writes, minutes) -> None:
        self.world.refuses = writes
        for _ in range(minutes):
            self.minute()
        self.world.refuses = set()
        self.forgive()

    @rule(weights=st.sampled_from([Weights(100, 0), Weights(0, 100), Weights(1, 1), Weights(0, 0)]))
    def somebody_writes_the_rule(self, weights) -> None:
        if not self.world.weights.waker:
            self.world.weights = weights
            self.forgive()

    @rule(minutes=st.integers(1, 30))
    def time_passes(self, minutes) -> None:
        for _ in range(minutes):
            self.minute()

    # ---- what must hold

    def forgive(self) -> None:
        """Counts begin anew after what no controller can know or do."""
        self.dark = {"neuron": 0, "gpu": 0}
        self.moves = []

    def minute(self) -> None:
        world = self.world
        before, desired = world.weights, world.gpu_desired
        decision = world.check()
        settled = decision.memory, decision.share
        self.bounds(decision, desired)
        self.make_before_break(before, decision)
        self.obedience(before, decision)
        self.light(decision)
        self.few_switches(before)
        if not world.refuses:
            again = world.decision()
            assert (again.weights, again.gpu_desired) == (None, None)
            # A wake ends for the controller with the rule that it has just taken: that alone may be noted later.
            noted = replace(again.memory, starting_since=decision.memory.starting_since)
            assert (noted, again.share) == settled
        world.waker_hands_over()

    def bounds(self, decision: Decision, desired: int) -> None:
        settings = self.world.settings
        wanted = desired if decision.gpu_desired is None else decision.gpu_desired
        assert settings.gpu_minimum <= wanted <= settings.gpu_maximum

    def make_before_break(self, before: Weights, decision: Decision) -> None:
        if decision.weights is None or before.share is None or decision.weights.share is None:
            return
        seen = self.world.observation()
        if decision.weights.share > before.share:
            assert seen.gpu.serving or not seen.neuron.serving
        else:
            assert seen.neuron.serving or not seen.gpu.serving

    def obedience(self, before: Weights, decision: Decision) -> None:
        mode = self.world.override.at(self.world.now)
        if mode == "auto" or self.world.refuses:
            return
        goal = 100 if mode == "gpu" else 0
        seen = self.world.observation()
        serves = (seen.gpu if mode == "gpu" else seen.neuron).serving
        there = before.waker == 0 and before.share == goal and self.world.neuron_desired
        if serves or there:
            assert self.world.weights.share == goal

    def light(self, decision: Decision) -> None:
        world, seen = self.world, self.world.observation()
        exempt = (
            world.override.at(world.now) != "auto" or world.settings.mode == "model" or world.weights.waker
        )
        patience = PATIENT_CHECKS if len(decision.memory.switches) >= SWITCHES_PER_HOUR else DOWN_CHECKS
        share = world.weights.share or 0
        for name, traffic, one, other in (
            ("neuron", 100 - share, seen.neuron, seen.gpu),
            ("gpu", share, seen.gpu, seen.neuron),
        ):
            dark = traffic and not one.serving and other.serving and not exempt and not world.refuses
            self.dark[name] = self.dark[name] + 1 if dark else 0
            assert self.dark[name] < patience

    def few_switches(self, before: Weights) -> None:
        world = self.world
        if (
            world.override.at(world.now) != "auto"
            or world.refuses
            or None in (before.share, world.weights.share)
        ):
            return
        direction = (world.weights.share > before.share) - (world.weights.share < before.share)
        if direction and (not self.moves or self.moves[-1][1] != direction):
            self.moves.append((world.now, direction))
        lately = [at for at, _ in self.moves if at > world.now - HOUR_SECONDS]
        assert len(lately) <= (SWITCHES_PER_HOUR if self.gpu_was_stable else MOST_SWITCHES)

    def teardown(self) -> None:
        """Whatever was before: when all is well again, requests return to where the file wants them."""
        if not hasattr(self, "world"):
            return
        world = self.world
        world.refuses, world.override = set(), Override()
        world.withdrawn = world.deploying = world.gpu_broken = False
        world.neuron_refused = world.gpu_refused = ""
        world.neuron_up = world.neuron_desired = 2
        world.gpu_waiting = world.neuron_waiting = 0.0
        self.forgive()
        for _ in range(CALM_CHECKS):
            self.minute()
        assert world.weights != TO_THE_WAKER
        assert world.weights.share == world.settings.base_share
        floor = max(world.settings.gpu_minimum, 1 if world.settings.base_share else 0)
        assert world.gpu_desired == floor
        assert world.decision().reason in ("none", "weighted", "model")


TestFallback = Fallback.TestCase
TestFallback.settings = hypothesis_settings(max_examples=40, stateful_step_count=20, deadline=None)
