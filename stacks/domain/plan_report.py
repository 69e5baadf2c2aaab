"""The plan for readers: the stable JSON document of `plan --json`, and the same as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stacks.domain.catalog import Catalog
from stacks.domain.cluster_report import cluster_document, cluster_text, projected_document, projected_text
from stacks.domain.cost import Cost
from stacks.domain.cost_report import cost_table, totals
from stacks.domain.findings import Finding, NotChecked, accepted, count_of, not_accepted
from stacks.domain.fleet_report import fleet_document, fleet_text
from stacks.domain.live import LiveFacts
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.quotas import quota_states
from stacks.domain.shift_report import shift_document, shift_text
from stacks.domain.timeline import timeline

NOTHING_ASKED = LiveFacts()
BOOTSTRAP_STAYS = "the CDK bootstrap stack (shared by every CDK app of the account and region)"
DEFINITIONS_STAY = "inactive revisions of the job definitions (AWS Batch keeps them; they cost nothing)"
TASK_DEFINITIONS_STAY = "inactive revisions of the task definitions (Amazon ECS keeps them)"


def plan_document(
    plan: Plan,
    cost: Cost,
    findings: Sequence[Finding],
    catalog: Catalog,
    live: LiveFacts = NOTHING_ASKED,
    not_checked: Sequence[NotChecked] = (),
) -> dict[str, Any]:
    return {
        "environment": plan.name,
        "region": plan.region,
        "account": plan.account,
        "stacks": list(plan.stacks.all),
        "clusters": [
            *(cluster_document(cluster) for cluster in plan.clusters),
            *(projected_document(cluster) for cluster in plan.projected),
        ],
        "jobs": [_job(job) for job in plan.jobs],
        "fleets": [fleet_document(fleet) for fleet in plan.fleets],
        "shifts": [shift_document(plan, shift) for shift in plan.shifts],
        "cost": cost.as_dict(),
        "quotas": [state.as_dict() for state in quota_states(plan, catalog, live)],
        "timeline": timeline(plan, live),
        "leftovers_to_expect": kept_after_destroy(plan),
        "findings": [finding.as_dict() for finding in not_accepted(findings)],
        "suppressed": [finding.suppression_dict() for finding in accepted(findings)],
        "not_checked": [item.as_dict() for item in not_checked],
    }


def plan_text(plan: Plan, cost: Cost, catalog: Catalog, live: LiveFacts = NOTHING_ASKED) -> str:
    lines = [f"{plan.name} in {plan.region} ({plan.zone_id}), account {plan.account or 'not named'}", ""]
    lines += [line for cluster in plan.clusters for line in cluster_text(cluster)]
    lines += [line for cluster in plan.projected for line in projected_text(cluster)]
    lines += _network_text(plan)
    lines += [line for job in plan.jobs for line in _job_text(job)]
    lines += [line for fleet in plan.fleets for line in fleet_text(fleet)]
    lines += [line for shift in plan.shifts for line in shift_text(plan, shift)]
    lines += _cost_text(plan, cost)
    lines += [f"quota    {state.text()}" for state in quota_states(plan, catalog, live)]
    lines += [f"when     {event['at']}: {event['what']}" for event in timeline(plan, live)]
    lines += [f"stays    {kept}" for kept in kept_after_destroy(plan)]
    return "\n".join(lines)


def kept_after_destroy(plan: Plan) -> list[str]:
    """What `destroy` leaves because it must."""
    on_batch = any(cluster.slurm is None for cluster in plan.clusters) or not (plan.clusters or plan.fleets)
    return [
        BOOTSTRAP_STAYS,
        *([DEFINITIONS_STAY] if on_batch else []),
        *([TASK_DEFINITIONS_STAY] if plan.fleets else []),
    ]


def _network_text(plan: Plan) -> Iterator[str]:
    brought = plan.brought_network
    if brought is not None:
        yield (
            f"network  yours, never changed or deleted: {brought.vpc_id}, nodes in {brought.subnet_id} "
            f"with {brought.security_group_id}"
        )


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
        "ultraserver_nodes": job.ultraserver_nodes or None,
        "ultraserver_groups": job.nodes // job.ultraserver_nodes if job.ultraserver_nodes else None,
        "sdk": job.image.sdk if job.image and job.virtual_environment is None else None,
        "image": job.image.pinned_uri if job.image and job.virtual_environment is None else None,
        "virtual_environment": job.virtual_environment,
    }


def _job_text(job: JobPlan) -> Iterator[str]:
    yield (
        f"job      {job.name}: {job.framework} on {job.cluster}, {count_of(job.nodes, 'node')} x "
        f"{count_of(job.processes_per_node, 'process')}, "
        f"data {job.data_parallel} x tensor {job.tensor} x pipeline {job.pipeline}"
    )
    yield from _groups_text(job)
    if job.virtual_environment is not None:
        yield f"         in the node image's virtual environment {job.virtual_environment}"
    elif job.image is not None:
        state = "" if job.image.is_resolved else " (no digest yet: run `neuronkit lock`)"
        yield f"         image {job.image.pinned_uri}{state}; SDK {job.image.sdk or 'unknown'}"


def _groups_text(job: JobPlan) -> Iterator[str]:
    if job.ultraserver is None or not job.ultraserver_nodes:
        return
    size, modes = job.ultraserver_nodes, job.ultraserver.modes.get(job.ultraserver_nodes, ())
    mode = f"mode {' or '.join(map(str, modes))}" if modes else "of a mode that no source states"
    yield (
        f"         in {count_of(job.nodes // size, 'group')} of {size} of the {job.ultraserver.members} nodes "
        f"of a {job.ultraserver.name}, {mode}; ranks by UltraServer and node in it"
    )


def _cost_text(plan: Plan, cost: Cost) -> Iterator[str]:
    yield from (f"cost     {row}" for row in cost_table(cost))
    for sentence in totals(cost, lifetime_days=plan.lifetime_days, budget_usd=plan.budget_usd):
        yield f"cost     {sentence}"
