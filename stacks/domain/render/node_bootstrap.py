"""node-bootstrap.sh: what runs in the container on each node, around the job's command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.engine import render
from stacks.domain.render.node_programs import is_in_ultraservers, read_arguments

JAX_ROOT_COMMUNICATION_PORT = 41000
"""axlearn's; for JAX nothing sets NEURON_RT_ROOT_COMM_ID."""
JAX_COORDINATOR_PORT = 41001
TORCH_ROOT_COMMUNICATION_PORT = 62182
"""torch_neuronx's own default, which a job may rely on."""
TORCHRUN_PORT = 41000
RENDEZVOUS_PORT = 41002
"""Free for the job's own use."""

STOP_GRACE_SECONDS = 15
LAST_COPY_SECONDS = 90
ECS_STOP_SECONDS = 120
"""Of the kit's nodes; the grace leaves half of the agent's default (30 s) for copying, too."""

POLL_SECONDS = 2
PLACE_MINUTES = 15
"""From the first node's start to the last one's: an image of tens of GB is fetched in between."""
ORDER_MINUTES = 17
REFUSAL_SECONDS = 10
"""Several polls of the other nodes."""


@dataclass(frozen=True, slots=True)
class NodeBootstrap:
    template: ClassVar[str] = "runtime/node-bootstrap.sh.j2"

    environment: str
    job: str
    command: tuple[str, ...]
    torch: bool
    distributed: bool
    starts_several_processes: bool
    nodes: int
    processes_per_node: int
    logical_cores_per_process: int
    chips_per_node: int
    efa_devices_per_node: int
    sync_seconds: int
    has_data: bool
    data_uri: str
    main_port: int
    root_communication_port: int
    rendezvous_port: int
    stop_grace_seconds: int
    last_copy_seconds: int
    ecs_stop_seconds: int
    in_ultraservers: bool
    orders_nodes: bool
    ultraserver_nodes: int
    ultraserver_read_arguments: tuple[str, ...]
    poll_seconds: int
    place_polls: int
    place_minutes: int
    order_polls: int
    order_minutes: int
    refusal_seconds: int


def node_bootstrap(plan: Plan, job: JobPlan) -> str:
    torch = job.framework == "torch-neuronx"
    return render(
        NodeBootstrap(
            environment=plan.name,
            job=job.name,
            command=job.command,
            torch=torch,
            distributed=job.processes > 1,
            starts_several_processes=not torch and job.processes_per_node > 1,
            nodes=job.nodes,
            processes_per_node=job.processes_per_node,
            logical_cores_per_process=job.logical_cores_per_process,
            chips_per_node=job.chips_per_node,
            efa_devices_per_node=job.efa_devices_per_node,
            sync_seconds=job.sync_seconds,
            has_data=job.data is not None,
            data_uri=job.data or "",
            main_port=TORCHRUN_PORT if torch else JAX_COORDINATOR_PORT,
            root_communication_port=TORCH_ROOT_COMMUNICATION_PORT if torch else JAX_ROOT_COMMUNICATION_PORT,
            rendezvous_port=RENDEZVOUS_PORT,
            stop_grace_seconds=STOP_GRACE_SECONDS,
            last_copy_seconds=LAST_COPY_SECONDS,
            ecs_stop_seconds=ECS_STOP_SECONDS,
            in_ultraservers=is_in_ultraservers(job),
            orders_nodes=is_in_ultraservers(job) and job.nodes > 1,
            ultraserver_nodes=job.ultraserver_nodes,
            ultraserver_read_arguments=read_arguments(job),
            poll_seconds=POLL_SECONDS,
            place_polls=PLACE_MINUTES * 60 // POLL_SECONDS,
            place_minutes=PLACE_MINUTES,
            order_polls=ORDER_MINUTES * 60 // POLL_SECONDS,
            order_minutes=ORDER_MINUTES,
            refusal_seconds=REFUSAL_SECONDS,
        )
    )
