"""Services are made without a task, because CloudFormation would wait for the first compile. Here they get their floor.

Nothing is ever lowered: what scaling, the waker or a shift have set stays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from scripts.aws import ecs, elbv2
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.ecs import Service
from scripts.serving_fleets.compile_task import CompileTask
from scripts.serving_fleets.fleet_outputs import FleetOutputs, fleet_outputs
from scripts.serving_fleets.node_refusal import node_refusal
from stacks.domain.errors import WorldError
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import OUTPUT_BUCKET
from stacks.domain.plan import Plan

MARGIN_SECONDS = 600
_SAY_AGAIN_SECONDS = 60.0


def floor_nodes(plan: Plan, fleet: FleetPlan) -> int:
    """The nodes that serve at every hour: none of a fleet that may sleep, or whose model Neuron does not serve."""
    if fleet.settings.scale_to_zero is not None or (fleet.fallback and fleet.fallback.mode == "model"):
        return 0
    floors = [shift.replicas_floor for shift in plan.shifts if shift.fleet == fleet.name]
    replicas = min([fleet.replicas_minimum, *floors])
    return math.ceil(replicas / fleet.replicas_per_node)


def start_fleets(
    cloud: Cloud,
    plan: Plan,
    stacks: Mapping[str, Stack],
    say: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> Starts:
    """Compiles what is to be compiled first, and waits until each fleet's floor serves. One's failure stops no other."""
    bucket = stacks[plan.stacks.storage].outputs.get(OUTPUT_BUCKET, "")
    starts = [
        FleetStart(cloud, fleet, fleet_outputs(stacks[plan.stacks.of_fleet(fleet.name)]), say, pause)
        for fleet in plan.fleets
    ]
    failures: list[WorldError] = []

    def each(todo: Sequence[FleetStart], step: Callable[[FleetStart], None]) -> list[FleetStart]:
        """Those with which it worked."""
        done = []
        for start in todo:
            try:
                step(start)
            except WorldError as error:
                if len(starts) > 1:
                    say(f"  {error.message}; the other fleets go on")
                failures.append(error)
            else:
                done.append(start)
        return done

    def begin(start: FleetStart) -> None:
        if not (start.fleet.fallback and start.fleet.fallback.mode == "model"):
            start.compile(bucket)
        start.raise_to(floor_nodes(plan, start.fleet))

    begun = each(starts, begin)
    started = each(begun, lambda start: start.wait_for(floor_nodes(plan, start.fleet)))
    return Starts(tuple(start.fleet.name for start in started), tuple(failures))


@dataclass(frozen=True, slots=True)
class Starts:
    started: tuple[str, ...]
    """Fleets whose floor serves."""
    failures: tuple[WorldError, ...]

    def raise_failures(self) -> None:
        if len(self.failures) == 1:
            raise self.failures[0]
        if self.failures:
            messages, hints = ([f.message for f in self.failures], [f.hint for f in self.failures])
            raise WorldError(
                "\n".join(dict.fromkeys(messages)), "\n".join(dict.fromkeys(filter(None, hints)))
            )


@dataclass
class FleetStart:
    cloud: Cloud
    fleet: FleetPlan
    outputs: FleetOutputs
    say: Callable[[str], None]
    pause: Callable[[float], None]
    _events_said: set[str] = field(default_factory=set, init=False)

    def compile(self, bucket: str) -> None:
        outputs = self.outputs
        if outputs.compile_task_definition is None or outputs.compile_place is None:
            return
        on_the_fleets_nodes = outputs.compile_place.subnet_id is None
        busy = max((service.desired for service in self._services()), default=0)
        CompileTask(
            self.cloud,
            self.fleet,
            bucket,
            outputs.compile_place,
            outputs.compile_task_definition,
            outputs.log_group or "of the fleet",
            outputs.auto_scaling_group if on_the_fleets_nodes else None,
            not on_the_fleets_nodes or busy < self.fleet.nodes_maximum,
            self.say,
            self.pause,
        ).ensure()

    def raise_to(self, nodes: int) -> None:
        """One service a slice, all with the same count: the nodes."""
        for service in self._services():
            self._events_said |= {event.id for event in service.events}
            if service.desired < nodes:
                ecs.set_desired(self.cloud, self.outputs.cluster, service.name, nodes)
                self.say(
                    f"  fleet {self.fleet.name}: service {service.name} from {service.desired} to {nodes} tasks"
                )

    def wait_for(self, nodes: int) -> None:
        waited = said = 0.0
        limit = max(self.fleet.times.grace, self.fleet.times.start_high) + MARGIN_SECONDS
        while nodes and not self._serves(services := self._services(), nodes):
            self._tell_events(services)
            failed = [service for service in services if service.rollout == "FAILED"]
            if failed or waited > limit:
                raise self._does_not_start(services, waited)
            if waited - said >= _SAY_AGAIN_SECONDS:
                said = waited
                self.say(f"  fleet {self.fleet.name}: {self._words(services)} ({waited / 60:.0f} min)")
            self.pause(self.cloud.poll_seconds)
            waited += self.cloud.poll_seconds

    def _serves(self, services: tuple[Service, ...], nodes: int) -> bool:
        if any(service.running < nodes for service in services):
            return False
        health = elbv2.target_health(self.cloud, self.outputs.neuron_target_group)
        return health is not None and health.healthy >= nodes * len(services)

    def _services(self) -> tuple[Service, ...]:
        found = ecs.services(self.cloud, self.outputs.cluster, self.outputs.services)
        there = [service for service in found if service.is_active]
        if len(there) < len(self.outputs.services):
            raise WorldError(
                f"fleet {self.fleet.name} has {len(there)} of its {len(self.outputs.services)} services",
                "somebody deleted the others: `neuronkit destroy` and deploy again",
            )
        return tuple(there)

    def _tell_events(self, services: tuple[Service, ...]) -> None:
        for service in services:
            for event in reversed(service.events):
                if event.id not in self._events_said:
                    self._events_said.add(event.id)
                    self.say(f"  ecs: {event.message}")

    def _words(self, services: tuple[Service, ...]) -> str:
        health = elbv2.target_health(self.cloud, self.outputs.neuron_target_group)
        states = ", ".join(
            f"{count} {state}" for state, count in sorted((health.states if health else {}).items())
        )
        counts = "; ".join(f"{one.name}: {one.running} of {one.desired} tasks run" for one in services)
        return f"{counts}; targets: {states or 'none'}"

    def _does_not_start(self, services: tuple[Service, ...], waited: float) -> WorldError:
        reasons = [f"{one.name}: {one.rollout_reason}" for one in services if one.rollout == "FAILED"]
        reasons += [f"{one.name}: {one.events[0].message}" for one in services if one.events]
        refused = node_refusal(self.cloud, self.outputs.auto_scaling_group)
        reasons += [refused] if refused else []
        head = (
            f"fleet {self.fleet.name} does not serve after {waited / 60:.0f} minutes: {self._words(services)}"
        )
        return WorldError(
            "\n".join((head, *reasons)),
            f"its engines' log is in log group {self.outputs.log_group}; `neuronkit status` looks again, the same command "
            "goes on, `neuronkit destroy` cleans up",
        )
