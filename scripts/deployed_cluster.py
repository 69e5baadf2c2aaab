"""A cluster as it is deployed, by its stack's template: the file may have changed since."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.translation import AwsError, CredentialsError
from scripts.deployed_inventory import batch_launch_template, batch_nodes
from scripts.deployed_slurm import compute_groups, group_launch_template, slurm_nodes
from scripts.deployed_templates import Template, capacity, of_type
from stacks.domain.capacity_plan import CapacityPlan
from stacks.domain.catalog import Catalog, load_catalog
from stacks.domain.cost import NodeGroup
from stacks.domain.errors import WorldError
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import ClusterPlan, JobPlan, Plan


@dataclass(frozen=True, slots=True)
class DeployedCluster:
    instance_type: str | None
    """None, as `nodes`, where the template does not say it in so many words, or the catalog knows no such type."""
    nodes: int | None
    """At most."""
    capacity_kind: str
    capacity_ids: tuple[str, ...]
    """None with on-demand and spot; several: one for each UltraServer."""


def find_deployed_cluster(cloud: Cloud, plan: Plan, cluster: str) -> DeployedCluster | None:
    """None where it is not deployed: a Slurm that this shell reaches has no stack."""
    stack = cloudformation.find_stack(cloud, plan.stacks.of_cluster(cluster))
    is_ours = stack is not None and stack.tags.get(ENVIRONMENT_TAG) == plan.name
    return deployed_cluster(cloud, stack) if stack is not None and is_ours else None


def deployed_cluster(cloud: Cloud, stack: Stack) -> DeployedCluster | None:
    """None where the stack has no nodes, or its template may not be read: whoever asks goes by the file then."""
    try:
        template = cloudformation.template(cloud, stack.name)
    except CredentialsError:
        raise
    except AwsError:
        return None
    return read_cluster(template, load_catalog())


def read_cluster(template: Template, catalog: Catalog) -> DeployedCluster | None:
    for _, environment in of_type(template, "AWS::Batch::ComputeEnvironment"):
        resources = environment.get("ComputeResources", {})
        kind, id_ = capacity(batch_launch_template(template, resources), template)
        return _cluster(batch_nodes("", template, environment, {}, catalog), kind, [id_])
    groups = compute_groups(template)
    if not groups:
        return None
    found = [capacity(group_launch_template(template, group), template) for group in groups]
    kind = "spot" if groups[0].get("PurchaseOption") == "SPOT" else found[0][0]
    return _cluster(slurm_nodes("", template, {}, catalog), kind, [id_ for _, id_ in found])


def capacity_of(cluster: ClusterPlan, deployed: DeployedCluster | None) -> CapacityPlan:
    """On which its nodes really start: the file's may be another by now."""
    if deployed is None:
        return cluster.capacity
    ids = deployed.capacity_ids
    one = ids[0] if len(ids) == 1 else None
    return CapacityPlan(cluster.capacity.name, deployed.capacity_kind, one, ids if len(ids) > 1 else ())


def room_words(cluster: ClusterPlan, deployed: DeployedCluster | None, nodes: int) -> str | None:
    """Why a job of so many nodes can never start; None: it can, or nobody knows."""
    if deployed is None or deployed.nodes is None or nodes <= deployed.nodes:
        return None
    words = f"the deployed cluster {cluster.name} takes {deployed.nodes} nodes, the job asks for {nodes}"
    if cluster.nodes >= nodes:
        return f"{words}: `neuronkit deploy FILE` first, the file has {cluster.nodes}"
    return f"{words}: raise the cluster's `nodes` or lower the job's, then `neuronkit deploy FILE`"


def require_room(job: JobPlan, cluster: ClusterPlan, deployed: DeployedCluster) -> None:
    """Raises WorldError for a job that could wait for ever: the file has changed since the deploy."""
    if words := room_words(cluster, deployed, job.nodes):
        raise WorldError(f"job {job.name} could never start: {words}")
    if deployed.instance_type not in (None, cluster.instance_type):
        raise WorldError(
            f"the deployed cluster {cluster.name} has {deployed.instance_type}, job {job.name} was planned for "
            f"{cluster.instance_type}",
            "run `neuronkit deploy FILE` first: the file has changed since",
        )


def _cluster(group: NodeGroup | None, kind: str, ids: list[str]) -> DeployedCluster:
    known = tuple(dict.fromkeys(id_ for id_ in ids if id_))
    if group is None:
        return DeployedCluster(None, None, kind, known)
    return DeployedCluster(group.instance_type, group.nodes, kind, known)
