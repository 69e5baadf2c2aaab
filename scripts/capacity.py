"""Capacity that is not bought yet: a real deploy refuses it, the local cloud supplies a block; what is bought is looked at."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import replace

from scripts.aws import ec2
from scripts.aws.cloud import Cloud
from scripts.aws.ec2 import CapacityReservation
from scripts.console import Console
from stacks.domain.errors import WorldError
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import CapacityPlan, ClusterPlan, Plan

NOT_SUPPLIED = "cr-00000000000000000"
"""Stands in a dry run for the block that the local cloud would supply."""
_TIMEOUT_SECONDS = 30.0


def with_bought_capacity(console: Console, cloud: Cloud, plan: Plan, *, dry_run: bool = False) -> Plan:
    """The plan with an id for every reservation and block. Raises WorldError for what has to be bought first."""
    missing = {cluster.capacity.name for cluster in plan.clusters if not cluster.capacity.is_bought}
    if not missing:
        return plan
    if not cloud.is_local:
        raise _not_bought(plan, missing)
    ids = {name: _local_block(console, cloud, plan, name, dry_run=dry_run) for name in sorted(missing)}
    return _with_ids(plan, ids)


def reservation_problems(cloud: Cloud, plan: Plan) -> list[str]:
    """What does not fit between the file and the reservations and blocks that it names."""
    problems: list[str] = []
    for name, clusters in _by_capacity(plan).items():
        id_ = clusters[0].capacity.id
        if id_ not in (None, NOT_SUPPLIED):
            found = ec2.find_reservation(cloud, id_)
            problems += [f"capacity {name} ({id_}): {problem}" for problem in _misfits(found, clusters, plan)]
    return problems


def _misfits(found: CapacityReservation | None, clusters: list[ClusterPlan], plan: Plan) -> list[str]:
    if found is None:
        return [f"there is no such reservation in {plan.region}"]
    problems = []
    if not found.is_paid_for:
        problems.append(f"it is {found.state}")
    if found.zone_id and found.zone_id != plan.zone_id:
        problems.append(f"it is in zone {found.zone_id}, the file's network in {plan.zone_id}")
    for cluster in clusters:
        if found.instance_type != cluster.instance_type:
            problems.append(
                f"it is of {found.instance_type}, cluster {cluster.name} of {cluster.instance_type}"
            )
    nodes = sum(cluster.nodes for cluster in clusters)
    if nodes > found.instances:
        problems.append(f"it has {found.instances} instances, the clusters on it want {nodes}")
    return problems


def _by_capacity(plan: Plan) -> dict[str, list[ClusterPlan]]:
    clusters: dict[str, list[ClusterPlan]] = {}
    for cluster in plan.clusters:
        clusters.setdefault(cluster.capacity.name, []).append(cluster)
    return clusters


def _not_bought(plan: Plan, missing: set[str]) -> WorldError:
    lines = []
    hints = []
    for name in sorted(missing):
        clusters = _by_capacity(plan)[name]
        nodes = sum(cluster.nodes for cluster in clusters)
        lines.append(f"capacity {name} ({clusters[0].capacity.kind}) has no id: it is not bought yet")
        hints.append(_how_to_buy(plan, name, clusters[0], nodes))
    return WorldError("\n".join(lines), "\n  ".join(hints))


def _how_to_buy(plan: Plan, name: str, cluster: ClusterPlan, nodes: int) -> str:
    then = f"and write its cr-… id into capacity.{name}.id; or choose `kind: on-demand`"
    if cluster.capacity.kind == "capacity-block":
        return (
            f"`neuronkit capacity search FILE` lists what EC2 sells of {nodes} x {cluster.instance_type}, `neuronkit "
            f"capacity buy FILE OFFERING --max-fee USD` buys one in zone {plan.zone_id} {then}"
        )
    return (
        f"make one with `aws ec2 create-capacity-reservation --region {plan.region} --instance-type "
        f"{cluster.instance_type} --instance-count {nodes} --availability-zone-id {plan.zone_id} "
        f"--instance-platform Linux/UNIX`, {then}"
    )


def _local_block(console: Console, cloud: Cloud, plan: Plan, name: str, *, dry_run: bool) -> str:
    clusters = _by_capacity(plan)[name]
    nodes = sum(cluster.nodes for cluster in clusters)
    for block in ec2.reservations_with_tag(cloud, ENVIRONMENT_TAG, plan.name):
        if block.is_paid_for and not _misfits(block, clusters, plan):
            return block.id
    id_ = NOT_SUPPLIED if dry_run else _supply(cloud, plan, clusters[0].instance_type, nodes)
    console.progress(
        f"local cloud: {'would supply' if dry_run else 'supplies'} capacity block {id_} for capacity {name}, which is not bought: "
        f"{nodes} x {clusters[0].instance_type} in {plan.zone_id}"
    )
    return id_


def _supply(cloud: Cloud, plan: Plan, instance_type: str, nodes: int) -> str:
    body = {
        "instance_type": instance_type,
        "count": nodes,
        "zone_id": plan.zone_id,
        "region": plan.region,
        "account": cloud.account,
        "tags": {ENVIRONMENT_TAG: plan.name},
    }
    request = urllib.request.Request(  # noqa: S310 - the local cloud's own address
        f"{cloud.endpoint_url}/neuronkit/capacity-blocks",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
            return str(json.load(response)["id"])
    except urllib.error.HTTPError as error:
        raise WorldError(
            f"the local cloud supplies no block: {error.read().decode(errors='replace').strip()}"
        ) from error
    except OSError as error:
        raise WorldError(f"the local cloud does not answer: {error}", "`neuronkit local status`") from error


def _with_ids(plan: Plan, ids: dict[str, str]) -> Plan:
    clusters = tuple(
        replace(
            cluster,
            capacity=CapacityPlan(cluster.capacity.name, cluster.capacity.kind, ids[cluster.capacity.name]),
        )
        if cluster.capacity.name in ids
        else cluster
        for cluster in plan.clusters
    )
    return replace(plan, clusters=clusters)
