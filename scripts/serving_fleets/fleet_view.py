"""A fleet as `status` shows it: services, targets, weights, who has the traffic, and in words why something does not serve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from scripts.aws import autoscaling, ecs, elbv2
from scripts.aws.autoscaling import AutoScalingGroup
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.ecs import Service
from scripts.aws.elbv2 import TargetHealth
from scripts.serving_fleets.fleet_outputs import FleetOutputs, fleet_outputs
from scripts.serving_fleets.questions import Questions
from stacks.domain.errors import WorldError
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import fallback_state_parameter

FleetState = Literal[
    "not deployed", "unknown", "serving", "partly serving", "asleep", "starting", "nothing serves"
]
_EVENTS_SHOWN: Final = 3
_SILENT_MINUTES: Final = 5
"""The fallback controller is called every minute."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    name: str
    side: str
    desired: int
    running: int
    pending: int


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """None: the fleet has no such part, or it could not be asked (then `why` says so)."""

    name: str
    state: FleetState
    url: str | None = None
    services: tuple[ServiceState, ...] = ()
    nodes: dict[str, AutoScalingGroup] = field(default_factory=dict)
    """By side."""
    targets: dict[str, dict[str, int]] = field(default_factory=dict)
    """By side and state."""
    weights: dict[str, int] | None = None
    """By side: neuron, gpu, waker."""
    override: dict[str, Any] | None = None
    """What the control parameter says."""
    controller: dict[str, Any] | None = None
    """What the fallback controller last saw and did."""
    why: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        lines = [f"fleet    {self.name}: {self.state}" + (f", {self.url}" if self.url else "")]
        lines += [
            f"         service {one.name} ({one.side}): {one.running} of {one.desired} tasks run"
            + (f", {one.pending} pending" if one.pending else "")
            for one in self.services
        ]
        lines += [
            f"         {side} nodes: {one.in_service} in service, {one.desired} wanted, {one.maximum} at most"
            for side, one in self.nodes.items()
        ]
        lines += [f"         {side} targets: {_counts(states)}" for side, states in self.targets.items()]
        if self.weights is not None:
            lines.append(f"         requests go to {_shares(self.weights)}")
        return (
            lines
            + [f"         {words}" for words in self._control_words()]
            + [f"         {w}" for w in self.why]
        )

    def _control_words(self) -> Iterator[str]:
        override = self.override or {}
        if override.get("mode", "auto") != "auto":
            until = override.get("until")
            reason = override.get("reason")
            yield (
                f"override: {override['mode']}"
                + (f" until {until}" if until else "")
                + (f" ({reason})" if reason else "")
            )
        if self.controller:
            yield f"fallback controller, {self.controller.get('checked_at', 'at an unknown time')}: {self.controller.get('words', '')}"


def look_at_fleet(
    cloud: Cloud, environment: str, fleet: FleetPlan, stack: Stack | None, now: datetime
) -> FleetStatus:
    """Nothing in it raises because something is not there, or one question is refused. `now` has a time zone."""
    if stack is None or not stack.outputs:
        return FleetStatus(fleet.name, "not deployed")
    try:
        outputs = fleet_outputs(stack)
    except WorldError as error:
        return FleetStatus(fleet.name, "unknown", why=(error.message,))
    return _Look(cloud, environment, fleet, outputs, now).status()


