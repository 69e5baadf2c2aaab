"""A fleet with both sides, as far as the controller sees it: what a check reads changes with what checks wrote before."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from fallback.decisions import TO_THE_WAKER, Decision, decide
from fallback.memory import Memory
from fallback.observed import Observation, Override, Settings, Side, Weights
from fallback.state import read_state_memory, state_document

OVERFLOW = Settings(
    mode="overflow",
    weight_percent=0,
    back="gradual",
    gpu_minimum=0,
    gpu_maximum=3,
    waiting_per_replica=2.0,
    drain_seconds=300,
    start_seconds=1800,
    sleeps=False,
)
WEIGHTED = replace(OVERFLOW, mode="weighted", weight_percent=30, gpu_minimum=1)
MODEL = replace(OVERFLOW, mode="model", gpu_minimum=1, model_reason="no Neuron stack lists its operators")
GPU_START_CHECKS = 4
START = 1_800_000_000.0


@dataclass
class World:
    settings: Settings = OVERFLOW
    now: float = START
    neuron_desired: int = 2
    neuron_up: int = 2
    """Of those that are asked for, the ones that would be healthy."""
    neuron_refused: str = ""
    neuron_waiting: float | None = 0.0
    deploying: bool = False
    withdrawn: bool = False
    gpu_desired: int = 0
    gpu_broken: bool = False
    gpu_refused: str = ""
    gpu_waiting: float | None = 0.0
    weights: Weights = field(default_factory=lambda: Weights(100, 0, 0))
    override: Override = field(default_factory=Override)
    state: str = "{}"
    refuses: set[str] = field(default_factory=set)
    """Which writes AWS refuses: "gpu", "weights", "state"."""
    gpu_ages: list[int] = field(default_factory=list)
    """Checks that each GPU replica has lived."""

    @property
    def neuron_healthy(self) -> int:
        return min(self.neuron_up, self.neuron_desired)

    @property
    def gpu_healthy(self) -> int:
        return 0 if self.gpu_broken else sum(age >= GPU_START_CHECKS for age in self.gpu_ages)

    def observation(self) -> Observation:
        return Observation(
            neuron=Side(
                healthy=self.neuron_healthy,
                desired=self.neuron_desired,
                running=self.neuron_healthy,
                pending=self.neuron_desired - self.neuron_healthy,
                deploying=self.deploying,
                refused=self.neuron_refused,
                withdrawn=self.withdrawn,
                waiting=self.neuron_waiting,
            ),
            gpu=Side(
                healthy=self.gpu_healthy,
                desired=self.gpu_desired,
                running=len(self.gpu_ages),
                refused=self.gpu_refused,
                waiting=self.gpu_waiting,
            ),
            weights=self.weights,
            override=self.override,
        )

    def memory(self) -> Memory:
        return read_state_memory(self.state, self.now)

    def decision(self) -> Decision:
        return decide(self.settings, self.observation(), self.memory(), self.now)

    def check(self) -> Decision:
        """A minute passes, then one check, with what AWS refuses of its writes refused."""
        self.now += 60
        self._gpu_lives()
        seen = self.observation()
        decision = self.decision()
        more = decision.gpu_desired is not None and decision.gpu_desired > self.gpu_desired
        if more:
            self._scale(decision)
        written = decision.weights is None or "weights" not in self.refuses
        if decision.weights is not None and written:
            self.weights = decision.weights
        if not more and written:
            self._scale(decision)
        if "state" not in self.refuses:
            self.state = json.dumps(state_document(self.settings, seen, decision, (), self.now))
        return decision

    def checks(self, count: int) -> list[Decision]:
        return [self.check() for _ in range(count)]

    def _scale(self, decision: Decision) -> None:
        if decision.gpu_desired is not None and "gpu" not in self.refuses:
            self.gpu_desired = decision.gpu_desired

    def _gpu_lives(self) -> None:
        self.gpu_ages = [age + 1 for age in self.gpu_ages][: self.gpu_desired]
        if not self.gpu_refused:
            self.gpu_ages += [0] * (self.gpu_desired - len(self.gpu_ages))

    def sleep(self) -> None:
        self.weights, self.neuron_desired = TO_THE_WAKER, 0

    def wake(self) -> None:
        self.neuron_desired = 2

    def waker_hands_over(self) -> None:
        if self.weights.waker and self.neuron_healthy and self.override.at(self.now) != "gpu":
            self.weights = Weights(100, 0, 0)
