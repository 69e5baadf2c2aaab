"""The plan: an environment worked out to nodes, chips, interfaces, images and names. Frozen; says nothing of how.

Counts named `*_per_node` are of one node; all others are totals over the cluster or job.
"""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.brought_network import BroughtNetwork, brought_network
from stacks.domain.capacity_plan import CapacityPlan, capacity_plan
from stacks.domain.catalog import Catalog, Chip, UltraServer
from stacks.domain.environment import Environment, Job
from stacks.domain.fleet_plan import FleetPlan, fleet_plan
from stacks.domain.lock import Lock
from stacks.domain.names import ENVIRONMENT_TAG, LIFETIME_TAG, OWNER_TAG, StackNames, stack_names
from stacks.domain.network_interfaces import NetworkInterface
from stacks.domain.node_image_plan import NodeImagePlan, node_image_plans
from stacks.domain.pinned import AmiPlan, ImagePlan, ami_plan, image_plan
from stacks.domain.selection import SelectedImage, Selection, select
from stacks.domain.shift_plan import ShiftPlan, shift_plans
from stacks.domain.sizing import (
    interfaces_of,
    logical_core_size,
    processes_per_node,
    shared_memory_mib,
    task_memory_mib,
    uses_placement_group,
)
from stacks.domain.slurm_plan import SlurmPlan, slurm_plan, virtual_environment
from stacks.domain.unlisted_types import projected_chip, ultraserver_of, with_named_types


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    name: str
    scheduler: str
    instance_type: str
    type_is_listed: bool
    """False: only the file names the type, and what its shape implies is unverified."""
    nodes: int
    """Of all cells."""
    cells: int
    vcpus_per_node: int
    memory_gib_per_node: float
    chips_per_node: int
    physical_cores_per_node: int
    logical_cores_per_node: int
    logical_core_size: int
    network_interfaces: tuple[NetworkInterface, ...]
    """Of one node, primary first."""
    placement_group: bool
    capacity: CapacityPlan
    ami: AmiPlan | None
    """None when nothing in the bundled data fits; a rule has said so."""
    root_volume_gib: int
    ultraserver: UltraServer | None
    """What the nodes are members of, where they are."""
    slurm: SlurmPlan | None
    """None with another scheduler."""

    @property
    def nodes_per_cell(self) -> int:
        return self.nodes // self.cells

    @property
    def ultraservers(self) -> int | None:
        """Whole ones; None where the nodes are not members of any, or make no whole number of them."""
        members = self.ultraserver.members if self.ultraserver else None
        if members is None or self.nodes_per_cell % members:
            return None
        return self.nodes // members

    @property
    def efa_interfaces_per_node(self) -> int:
        return sum(i.interface_type in ("efa", "efa-only") for i in self.network_interfaces)

    @property
    def chips(self) -> int:
        return self.nodes * self.chips_per_node

    @property
    def physical_cores(self) -> int:
        return self.nodes * self.physical_cores_per_node

    @property
    def logical_cores(self) -> int:
        return self.nodes * self.logical_cores_per_node

    @property
    def efa_interfaces(self) -> int:
        return self.nodes * self.efa_interfaces_per_node

    @property
    def vcpus(self) -> int:
        return self.nodes * self.vcpus_per_node


@dataclass(frozen=True, slots=True)
class JobPlan:
    name: str
    cluster: str
    framework: str
    nodes: int
    processes_per_node: int
    logical_cores_per_process: int
    chips_per_node: int
    efa_devices_per_node: int
    logical_cores_per_node: int
    logical_core_size: int
    tensor: int
    pipeline: int
    data_parallel: int
    precision: str
    image: ImagePlan | None
    vcpus_per_node: int
    memory_mib_per_node: int
    shared_memory_mib_per_node: int
    source: str
    command: tuple[str, ...]
    data: str | None
    environment: tuple[tuple[str, str], ...]
    secrets: tuple[tuple[str, str], ...]
    attempts: int
    time_limit_seconds: int
    checkpoint_seconds: int | None
    """The longest time between two checkpoints; None where the file does not say."""
    sync_seconds: int
    compile_command: tuple[str, ...]
    """Run on one node before the command while the compile cache is cold; empty: nothing."""
    ultraserver: UltraServer | None
    ultraserver_nodes: int
    """Nodes of an UltraServer that work as one group; 0 where nodes are members of none."""
    virtual_environment: str | None
    """What the command runs in on a Slurm node: a directory, or a pattern that only one directory fits.
    None: in the image's container."""

    @property
    def processes(self) -> int:
        return self.nodes * self.processes_per_node


