"""What a serving node runs once at its first boot: settings of its ECS agent. The drivers are the AMI's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.render.engine import render
from stacks.domain.sizing import MIB_PER_GIB

RESERVED_MEMORY_SHARE = 0.03
RESERVED_MEMORY_MIB_MAX = 2048


@dataclass(frozen=True, slots=True)
class FleetNodeUserData:
    template: ClassVar[str] = "serving/fleet-node-user-data.sh.j2"

    agent_settings: tuple[tuple[str, str], ...]


def fleet_node_user_data(
    *, cluster_name: str, memory_gib: float, stop_seconds: int, capacity_kind: str
) -> str:
    """`cluster_name` may be a placeholder of CloudFormation's."""
    settings = {
        "ECS_CLUSTER": cluster_name,
        "ECS_RESERVED_MEMORY": str(reserved_memory_mib(memory_gib)),
        # For containers whose task says nothing; the agent's own default of 30 s would cut a stream.
        "ECS_CONTAINER_STOP_TIMEOUT": f"{stop_seconds}s",
        # Images are named by digest: what is on the node is right, and need not be asked for again.
        "ECS_IMAGE_PULL_BEHAVIOR": "prefer-cached",
    }
    if capacity_kind == "spot":
        settings["ECS_ENABLE_SPOT_INSTANCE_DRAINING"] = "true"
    return render(FleetNodeUserData(agent_settings=tuple(settings.items())))


def reserved_memory_mib(memory_gib: float) -> int:
    """For the agent, the log driver and the kernel. A small host must still hold what a replica reserves: 85 %."""
    return min(RESERVED_MEMORY_MIB_MAX, int(memory_gib * MIB_PER_GIB * RESERVED_MEMORY_SHARE))
