"""The `slurm` block of a cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stacks.domain.environment.part import Framework, Model

StorageKind = Literal["efs", "lustre"]
RunsIn = Literal["virtual-environment", "pyxis", "apptainer"]


class SharedStorage(Model):
    """What every node of a Slurm cluster mounts: scripts, logs and the state of runs are there."""

    kind: Annotated[
        StorageKind, Field(description="efs: grows by itself; lustre: FSx for Lustre, fast, sized here")
    ]
    capacity_gib: Annotated[
        int | None,
        Field(
            ge=1200, le=1_000_000, description="lustre only: 1200, or a multiple of 2400 GiB; null with efs"
        ),
    ] = None
    mount_point: Annotated[
        str,
        Field(pattern=r"^(/[a-z0-9][a-z0-9_-]*){1,4}$", description="where nodes mount it, such as /shared"),
    ] = "/shared"


class SlurmSettings(Model):
    version: Annotated[
        str,
        Field(
            pattern=r"^[0-9]{2}\.[0-9]{2}$", description="a Slurm version of AWS PCS such as 25.11, in quotes"
        ),
    ] = "25.11"
    controller_size: Annotated[
        Literal["auto", "SMALL", "MEDIUM", "LARGE"],
        Field(description="auto: the smallest that takes all nodes; SMALL, MEDIUM or LARGE"),
    ] = "auto"
    minimum_nodes: Annotated[
        int | None,
        Field(
            ge=0,
            description="nodes that run always: 0 (they come with jobs) or all of `nodes`; null: all of them with a "
            "reservation or block, else 0",
        ),
    ] = None
    idle_minutes: Annotated[
        int,
        Field(
            ge=1, le=10_000, description="minutes without a job before a node that came with a job is ended"
        ),
    ] = 10
    login_instance_type: Annotated[
        str | None, Field(description="an EC2 instance type for the login node, or null for the kit's choice")
    ] = None
    shared_storage: Annotated[
        SharedStorage | None,
        Field(description="the file system that all nodes mount; a Slurm cluster needs one"),
    ] = None
    gres: Annotated[
        int | None,
        Field(
            ge=0,
            le=1024,
            description="Neuron devices (chips, not cores) that Slurm counts on each node; 0: no counting; null: the type's",
        ),
    ] = None
    runs_in: Annotated[
        RunsIn,
        Field(
            description="virtual-environment: of the node image; pyxis or apptainer: the job's container image"
        ),
    ] = "virtual-environment"
    virtual_environments: Annotated[
        dict[Framework, Annotated[str, Field(pattern=r"^/[A-Za-z0-9/_.-]+$")]],
        Field(
            description="the directory of a Python virtual environment on the nodes, by framework; left out: the only one "
            "of that framework under /opt"
        ),
    ] = {}
    ami: Annotated[
        str,
        Field(
            pattern=r"^(built|ami-[0-9a-f]{8,17})$",
            description="built: by `neuronkit image build`; or the id of an AMI with Neuron driver, PCS agent and Slurm",
        ),
    ] = "built"
    parent_ami: Annotated[
        str,
        Field(
            pattern=r"^(auto|ami-[0-9a-f]{8,17}|/aws/service/[A-Za-z0-9/_.-]+)$",
            description="what the built image starts from: auto (the Neuron DLAMI), an AMI id or an SSM parameter",
        ),
    ] = "auto"
    accounting: Annotated[
        bool, Field(description="Slurm accounting (sacct, QOS), which AWS charges for: true or false")
    ] = False
    cluster_settings: Annotated[
        dict[str, str], Field(description="Slurm settings of the cluster that AWS PCS takes, by name")
    ] = {}
    node_settings: Annotated[
        dict[str, str], Field(description="Slurm settings of the node groups that AWS PCS takes, by name")
    ] = {}
    queue_settings: Annotated[
        dict[str, str], Field(description="Slurm settings of the queue that AWS PCS takes, by name")
    ] = {}