@dataclass(frozen=True, slots=True)
class ProjectedCluster:
    """Nodes of a chip that is only announced: a number of them, and what is said of the chip. Nothing can be built."""

    name: str
    scheduler: str
    instance_type: str
    nodes: int
    """Of all cells."""
    cells: int
    chip: Chip
    assumed_chips_per_node: int | None
    capacity: CapacityPlan
    root_volume_gib: int

    @property
    def chips(self) -> int | None:
        """None: unknown, as nothing is published and the file assumes nothing."""
        return None if self.assumed_chips_per_node is None else self.nodes * self.assumed_chips_per_node


@dataclass(frozen=True, slots=True)
class Plan:
    name: str
    region: str
    account: str | None
    owner: str
    lifetime_days: int
    budget_usd: float
    zone_id: str
    vpc_cidr: str | None
    """Of the VPC that the kit makes; None with a network that the user brought."""
    brought_network: BroughtNetwork | None
    cdk_qualifier: str
    permissions_boundary: str | None
    tags: tuple[tuple[str, str], ...]
    """On every resource: the kit's own and the file's, sorted."""
    clusters: tuple[ClusterPlan, ...]
    projected: tuple[ProjectedCluster, ...]
    jobs: tuple[JobPlan, ...]
    """Without those on a projected cluster."""
    fleets: tuple[FleetPlan, ...] = ()
    shifts: tuple[ShiftPlan, ...] = ()
    built_images: tuple[NodeImagePlan, ...] = ()
    """The node images that the kit builds for Slurm clusters."""
    second_zone_id: str | None = None
    """Of the region: for load balancers, which take two zones. None where the catalog knows no other."""

    @property
    def stacks(self) -> StackNames:
        names = tuple(cluster.name for cluster in self.clusters)
        return stack_names(
            self.name,
            names,
            tuple(fleet.name for fleet in self.fleets),
            tuple(shift.name for shift in self.shifts),
            network=self.brought_network is None,
            image=bool(self.node_images),
        )

    @property
    def lasting_tags(self) -> dict[str, str]:
        """Those that no edit of the environment's lifetime changes: for what a changed tag would replace."""
        return {key: value for key, value in self.tags if key != LIFETIME_TAG}

    @property
    def node_images(self) -> tuple[str, ...]:
        """The Slurm versions for which the kit builds a node image."""
        built = (c.slurm.version for c in self.clusters if c.slurm and c.slurm.node_image)
        return tuple(sorted(set(built)))

    def cluster(self, name: str) -> ClusterPlan:
        return next(cluster for cluster in self.clusters if cluster.name == name)

    def fleet(self, name: str) -> FleetPlan:
        return next(fleet for fleet in self.fleets if fleet.name == name)

    def shift(self, name: str) -> ShiftPlan:
        return next(shift for shift in self.shifts if shift.name == name)

    def job(self, name: str) -> JobPlan:
        return next(job for job in self.jobs if job.name == name)


def make_plan(environment: Environment, lock: Lock | None, catalog: Catalog) -> Plan:
    """Expects an environment in which no rule found an error."""
    catalog = with_named_types(environment, catalog)
    selection = select(environment, catalog)
    chips = {name: projected_chip(cluster, catalog) for name, cluster in environment.clusters.items()}
    clusters = tuple(
        _cluster_plan(environment, name, selection, lock, catalog)
        for name, chip in chips.items()
        if chip is None
    )
    by_name = {cluster.name: cluster for cluster in clusters}
    fleets = tuple(fleet_plan(environment, name, selection, lock, catalog) for name in environment.fleets)
    jobs = tuple(
        _job_plan(name, job, by_name[job.cluster], selection.images.get(name), lock)
        for name, job in environment.jobs.items()
        if job.cluster in by_name
    )
    return Plan(
        name=environment.name,
        region=environment.region,
        account=environment.account,
        owner=environment.owner,
        lifetime_days=environment.lifetime_days,
        budget_usd=environment.budget_usd,
        zone_id=environment.network.zone_id,
        vpc_cidr=environment.network.cidr if environment.network.vpc == "new" else None,
        brought_network=brought_network(environment),
        cdk_qualifier=environment.cdk.qualifier,
        permissions_boundary=environment.cdk.permissions_boundary,
        tags=_tags(environment),
        clusters=clusters,
        projected=tuple(_projected(environment, name, chip) for name, chip in chips.items() if chip),
        jobs=jobs,
        built_images=node_image_plans(environment, lock),
        fleets=fleets,
        shifts=shift_plans(environment, fleets),
        second_zone_id=_second_zone(environment, catalog),
    )


