"""The node images that the kit builds for Slurm clusters: one a Slurm version. Part of the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stacks.domain.environment import Cluster, Environment, SlurmSettings
from stacks.domain.lock import Lock
from stacks.domain.names import node_image_reference
from stacks.domain.node_image_sources import builder_instance_type
from stacks.domain.pinned import AmiPlan, ami_plan
from stacks.domain.selection import SelectedAmi
from stacks.domain.slurm import parent_image


@dataclass(frozen=True, slots=True)
class NodeImagePlan:
    slurm_version: str
    reference: str
    """What the lock calls the AMI that is built."""
    parent: AmiPlan
    root_volume_gib: int
    """No larger than any node's root volume, no smaller than the parent's, which only EC2 knows."""
    container_runtimes: tuple[str, ...]
    """Of pyxis and apptainer, what a cluster's jobs run in."""
    builder_instance_type: str


def node_image_plans(environment: Environment, lock: Lock | None) -> tuple[NodeImagePlan, ...]:
    """Where clusters of one version name different parents, which a rule refuses, the first one's counts."""
    clusters = built_clusters(environment)
    return tuple(
        NodeImagePlan(
            slurm_version=version,
            reference=node_image_reference(version),
            parent=_parent(parent, lock),
            root_volume_gib=min(cluster.root_volume_gib for cluster in clusters[version].values()),
            container_runtimes=_container_runtimes(clusters[version]),
            builder_instance_type=builder_instance_type(),
        )
        for version, parent in parents(environment).items()
    )


def built_clusters(environment: Environment) -> dict[str, dict[str, Cluster]]:
    """Clusters by name, by the Slurm version of the image that is built for them; versions sorted."""
    found: dict[str, dict[str, Cluster]] = {}
    for name, cluster in environment.clusters.items():
        if cluster.scheduler == "slurm" and _settings(cluster).ami == "built":
            found.setdefault(_settings(cluster).version, {})[name] = cluster
    return dict(sorted(found.items()))


def parents(environment: Environment) -> dict[str, SelectedAmi]:
    """What each version's image starts from: an AMI id, or an SSM parameter that the lock resolves."""
    return {
        version: SelectedAmi(parent_reference(next(iter(clusters.values()))), None)
        for version, clusters in built_clusters(environment).items()
    }


def parent_reference(cluster: Cluster) -> str:
    given = _settings(cluster).parent_ami
    return parent_image().reference if given == "auto" else given


def _parent(selected: SelectedAmi, lock: Lock | None) -> AmiPlan:
    plan = ami_plan(selected, lock)
    assert plan is not None, "every image has a parent"
    return plan if plan.is_resolved else replace(plan, root_device_name=parent_image().root_device_name)


def _container_runtimes(clusters: dict[str, Cluster]) -> tuple[str, ...]:
    wanted = {_settings(cluster).runs_in for cluster in clusters.values()}
    return tuple(sorted(wanted - {"virtual-environment"}))


def _settings(cluster: Cluster) -> SlurmSettings:
    return cluster.slurm or SlurmSettings()
