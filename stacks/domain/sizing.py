"""How large things are: cores, processes, memory, interfaces, subnets. Shared by the rules and the plan."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from stacks.domain.catalog import InstanceType
from stacks.domain.environment import Cluster, Job
from stacks.domain.network_interfaces import NetworkInterface, arrange

MIB_PER_GIB = 1024
# What the host, the ECS agent and the kernel keep: a job that asks for more never starts (508,416 MiB of
# 524,288 was refused on a 512 GiB host, torchx issue 795; 96.9 % was there).
HOST_MEMORY_SHARE = 0.94
HOST_MEMORY_RESERVE_MIB = 2048
SHARED_MEMORY_SHARE = 0.25


def logical_core_size(cluster: Cluster, instance_type: InstanceType) -> int:
    """The file's LNC, else the chip's default, else 1 (no joining) where nothing states a default."""
    chip = instance_type.chip
    default = chip.default_logical_core_size if chip else None
    return cluster.logical_core_size or default or 1


@dataclass(frozen=True, slots=True)
class JobCores:
    """The logical cores that a job runs on."""

    chip: str
    logical_core_size: int
    nodes: int
    per_node: int

    @property
    def total(self) -> int:
        return self.nodes * self.per_node


def cores_of_job(job: Job, cluster: Cluster, instance_type: InstanceType) -> JobCores | None:
    """None on a type without Neuron chips, or at an LNC that its chip does not have."""
    size = logical_core_size(cluster, instance_type)
    per_node = instance_type.logical_cores(size)
    if instance_type.chip is None or not per_node:
        return None
    return JobCores(instance_type.chip.name, size, job.nodes or cluster.nodes, per_node)


def processes_per_node(job: Job, logical_cores_per_node: int) -> int:
    """JAX runs one process a node, torch-neuronx one process a logical core."""
    if job.processes_per_node is not None:
        return job.processes_per_node
    return 1 if job.framework == "jax" else logical_cores_per_node


def task_memory_mib(memory_gib: float) -> int:
    """What a container may ask for on a host with so much memory."""
    host_mib = memory_gib * MIB_PER_GIB
    return int(min(host_mib * HOST_MEMORY_SHARE, host_mib - HOST_MEMORY_RESERVE_MIB))


def uses_placement_group(cluster: Cluster, capacity_kind: str) -> bool:
    """A block is placed as a whole already; reserved capacity outside the group would be lost to it."""
    if cluster.placement_group != "auto":
        return cluster.placement_group == "yes"
    return capacity_kind != "capacity-block" and cluster.nodes > 1


def interfaces_of(cluster: Cluster, instance_type: InstanceType) -> tuple[NetworkInterface, ...]:
    """Of one node. AWS Batch gives every multi-node container an interface of its own, on the primary card;
    AWS PCS is only known to work with `efa` on every card (awslabs/awsome-distributed-ai@95b939c aws-pcs).
    """
    if cluster.efa == "off" or instance_type.efa_interfaces_max == 0:
        return (NetworkInterface(card_index=0, device_index=0, interface_type="interface"),)
    if cluster.scheduler == "slurm":
        return arrange(instance_type, efa_only=False)
    return arrange(instance_type, task_interfaces_on_primary_card=1)


def shared_memory_mib(task_memory_mib: int) -> int:
    """The shared memory file system of a container; it counts as the container's memory."""
    return int(task_memory_mib * SHARED_MEMORY_SHARE)


def node_subnet_cidr(vpc_cidr: str) -> str:
    """The upper half of the VPC: many interfaces, so many addresses. ValueError when it is no range."""
    return str(list(ipaddress.IPv4Network(vpc_cidr).subnets(prefixlen_diff=1))[1])


def public_subnet_cidr(vpc_cidr: str) -> str:
    """The first /28: it holds the NAT gateway and nothing else."""
    return str(next(ipaddress.IPv4Network(vpc_cidr).subnets(new_prefix=28)))


PUBLIC_BALANCER_PREFIX_MAX = 23
"""A VPC that is smaller than /23 has no room below the nodes for load balancers of both kinds."""


def load_balancer_subnet_cidrs(vpc_cidr: str, *, public: bool) -> tuple[str, str]:
    """/27, the least that an Application Load Balancer takes (Elastic Load Balancing guide, subnets), behind the NAT
    gateway's. Each kind has places of its own, so that one can come or go without moving the other.
    """
    places = list(ipaddress.IPv4Network(vpc_cidr).subnets(new_prefix=27))
    first = 3 if public else 1
    return str(places[first]), str(places[first + 1])