def _second_zone(environment: Environment, catalog: Catalog) -> str | None:
    zones = catalog.regions.get(environment.region, ())
    return next((zone for zone in sorted(zones) if zone != environment.network.zone_id), None)


def _projected(environment: Environment, name: str, chip: Chip) -> ProjectedCluster:
    cluster = environment.clusters[name]
    return ProjectedCluster(
        name=name,
        scheduler=cluster.scheduler,
        instance_type=cluster.instance_type,
        nodes=cluster.nodes * cluster.cells,
        cells=cluster.cells,
        chip=chip,
        assumed_chips_per_node=cluster.assumed_chips_per_node,
        capacity=capacity_plan(environment, environment.clusters[name].capacity),
        root_volume_gib=cluster.root_volume_gib,
    )


def _cluster_plan(
    environment: Environment, name: str, selection: Selection, lock: Lock | None, catalog: Catalog
) -> ClusterPlan:
    cluster = environment.clusters[name]
    instance_type = catalog.instance_types[cluster.instance_type]
    capacity = capacity_plan(environment, environment.clusters[name].capacity)
    size = logical_core_size(cluster, instance_type)
    ultraserver = ultraserver_of(instance_type, cluster.shape, catalog)
    return ClusterPlan(
        name=name,
        scheduler=cluster.scheduler,
        instance_type=cluster.instance_type,
        type_is_listed=instance_type.api_known,
        nodes=cluster.nodes * cluster.cells,
        cells=cluster.cells,
        vcpus_per_node=instance_type.vcpus,
        memory_gib_per_node=instance_type.memory_gib,
        chips_per_node=instance_type.chips,
        physical_cores_per_node=instance_type.physical_cores,
        logical_cores_per_node=instance_type.logical_cores(size) or 0,
        logical_core_size=size,
        network_interfaces=interfaces_of(cluster, instance_type),
        placement_group=uses_placement_group(cluster, capacity.kind),
        capacity=capacity,
        ami=ami_plan(selection.amis.get(name), lock),
        root_volume_gib=cluster.root_volume_gib,
        ultraserver=ultraserver,
        slurm=slurm_plan(environment, name, instance_type, ultraserver),
    )


def _job_plan(
    name: str, job: Job, cluster: ClusterPlan, image: SelectedImage | None, lock: Lock | None
) -> JobPlan:
    nodes = job.nodes or cluster.nodes_per_cell
    processes = processes_per_node(job, cluster.logical_cores_per_node)
    logical_cores = nodes * cluster.logical_cores_per_node
    memory_mib = task_memory_mib(cluster.memory_gib_per_node)
    return JobPlan(
        name=name,
        cluster=job.cluster,
        framework=job.framework,
        nodes=nodes,
        processes_per_node=processes,
        logical_cores_per_process=cluster.logical_cores_per_node // processes,
        chips_per_node=cluster.chips_per_node,
        efa_devices_per_node=cluster.efa_interfaces_per_node,
        logical_cores_per_node=cluster.logical_cores_per_node,
        logical_core_size=cluster.logical_core_size,
        tensor=job.parallelism.tensor,
        pipeline=job.parallelism.pipeline,
        data_parallel=job.parallelism.data
        or logical_cores // (job.parallelism.tensor * job.parallelism.pipeline),
        precision=job.precision,
        image=image_plan(image, lock),
        vcpus_per_node=cluster.vcpus_per_node,
        memory_mib_per_node=memory_mib,
        shared_memory_mib_per_node=shared_memory_mib(memory_mib),
        source=job.source,
        command=job.command,
        data=job.data,
        environment=tuple(sorted(job.environment.items())),
        secrets=tuple(sorted(job.secrets.items())),
        attempts=job.attempts,
        time_limit_seconds=job.time_limit_minutes * 60,
        checkpoint_seconds=job.checkpoint_minutes * 60 if job.checkpoint_minutes else None,
        sync_seconds=job.sync_seconds,
        compile_command=job.compile_command,
        ultraserver=cluster.ultraserver,
        ultraserver_nodes=_ultraserver_nodes(job, cluster.ultraserver),
        virtual_environment=virtual_environment(cluster.slurm, job.framework),
    )


def _ultraserver_nodes(job: Job, ultraserver: UltraServer | None) -> int:
    members = ultraserver.members if ultraserver else None
    return 0 if members is None else job.ultraserver_nodes or members


def _tags(environment: Environment) -> tuple[tuple[str, str], ...]:
    own = {
        ENVIRONMENT_TAG: environment.name,
        OWNER_TAG: environment.owner,
        LIFETIME_TAG: str(environment.lifetime_days),
    }
    return tuple(sorted({**environment.tags, **own}.items()))
