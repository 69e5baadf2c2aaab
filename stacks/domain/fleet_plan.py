"""A fleet worked out: nodes, slices of chips, image, AMI, and times that must agree with each other.

Part of the plan. Every count is of the whole fleet unless its name says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stacks.domain.capacity_plan import CapacityPlan, capacity_plan
from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.environment import Environment, Fallback, Fleet
from stacks.domain.lock import Lock
from stacks.domain.pinned import AmiPlan, ImagePlan, ami_plan, image_plan
from stacks.domain.selection import Selection
from stacks.domain.serving import StartPart, start_parts

PORT_FIRST = 8080
"""Of a node's first slice; the next ones follow. A static port makes a slice exclusive: ECS counts no Neuron devices."""
KEEP_ALIVE_MARGIN_SECONDS = 10
STOP_MARGIN_SECONDS = 30
IDLE_TIMEOUT_MAX_SECONDS = 4000
DEREGISTRATION_MAX_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Slice:
    """What one replica has for itself on a node."""

    index: int
    devices: tuple[int, ...]
    """N of /dev/neuronN, as on the host: not renumbered."""
    port: int
    memory_mib: int
    """Reserved for the replica; there is no hard limit, which would kill a compiler."""


@dataclass(frozen=True, slots=True)
class FleetTimes:
    """Seconds. All follow from the longest request, the first token and the parts of a start."""

    idle_timeout: int
    """Of the load balancer: a silent prefill is not cut."""
    keep_alive: int
    """Of the engine: longer than the load balancer's idle timeout."""
    deregistration_delay: int
    """Not shorter than the longest request."""
    shutdown: int
    """For the engine to end what it works on."""
    stop: int
    """From SIGTERM to SIGKILL."""
    start_low: int
    start_high: int
    grace: int
    """Of health checks: not shorter than the slowest start."""
    scale_out_cooldown: int
    scale_in_cooldown: int


