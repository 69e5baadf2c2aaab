"""The parts of a file that ask for nodes: clusters, fleets, and fleets' GPU groups; what they have in common."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stacks.domain.catalog import InstanceType
from stacks.domain.environment import Environment, Fleet, Path
from stacks.domain.fleet_plan import chips_per_replica, slices_of
from stacks.domain.rules.rule import Facts
from stacks.domain.unlisted_types import with_named_types


@dataclass(frozen=True, slots=True)
class NodeBlock:
    kind: Literal["cluster", "fleet", "fallback"]
    name: str
    """Of the cluster or fleet."""
    type_name: str
    capacity: str

    @property
    def path(self) -> Path:
        if self.kind == "cluster":
            return ("clusters", self.name)
        return ("fleets", self.name) if self.kind == "fleet" else ("fleets", self.name, "fallback")

    @property
    def words(self) -> str:
        return f"GPU group of fleet {self.name}" if self.kind == "fallback" else f"{self.kind} {self.name}"


def node_blocks(environment: Environment) -> Iterator[NodeBlock]:
    for name, cluster in environment.clusters.items():
        yield NodeBlock("cluster", name, cluster.instance_type, cluster.capacity)
    for name, fleet in environment.fleets.items():
        yield NodeBlock("fleet", name, fleet.instance_type, fleet.capacity)
        if fleet.fallback is not None:
            yield NodeBlock("fallback", name, fleet.fallback.instance_type, fleet.fallback.capacity)


def neuron_blocks(environment: Environment) -> Iterator[NodeBlock]:
    """Without the GPU groups."""
    return (block for block in node_blocks(environment) if block.kind != "fallback")


def type_of(facts: Facts, block: NodeBlock) -> InstanceType | None:
    """None where the block names no type of the catalog; another rule says so."""
    if block.kind == "cluster":
        return facts.instance_type(block.name)
    return with_named_types(facts.environment, facts.catalog).get(block.type_name)


def capacity_kind_of(facts: Facts, block: NodeBlock) -> str | None:
    capacity = facts.environment.capacity.get(block.capacity)
    return capacity.kind if capacity else None


def logical_core_size_of(facts: Facts, block: NodeBlock) -> int | None:
    """What the file says; null: the chip's default."""
    environment = facts.environment
    if block.kind == "cluster":
        return environment.clusters[block.name].logical_core_size
    return environment.fleets[block.name].logical_core_size


def fleet_type(facts: Facts, name: str) -> InstanceType | None:
    """Only one with Neuron chips."""
    fleet = facts.environment.fleets[name]
    found = with_named_types(facts.environment, facts.catalog).get(fleet.instance_type)
    return found if found is not None and found.is_neuron else None


def replica_fits_node(fleet: Fleet, instance_type: InstanceType) -> bool:
    """Its chips are not more than a node's: else the tensor degree is wrong, which another rule says."""
    return 0 < chips_per_replica(fleet, instance_type) <= instance_type.chips


def replicas_per_node(facts: Facts, name: str) -> int:
    """Of a fleet; 0 where the type or the degree is wrong."""
    fleet, instance_type = facts.environment.fleets[name], fleet_type(facts, name)
    if instance_type is None or not replica_fits_node(fleet, instance_type):
        return 0
    return len(slices_of(fleet, instance_type))


def nodes_maximum_of(facts: Facts, block: NodeBlock) -> int | None:
    """None where the type or the degree is wrong."""
    environment = facts.environment
    if block.kind == "cluster":
        cluster = environment.clusters[block.name]
        return cluster.nodes * cluster.cells
    fleet, instance_type = environment.fleets[block.name], type_of(facts, block)
    if instance_type is None:
        return None
    if block.kind == "fallback":
        assert fleet.fallback is not None, "the block is of one"
        each = max(1, instance_type.accelerators // fleet.fallback.gpus_per_replica)
        return math.ceil(fleet.fallback.replicas_maximum / each)
    if not replica_fits_node(fleet, instance_type):
        return None
    return math.ceil(fleet.replicas.maximum / len(slices_of(fleet, instance_type)))
