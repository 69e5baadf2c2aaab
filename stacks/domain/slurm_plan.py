"""A Slurm cluster on AWS PCS worked out: node groups, queue, names, sizes. Part of a cluster's plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stacks.domain.catalog import InstanceType, UltraServer
from stacks.domain.environment import Capacity, Cluster, Environment, SharedStorage, SlurmSettings
from stacks.domain.names import node_image_reference
from stacks.domain.slurm import controller_sizes, cpus_of_node, default_login_instance_type

LOGIN_GROUP = "login"
VIRTUAL_ENVIRONMENTS = {
    "jax": "/opt/aws_neuronx_venv_jax*",
    "torch-neuronx": "/opt/aws_neuronx_venv_pytorch_[0-9]_[0-9]*",
}
"""Patterns, because a DLAMI's environments carry the framework's version in their names (Neuron DLAMI guide)."""
PAID_ANYWAY = ("reservation", "capacity-block")


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Compute nodes that PCS starts and ends together: of one UltraServer, where nodes are members of any."""

    name: str
    """Also the beginning of the nodes' names: NAME-1, NAME-2, …"""
    nodes_min: int
    """0, or as many as `nodes_max`: PCS mixes nothing."""
    nodes_max: int
    features: tuple[str, ...]
    """Slurm's features: the instance family and, where there are UltraServers, this one's, such as "us0"."""
    capacity_id: str | None
    """The reservation or block of this group; None with on-demand and spot, and while it is not bought."""

    @property
    def is_static(self) -> bool:
        return self.nodes_min > 0


@dataclass(frozen=True, slots=True)
class SharedStoragePlan:
    kind: str
    """efs or lustre"""
    capacity_gib: int | None
    """None with efs, which grows by itself."""
    mount_point: str


@dataclass(frozen=True, slots=True)
class SlurmPlan:
    version: str
    cluster_name: str
    """Of the PCS cluster."""
    controller_size: str
    queue: str
    login_group: str
    login_instance_type: str
    node_groups: tuple[NodeGroup, ...]
    idle_seconds: int
    cpus_per_node: int | None
    """Slurm's, one a core; None where nothing states the type's cores."""
    gres_per_node: int
    """Neuron devices that Slurm counts on each node; 0: none."""
    shared_storage: SharedStoragePlan | None
    """None only in a file with errors."""
    runs_in: str
    """virtual-environment, pyxis or apptainer"""
    virtual_environments: tuple[tuple[str, str], ...]
    """Directories by framework, where the file names them."""
    accounting: bool
    cluster_settings: tuple[tuple[str, str], ...]
    node_settings: tuple[tuple[str, str], ...]
    queue_settings: tuple[tuple[str, str], ...]
    node_image: str | None
    """The reference of the node image that the kit builds; None with an AMI of the user's."""

    @property
    def is_static(self) -> bool:
        return all(group.is_static for group in self.node_groups)

    @property
    def ultraserver_features(self) -> tuple[str, ...]:
        """One for each UltraServer; empty where nodes are members of none."""
        return tuple(group.features[1] for group in self.node_groups if len(group.features) > 1)


def slurm_plan(
    environment: Environment, name: str, instance_type: InstanceType, ultraserver: UltraServer | None
) -> SlurmPlan | None:
    """None with another scheduler."""
    cluster = environment.clusters[name]
    if cluster.scheduler != "slurm":
        return None
    settings = slurm_settings_of(cluster)
    capacity = environment.capacity[cluster.capacity]
    login_instance_type = settings.login_instance_type or default_login_instance_type()
    return SlurmPlan(
        version=settings.version,
        cluster_name=pcs_cluster_name(environment.name, name),
        controller_size=controller_size(cluster),
        queue=name,
        login_group=f"{LOGIN_GROUP}-{node_group_name(login_instance_type, None)}",
        login_instance_type=login_instance_type,
        node_groups=tuple(_node_groups(cluster, capacity, instance_type, ultraserver)),
        idle_seconds=settings.idle_minutes * 60,
        cpus_per_node=cpus_of_node(cluster.instance_type),
        gres_per_node=instance_type.chips if settings.gres is None else settings.gres,
        shared_storage=_shared_storage(settings.shared_storage),
        runs_in=settings.runs_in,
        virtual_environments=tuple(sorted(settings.virtual_environments.items())),
        accounting=settings.accounting,
        cluster_settings=tuple(sorted(settings.cluster_settings.items())),
        node_settings=tuple(sorted(settings.node_settings.items())),
        queue_settings=tuple(sorted(settings.queue_settings.items())),
        node_image=node_image_reference(settings.version) if settings.ami == "built" else None,
    )


def virtual_environment(slurm: SlurmPlan | None, framework: str) -> str | None:
    """Of the job's framework; None where it runs in a container."""
    if slurm is None or slurm.runs_in != "virtual-environment":
        return None
    return dict(slurm.virtual_environments).get(framework, VIRTUAL_ENVIRONMENTS[framework])


def slurm_settings_of(cluster: Cluster) -> SlurmSettings:
    """The file's, or the defaults."""
    return cluster.slurm or SlurmSettings()


def pcs_cluster_name(environment: str, cluster: str) -> str:
    return f"{environment}-{cluster}"


def minimum_nodes(cluster: Cluster, capacity_kind: str) -> int:
    """What is paid for anyway runs; what costs by the hour comes with a job."""
    wanted = slurm_settings_of(cluster).minimum_nodes
    if wanted is not None:
        return wanted
    return cluster.nodes if capacity_kind in PAID_ANYWAY else 0


def controller_size(cluster: Cluster) -> str:
    """The smallest that takes all nodes and the login node; the largest where none does, which a rule says."""
    wanted = slurm_settings_of(cluster).controller_size
    if wanted != "auto":
        return wanted
    sizes = controller_sizes()
    return next((one.size for one in sizes if one.nodes_max > cluster.nodes), sizes[-1].size)


def node_group_name(instance_type: str, ultraserver_index: int | None) -> str:
    """With the type, because a group's type cannot be changed and its name is taken while the old one is there."""
    name = instance_type.replace(".", "-")
    return name if ultraserver_index is None else f"{name}-us{ultraserver_index}"


def _shared_storage(storage: SharedStorage | None) -> SharedStoragePlan | None:
    return SharedStoragePlan(storage.kind, storage.capacity_gib, storage.mount_point) if storage else None


def _node_groups(
    cluster: Cluster, capacity: Capacity, instance_type: InstanceType, ultraserver: UltraServer | None
) -> Iterator[NodeGroup]:
    family = instance_type.family
    least = minimum_nodes(cluster, capacity.kind)
    members = ultraserver.members if ultraserver else None
    if members is None:
        name = node_group_name(cluster.instance_type, None)
        yield NodeGroup(name, least, cluster.nodes, (family,), capacity.id)
        return
    for index, first in enumerate(range(0, cluster.nodes, members)):
        size = min(members, cluster.nodes - first)
        yield NodeGroup(
            name=node_group_name(cluster.instance_type, index),
            nodes_min=size if least == cluster.nodes else min(least, size),
            nodes_max=size,
            features=(family, f"us{index}"),
            capacity_id=capacity.ids[index] if index < len(capacity.ids) else capacity.id,
        )
