"""What a Slurm node runs once at its first boot: the driver is loaded, and its devices are there, before slurmd starts.

AWS PCS takes user data as a MIME multipart archive only, with a closing boundary, and adds a part of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.plan import ClusterPlan
from stacks.domain.render.engine import render

DEVICE_SECONDS = 60
"""How long devices may take after the driver is loaded."""


@dataclass(frozen=True, slots=True)
class SlurmNodeUserData:
    template: ClassVar[str] = "runtime/slurm-node-user-data.mime.j2"

    devices: int
    device_seconds: int


def slurm_node_user_data(cluster: ClusterPlan) -> str:
    return render(SlurmNodeUserData(devices=cluster.chips_per_node, device_seconds=DEVICE_SECONDS))
