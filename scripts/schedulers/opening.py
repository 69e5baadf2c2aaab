"""Which scheduler a cluster has, from what its deployed stacks promise."""

from __future__ import annotations

from scripts.aws import batch, pcs
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.pcs import PcsResource
from scripts.deployed_cluster import capacity_of, deployed_cluster
from scripts.outputs import batch_outputs, slurm_outputs
from scripts.schedulers.batch_scheduler import BatchScheduler
from scripts.schedulers.batch_view import NOT_DEPLOYED, BatchView
from scripts.schedulers.capacity_words import reservations_of
from scripts.schedulers.login_node import TransportKind, open_transport
from scripts.schedulers.scheduler import ClusterView, Scheduler
from scripts.schedulers.slurm_scheduler import SlurmScheduler
from scripts.schedulers.slurm_view import SlurmView
from scripts.waiting_reasons import Surroundings
from stacks.domain.catalog import load_catalog
from stacks.domain.names import (
    OUTPUT_COMPUTE_ENVIRONMENT_ARN,
    OUTPUT_JOB_QUEUE_ARN,
    OUTPUT_LOGIN_NODE_GROUP_ID,
    OUTPUT_PCS_CLUSTER_ID,
)
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.quotas import quota_code


def open_scheduler(cloud: Cloud, plan: Plan, cluster: ClusterPlan, transport: TransportKind) -> Scheduler:
    """Raises WorldError when the stacks are not there. `transport` is of Slurm only."""
    if cluster.slurm is None:
        return BatchScheduler(cloud, plan, batch_outputs(cloud, plan, cluster.name))
    outputs = slurm_outputs(cloud, plan, cluster.name, by_ssm=transport == "ssm")
    return _slurm_scheduler(cloud, plan, cluster, outputs.bucket, outputs.login_group_id, transport)


def open_view(
    cloud: Cloud,
    plan: Plan,
    cluster: ClusterPlan,
    stack: Stack | None,
    bucket: str | None,
    transport: TransportKind,
) -> ClusterView:
    """What `status` shows of a cluster, deployed or not. `stack` is the cluster's own."""
    if cluster.slurm is not None:
        return _slurm_view(cloud, plan, cluster, stack, bucket, transport)
    outputs = stack.outputs if stack else {}
    environment_arn = outputs.get(OUTPUT_COMPUTE_ENVIRONMENT_ARN)
    queue_arn = outputs.get(OUTPUT_JOB_QUEUE_ARN)
    deployed = deployed_cluster(cloud, stack) if stack else None
    capacity = capacity_of(cluster, deployed)
    around = Surroundings(
        cluster=cluster,
        environment=batch.find_compute_environment(cloud, environment_arn) if environment_arn else None,
        queue=batch.find_job_queue(cloud, queue_arn) if queue_arn else None,
        capacity=capacity,
        reservation=next(iter(reservations_of(cloud, capacity)), None),
        quota_code=quota_code(cluster, load_catalog()),
        deployed=deployed,
    )
    return BatchView(cloud, around)


def _slurm_view(
    cloud: Cloud,
    plan: Plan,
    cluster: ClusterPlan,
    stack: Stack | None,
    bucket: str | None,
    transport: TransportKind,
) -> SlurmView:
    outputs = stack.outputs if stack else {}
    cluster_id, login_group_id = outputs.get(OUTPUT_PCS_CLUSTER_ID), outputs.get(OUTPUT_LOGIN_NODE_GROUP_ID)
    found: list[PcsResource] = []
    if cluster_id:
        own = pcs.find(cloud, pcs.CLUSTER, cluster_id, cluster_id)
        found = [*([own] if own else ()), *pcs.parts(cloud, cluster_id)]
    scheduler = None
    if bucket is not None and (login_group_id or transport == "local"):
        scheduler = _slurm_scheduler(cloud, plan, cluster, bucket, login_group_id, transport)
    deployed = deployed_cluster(cloud, stack) if stack else None
    reservations = reservations_of(cloud, capacity_of(cluster, deployed))
    return SlurmView(cluster, tuple(found), NOT_DEPLOYED, scheduler, reservations, deployed)


def _slurm_scheduler(
    cloud: Cloud,
    plan: Plan,
    cluster: ClusterPlan,
    bucket: str,
    login_group_id: str | None,
    transport: TransportKind,
) -> SlurmScheduler:
    """The Slurm of the local cloud, or of this shell, is of whatever version is installed here."""
    login = open_transport(transport, cloud, cluster, login_group_id)
    is_pcs = transport == "ssm" and not cloud.is_local
    version = cluster.slurm.version if cluster.slurm and is_pcs else None
    return SlurmScheduler(cloud, plan, cluster, bucket, login, version)