@dataclass(frozen=True, slots=True)
class FallbackPlan:
    instance_type: str
    vcpus_per_node: int
    memory_gib_per_node: float
    gpus_per_node: int
    gpus_per_replica: int
    replicas_minimum: int
    replicas_maximum: int
    mode: str
    weight_percent: int
    """GPU's share while nothing is wrong: 0 with overflow, 100 with model."""
    back: str
    """How requests return to Neuron: "gradual" or "at-once"."""
    image: ImagePlan | None
    ami: AmiPlan | None
    capacity: CapacityPlan

    @property
    def replicas_per_node(self) -> int:
        return max(1, self.gpus_per_node // self.gpus_per_replica)

    @property
    def nodes_maximum(self) -> int:
        return math.ceil(self.replicas_maximum / self.replicas_per_node)


@dataclass(frozen=True, slots=True)
class FleetPlan:
    name: str
    settings: Fleet
    """What the file says of engine, model and listener; nothing derived."""
    instance_type: str
    vcpus_per_node: int
    memory_gib_per_node: float
    chips_per_node: int
    logical_cores_per_node: int
    logical_core_size: int
    slices: tuple[Slice, ...]
    """Of one node: one replica each."""
    image: ImagePlan | None
    ami: AmiPlan | None
    """None with managed instances, and where nothing fits."""
    capacity: CapacityPlan
    times: FleetTimes
    start: tuple[StartPart, ...]
    fallback: FallbackPlan | None

    @property
    def replicas_per_node(self) -> int:
        return len(self.slices)

    @property
    def replicas_minimum(self) -> int:
        return self.settings.replicas.minimum

    @property
    def replicas_maximum(self) -> int:
        return self.settings.replicas.maximum

    @property
    def nodes_minimum(self) -> int:
        return math.ceil(self.replicas_minimum / self.replicas_per_node)

    @property
    def nodes_maximum(self) -> int:
        return math.ceil(self.replicas_maximum / self.replicas_per_node)

    @property
    def chips(self) -> int:
        return self.nodes_maximum * self.chips_per_node


def fleet_plan(
    environment: Environment, name: str, selection: Selection, lock: Lock | None, catalog: Catalog
) -> FleetPlan:
    """Expects a fleet in which no rule found an error."""
    fleet = environment.fleets[name]
    instance_type = catalog.instance_types[fleet.instance_type]
    size = fleet_logical_core_size(fleet, instance_type)
    return FleetPlan(
        name=name,
        settings=fleet,
        instance_type=fleet.instance_type,
        vcpus_per_node=instance_type.vcpus,
        memory_gib_per_node=instance_type.memory_gib,
        chips_per_node=instance_type.chips,
        logical_cores_per_node=instance_type.logical_cores(size) or 0,
        logical_core_size=size,
        slices=slices_of(fleet, instance_type),
        image=image_plan(selection.fleet_images.get(name), lock),
        ami=ami_plan(selection.fleet_amis.get(name), lock),
        capacity=capacity_plan(environment, fleet.capacity),
        times=times_of(fleet),
        start=start_of(fleet),
        fallback=_fallback(environment, name, fleet.fallback, selection, lock, catalog),
    )


def fleet_logical_core_size(fleet: Fleet, instance_type: InstanceType) -> int:
    chip = instance_type.chip
    return fleet.logical_core_size or (chip.default_logical_core_size if chip else None) or 1


def chips_per_replica(fleet: Fleet, instance_type: InstanceType) -> int:
    """Whole chips: two replicas never share one. 0 where the type has no Neuron chips."""
    cores = instance_type.logical_cores(fleet_logical_core_size(fleet, instance_type))
    if not cores or not instance_type.chips:
        return 0
    return math.ceil(fleet.tensor_parallel / (cores // instance_type.chips))


def slices_of(fleet: Fleet, instance_type: InstanceType) -> tuple[Slice, ...]:
    """Disjoint, in the order of the devices. One slice takes all devices when only one replica is on a node."""
    chips = chips_per_replica(fleet, instance_type)
    if fleet.runs_on == "managed-instances" or not chips:
        count, chips = 1, instance_type.chips
    else:
        count = min(fleet.replicas.per_node or fleet.replicas.maximum, instance_type.chips // chips)
    memory_mib = int(instance_type.memory_gib * 1024 * 0.85 / count)
    return tuple(
        Slice(index, tuple(range(index * chips, (index + 1) * chips)), PORT_FIRST + index, memory_mib)
        for index in range(count)
    )


def start_of(fleet: Fleet) -> tuple[StartPart, ...]:
    """Without the compile where its result is shared."""
    parts = start_parts(fleet.engine)
    shared = fleet.artifacts != "none" and fleet.compile_on != "start"
    return tuple(part for part in parts if not (shared and part.what == "compile"))


def times_of(fleet: Fleet) -> FleetTimes:
    """One place for what must agree (serving facts: keep-alive, idle, deregistration, stop, grace, cooldown)."""
    parts = start_parts(fleet.engine)
    start = start_of(fleet)
    high = sum(part.high_seconds for part in start)
    idle = min(max(60, fleet.longest_request_seconds, fleet.first_token_seconds), IDLE_TIMEOUT_MAX_SECONDS)
    longest = min(fleet.longest_request_seconds, DEREGISTRATION_MAX_SECONDS)
    wanted = fleet.scaling.scale_out_minutes
    return FleetTimes(
        idle_timeout=idle,
        keep_alive=idle + KEEP_ALIVE_MARGIN_SECONDS,
        deregistration_delay=longest,
        shutdown=longest,
        stop=longest + STOP_MARGIN_SECONDS,
        start_low=sum(part.low_seconds for part in start),
        start_high=high,
        grace=sum(part.high_seconds for part in parts),
        scale_out_cooldown=wanted * 60 if wanted else high,
        scale_in_cooldown=fleet.scaling.scale_in_minutes * 60,
    )


def _fallback(
    environment: Environment,
    name: str,
    fallback: Fallback | None,
    selection: Selection,
    lock: Lock | None,
    catalog: Catalog,
) -> FallbackPlan | None:
    if fallback is None:
        return None
    instance_type = catalog.instance_types[fallback.instance_type]
    weights = {"overflow": 0, "weighted": fallback.weight_percent, "model": 100}
    return FallbackPlan(
        instance_type=fallback.instance_type,
        vcpus_per_node=instance_type.vcpus,
        memory_gib_per_node=instance_type.memory_gib,
        gpus_per_node=instance_type.accelerators,
        gpus_per_replica=fallback.gpus_per_replica,
        replicas_minimum=fallback.replicas_minimum,
        replicas_maximum=fallback.replicas_maximum,
        mode=fallback.mode,
        weight_percent=weights[fallback.mode],
        back=fallback.back,
        image=image_plan(selection.fallback_images.get(name), lock),
        ami=ami_plan(selection.fallback_amis.get(name), lock),
        capacity=capacity_plan(environment, fallback.capacity),
    )