@dataclass
class _Look:
    cloud: Cloud
    environment: str
    fleet: FleetPlan
    outputs: FleetOutputs
    now: datetime
    _questions: Questions = field(init=False)

    def __post_init__(self) -> None:
        self._questions = Questions(self.cloud)

    def status(self) -> FleetStatus:
        services = self._services()
        health = {side: found for side, arn in self._groups() if (found := self._health(side, arn))}
        nodes = {side: group for side, name in self._asgs() if (group := self._nodes(side, name))}
        weights = self._weights()
        state = _state(services, health, weights)
        controller = self._controller()
        return FleetStatus(
            name=self.fleet.name,
            state=state,
            url=self.outputs.url(self.fleet),
            services=tuple(
                ServiceState(one.name, self._side(one), one.desired, one.running, one.pending)
                for one in services or ()
            ),
            nodes=nodes,
            targets={side: one.states for side, one in health.items()},
            weights=weights,
            override=self._override(),
            controller=controller,
            why=(
                *self._why(services or (), health, nodes),
                *_complaints(controller or {}, self.now),
                *self._questions.refused,
            ),
        )

    def _side(self, service: Service) -> str:
        return "gpu" if service.name == self.outputs.gpu_service else "neuron"

    def _services(self) -> tuple[Service, ...] | None:
        names = [*self.outputs.services, *([self.outputs.gpu_service] if self.outputs.gpu_service else [])]
        return self._questions.ask("services", lambda: ecs.services(self.cloud, self.outputs.cluster, names))

    def _groups(self) -> tuple[tuple[str, str], ...]:
        gpu = self.outputs.gpu_target_group
        return (("neuron", self.outputs.neuron_target_group), *((("gpu", gpu),) if gpu else ()))

    def _asgs(self) -> tuple[tuple[str, str], ...]:
        named = {"neuron": self.outputs.auto_scaling_group, "gpu": self.outputs.gpu_auto_scaling_group}
        return tuple((side, name) for side, name in named.items() if name)

    def _health(self, side: str, arn: str) -> TargetHealth | None:
        return self._questions.ask(f"health of {side} targets", lambda: elbv2.target_health(self.cloud, arn))

    def _nodes(self, side: str, name: str) -> AutoScalingGroup | None:
        return self._questions.ask(f"{side} nodes", lambda: autoscaling.find_group(self.cloud, name))

    def _weights(self) -> dict[str, int] | None:
        rule = self.outputs.rule_arn
        if rule is None:
            return None
        weights = self._questions.ask("the listener's weights", lambda: elbv2.rule_weights(self.cloud, rule))
        sides = dict([*self._groups(), ("waker", self.outputs.waker_target_group or "")])
        return (
            None if weights is None else {side: weights[arn] for side, arn in sides.items() if arn in weights}
        )

    def _override(self) -> dict[str, Any] | None:
        name = self.outputs.fallback_parameter
        return self._questions.document(name) if name else None

    def _controller(self) -> dict[str, Any] | None:
        if self.outputs.fallback_parameter is None:
            return None
        found = self._questions.document(fallback_state_parameter(self.environment, self.fleet.name))
        return {key: value for key, value in found.items() if key != "memory"} if found else None

    def _why(
        self,
        services: tuple[Service, ...],
        health: dict[str, TargetHealth],
        nodes: dict[str, AutoScalingGroup],
    ) -> Iterator[str]:
        for service in services:
            if service.rollout == "FAILED":
                yield f"{service.name}: the deployment failed: {service.rollout_reason}"
            if service.running < service.desired:
                yield from (f"ecs: {event.message}" for event in service.events[:_EVENTS_SHOWN])
        for side, one in health.items():
            yield from (f"{side} target: {reason}" for reason in one.reasons)
        for side, name in self._asgs():
            group = nodes.get(side)
            if group is not None and group.in_service < group.desired:
                refused = self._refusal(side, name)
                if refused:
                    yield f"EC2 started no {side} node: {refused}"

    def _refusal(self, side: str, group: str) -> str | None:
        return self._questions.ask(f"{side} scaling", lambda: autoscaling.last_failure(self.cloud, group))


def _complaints(controller: dict[str, Any], now: datetime) -> Iterator[str]:
    """About the fallback controller itself: while it is silent, nobody moves requests from a side that is down."""
    if failed := controller.get("failed"):
        yield f"the fallback controller's last check was refused something: {failed}"
    try:
        checked_at = datetime.fromisoformat(str(controller.get("checked_at", "")))
        silent = now - checked_at > timedelta(minutes=_SILENT_MINUTES)
    except (ValueError, TypeError):
        return
    if silent:
        yield (
            "the fallback controller is silent, though it is called every minute: look into the log of its function, "
            "and whether its schedule is enabled"
        )


def _state(
    services: tuple[Service, ...] | None, health: dict[str, TargetHealth], weights: dict[str, int] | None
) -> FleetState:
    if services is None or not health:
        return "unknown"
    if any(one.healthy for one in health.values()):
        complete = all(one.running >= one.desired for one in services)
        return "serving" if complete else "partly serving"
    if not any(one.desired for one in services):
        return "asleep" if (weights or {}).get("waker") else "nothing serves"
    return "starting" if any(one.rollout != "FAILED" for one in services) else "nothing serves"


def _counts(states: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"


def _shares(weights: dict[str, int]) -> str:
    total = sum(weights.values())
    if not total:
        return "nobody: all weights are 0"
    return ", ".join(f"{side} {100 * weight / total:.0f} %" for side, weight in weights.items() if weight)
