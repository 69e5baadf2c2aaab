"""slurm-node-setup.sh: what AWS PCS runs on a node at every boot, before slurmd, as a node lifecycle action.

Its file system is an argument, because only the deployed stack knows it: the script itself has a checksum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.catalog import load_catalog
from stacks.domain.plan import ClusterPlan
from stacks.domain.render.engine import render
from stacks.domain.render.node_bootstrap import (
    JAX_COORDINATOR_PORT,
    JAX_ROOT_COMMUNICATION_PORT,
    RENDEZVOUS_PORT,
    TORCH_ROOT_COMMUNICATION_PORT,
    TORCHRUN_PORT,
)
from stacks.domain.render.slurm_node_user_data import DEVICE_SECONDS
from stacks.domain.slurm import parent_image

RESERVED_PORTS = tuple(
    sorted(
        {
            JAX_ROOT_COMMUNICATION_PORT,
            JAX_COORDINATOR_PORT,
            TORCHRUN_PORT,
            RENDEZVOUS_PORT,
            TORCH_ROOT_COMMUNICATION_PORT,
        }
    )
)
MOUNT_ATTEMPTS = 20
MOUNT_PAUSE_SECONDS = 6
ARGUMENTS = {"efs": "the file system's id", "lustre": "the file system's DNS name, and its mount name"}


@dataclass(frozen=True, slots=True)
class SlurmNodeSetup:
    template: ClassVar[str] = "runtime/slurm-node-setup.sh.j2"

    arguments: str
    mount_point: str
    owner: str
    """Who runs jobs."""
    computes: bool
    devices: int
    device_seconds: int
    efa_devices: int
    reserved_ports: str
    joins_cores: bool
    logical_core_size: int
    is_lustre: bool
    mount_attempts: int
    mount_pause_seconds: int


def compute_node_setup(cluster: ClusterPlan) -> str:
    return _setup(cluster, computes=True)


def login_node_setup(cluster: ClusterPlan) -> str:
    return _setup(cluster, computes=False)


def _setup(cluster: ClusterPlan, *, computes: bool) -> str:
    storage = cluster.slurm.shared_storage if cluster.slurm else None
    assert storage is not None, "a rule asks for it"
    known = load_catalog().get(cluster.instance_type)
    chip = known.chip if known else None
    return render(
        SlurmNodeSetup(
            arguments=ARGUMENTS[storage.kind],
            mount_point=storage.mount_point,
            owner=parent_image().user,
            computes=computes,
            devices=cluster.chips_per_node,
            device_seconds=DEVICE_SECONDS,
            efa_devices=cluster.efa_interfaces_per_node,
            reserved_ports=",".join(str(port) for port in RESERVED_PORTS),
            joins_cores=chip is not None and len(chip.logical_core_sizes) > 1,
            logical_core_size=cluster.logical_core_size,
            is_lustre=storage.kind == "lustre",
            mount_attempts=MOUNT_ATTEMPTS,
            mount_pause_seconds=MOUNT_PAUSE_SECONDS,
        )
    )
