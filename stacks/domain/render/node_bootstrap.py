"""node-bootstrap.sh: what runs on each node, in the container or virtual environment, around the job's command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.plan import JobPlan, Plan
from stacks.domain.render.engine import render
from stacks.domain.render.node_programs import is_in_ultraservers, read_arguments
from stacks.domain.render.secret_source import SecretSource, secret_source

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
SLURM_STOP_GRACE_SECONDS = 120
"""A checkpoint's time: the job script warns early enough. Slurm kills a cancelled job sooner (KillWait)."""
COMPILE_POLL_SECONDS = 15

POLL_SECONDS = 5
"""An aws command takes most of a second of a processor: not too often, as the job may share it."""
PLACE_MINUTES = 15
"""From the first node's start to the last one's: an image of tens of GB is fetched in between."""
ORDER_MINUTES = 17
END_MINUTES = 60
"""For rank 0 to save and copy the last of it."""
PART_MINUTES = 30
"""For the other nodes' last parts of a checkpoint, which they copy at the same time as rank 0 its own."""
PART_POLL_SECONDS = 2
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
    end_polls: int
    end_minutes: int
    part_polls: int
    part_poll_seconds: int
    part_minutes: int
    refusal_seconds: int
    slurm: bool
    fetches_secrets: bool
    secrets: tuple[SecretSource, ...]
    compiles_first: bool
    compile_command: tuple[str, ...]
    compile_polls: int
    compile_poll_seconds: int
    compile_wait_minutes: int


def node_bootstrap(plan: Plan, job: JobPlan) -> str:
    torch = job.framework == "torch-neuronx"
    slurm = plan.cluster(job.cluster).slurm is not None
    # Half of the job's time: what takes longer leaves none for training.
    compile_wait_minutes = max(1, job.time_limit_seconds // 120)
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
            stop_grace_seconds=SLURM_STOP_GRACE_SECONDS if slurm else STOP_GRACE_SECONDS,
            last_copy_seconds=LAST_COPY_SECONDS,
            ecs_stop_seconds=ECS_STOP_SECONDS,
            in_ultraservers=is_in_ultraservers(job),
            orders_nodes=is_in_ultraservers(job) and job.nodes > 1 and not slurm,
            ultraserver_nodes=job.ultraserver_nodes,
            ultraserver_read_arguments=read_arguments(job),
            poll_seconds=POLL_SECONDS,
            place_polls=PLACE_MINUTES * 60 // POLL_SECONDS,
            place_minutes=PLACE_MINUTES,
            order_polls=ORDER_MINUTES * 60 // POLL_SECONDS,
            order_minutes=ORDER_MINUTES,
            end_polls=END_MINUTES * 60 // POLL_SECONDS,
            end_minutes=END_MINUTES,
            part_polls=PART_MINUTES * 60 // PART_POLL_SECONDS,
            part_poll_seconds=PART_POLL_SECONDS,
            part_minutes=PART_MINUTES,
            refusal_seconds=REFUSAL_SECONDS,
            slurm=slurm,
            fetches_secrets=slurm and bool(job.secrets),
            secrets=tuple(secret_source(variable, arn) for variable, arn in job.secrets) if slurm else (),
            compiles_first=bool(job.compile_command),
            compile_command=job.compile_command,
            compile_polls=compile_wait_minutes * 60 // COMPILE_POLL_SECONDS,
            compile_poll_seconds=COMPILE_POLL_SECONDS,
            compile_wait_minutes=compile_wait_minutes,
        )
    )
