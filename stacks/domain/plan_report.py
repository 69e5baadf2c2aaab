"""The plan for readers: the stable JSON document of `plan --json`, and the same as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stacks.domain.catalog import Catalog
from stacks.domain.cost import Cost
from stacks.domain.findings import Finding
from stacks.domain.plan import ClusterPlan, JobPlan, Plan

CAPACITY_BLOCK_RECLAIM_MINUTES = 30
"""EC2 begins to terminate a block's instances so long before its end (EC2 user guide, capacity-blocks-using)."""

KEPT_AFTER_DESTROY = (
    "the CDK bootstrap stack (shared by every CDK app of the account and region)",
    "inactive revisions of the job definitions (AWS Batch keeps them; they cost nothing)",
)


def plan_document(plan: Plan, cost: Cost, findings: Sequence[Finding], catalog: Catalog) -> dict[str, Any]:
    return {
        "environment": plan.name,
        "region": plan.region,
        "account": plan.account,
        "stacks": list(plan.stacks.all),
        "clusters": [_cluster(cluster) for cluster in plan.clusters],
        "jobs": [_job(job) for job in plan.jobs],
        "fleets": [],
        "cost": cost.as_dict(),
        "quotas": quota_needs(plan, catalog),
        "timeline": timeline(plan),
        "leftovers_to_expect": list(KEPT_AFTER_DESTROY),
        "findings": [finding.as_dict() for finding in findings],
    }


def quota_needs(plan: Plan, catalog: Catalog) -> list[dict[str, Any]]:
    """vCPUs by quota code over the whole plan. Capacity blocks and reservations already held are not charged to it."""
    needs: dict[str, int] = {}
    for cluster in plan.clusters:
        code = catalog.instance_types[cluster.instance_type].quota_code_on_demand
        if cluster.capacity.kind == "on-demand" and code is not None:
            needs[code] = needs.get(code, 0) + cluster.vcpus
    return [
        {"code": code, "name": catalog.quotas[code].name, "needed_vcpus": vcpus, "state": "not checked"}
        for code, vcpus in sorted(needs.items())
    ]


def timeline(plan: Plan) -> list[dict[str, Any]]:
    """Offsets, because a plan knows no clock."""
    events: list[dict[str, Any]] = [{"at": "deploy", "what": "stacks are made; nodes start only with a job"}]
    for cluster in plan.clusters:
        if cluster.capacity.kind == "capacity-block":
            events.append(
                {
                    "at": f"block end - {CAPACITY_BLOCK_RECLAIM_MINUTES} min",
                    "what": f"EC2 begins to reclaim the nodes of {cluster.name}: checkpoint and drain before",
                }
            )
    events.append({"at": f"deploy + {plan.lifetime_days} d", "what": "the lifetime ends: destroy"})
    return events


def plan_text(plan: Plan, cost: Cost, catalog: Catalog) -> str:
    lines = [f"{plan.name} in {plan.region} ({plan.zone_id}), account {plan.account or 'not named'}", ""]
    lines += [line for cluster in plan.clusters for line in _cluster_text(cluster)]
    lines += [line for job in plan.jobs for line in _job_text(job)]
    lines += _cost_text(plan, cost)
    for need in quota_needs(plan, catalog):
        lines.append(
            f"quota    {need['code']} ({need['name']}): {need['needed_vcpus']} vCPUs needed; not checked"
        )
    lines += [f"when     {event['at']}: {event['what']}" for event in timeline(plan)]
    lines += [f"stays    {kept}" for kept in KEPT_AFTER_DESTROY]
    return "\n".join(lines)


def _cluster(cluster: ClusterPlan) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "scheduler": cluster.scheduler,
        "instance_type": cluster.instance_type,
        "nodes": cluster.nodes,
        "chips": cluster.chips,
        "physical_cores": cluster.physical_cores,
        "logical_cores": cluster.logical_cores,
        "logical_core_size": cluster.logical_core_size,
        "efa_interfaces": cluster.efa_interfaces,
        "ultraservers": cluster.ultraservers,
        "placement_group": cluster.placement_group,
        "capacity": {"name": cluster.capacity.name, "kind": cluster.capacity.kind, "id": cluster.capacity.id},
        "ami": None
        if cluster.ami is None
        else {
            "reference": cluster.ami.reference,
            "id": cluster.ami.id if cluster.ami.is_resolved else None,
            "driver": cluster.ami.driver,
        },
    }


def _job(job: JobPlan) -> dict[str, Any]:
    return {
        "name": job.name,
        "cluster": job.cluster,
        "framework": job.framework,
        "nodes": job.nodes,
        "processes_per_node": job.processes_per_node,
        "processes": job.processes,
        "tensor": job.tensor,
        "pipeline": job.pipeline,
        "data": job.data_parallel,
        "sdk": job.image.sdk if job.image else None,
        "image": job.image.pinned_uri if job.image else None,
    }


def _cluster_text(cluster: ClusterPlan) -> Iterator[str]:
    yield f"cluster  {cluster.name}: {cluster.nodes} x {cluster.instance_type} under {cluster.scheduler}"
    yield (
        f"         {cluster.chips} chips, {cluster.physical_cores} physical cores, "
        f"{cluster.logical_cores} logical cores (LNC {cluster.logical_core_size}), {cluster.efa_interfaces} EFA interfaces"
    )
    bought = cluster.capacity.id or ("no id needed" if cluster.capacity.is_bought else "not bought yet")
    group = "in a cluster placement group" if cluster.placement_group else "no placement group"
    yield f"         capacity {cluster.capacity.name}: {cluster.capacity.kind}, {bought}; {group}"
    if cluster.ami is not None:
        resolved = cluster.ami.id if cluster.ami.is_resolved else "unresolved: run `neuronkit lock`"
        yield f"         AMI {cluster.ami.reference}: {resolved}; driver {cluster.ami.driver or 'unknown'}"


def _job_text(job: JobPlan) -> Iterator[str]:
    yield (
        f"job      {job.name}: {job.framework} on {job.cluster}, {job.nodes} nodes x {job.processes_per_node} processes, "
        f"data {job.data_parallel} x tensor {job.tensor} x pipeline {job.pipeline}"
    )
    if job.image is not None:
        state = "" if job.image.is_resolved else " (no digest yet: run `neuronkit lock`)"
        yield f"         image {job.image.pinned_uri}{state}; SDK {job.image.sdk or 'unknown'}"


def _cost_text(plan: Plan, cost: Cost) -> Iterator[str]:
    for line in cost.lines:
        amount = "unknown" if line.usd_per_hour is None else f"${line.usd_per_hour:,.4f}/h"
        when = " while nodes run" if line.while_nodes_run else ""
        yield f"cost     {line.what}: {amount}{when} ({line.source}{f', {line.as_of}' if line.as_of else ''})"
    total = (
        f"${cost.usd_per_hour:,.2f}/h"
        if cost.usd_per_hour is not None
        else (f"unknown; ${cost.known_usd_per_hour:,.2f}/h are known")
    )
    yield f"cost     with every node running: {total}; between jobs: ${cost.idle_usd_per_hour:,.2f}/h"
    lifetime = "unknown" if cost.usd_lifetime is None else f"${cost.usd_lifetime:,.2f}"
    yield f"cost     at most, all {plan.lifetime_days} days: {lifetime}; budget ${plan.budget_usd:,.2f}"
    yield "cost     not in it: data through NAT and between zones, S3 and logs by the GB, tax"
