"""Capacity that is not bought yet: a real deploy refuses it, the local cloud supplies it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace

from scripts.aws import capacity_blocks
from scripts.aws.cloud import Cloud
from scripts.console import Console
from stacks.domain.capacity_plan import CapacityPlan
from stacks.domain.errors import WorldError
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import ClusterPlan, Plan
from stacks.domain.reservations import CAPACITY_BLOCK
from stacks.domain.rules.live_reservations import Named, User, capacity_users, fits

NOT_SUPPLIED = "cr-00000000000000000"
"""Stands in a dry run for the block that the local cloud would supply."""
_TIMEOUT_SECONDS = 30.0


def with_bought_capacity(console: Console, cloud: Cloud, plan: Plan, *, dry_run: bool = False) -> Plan:
    """The plan with an id for every reservation and block. Raises WorldError for what has to be bought first."""
    missing = {user.capacity.name for user in capacity_users(plan) if not user.capacity.is_bought}
    if not missing:
        return plan
    if not cloud.is_local:
        raise _not_bought(plan, missing)
    ids = {name: _local_ids(console, cloud, plan, name, dry_run=dry_run) for name in sorted(missing)}
    return _with_ids(plan, ids)


def without_stand_ins(plan: Plan) -> Plan:
    """The plan with no id where a dry run has a stand-in: there is nothing to ask about."""
    held = (user.capacity for user in capacity_users(plan))
    names = {c.name for c in held if c.id == NOT_SUPPLIED or NOT_SUPPLIED in c.ids}
    return _with_ids(plan, dict.fromkeys(names, ()))


def _by_capacity(plan: Plan) -> dict[str, list[User]]:
    users: dict[str, list[User]] = {}
    for user in capacity_users(plan):
        users.setdefault(user.capacity.name, []).append(user)
    return users


def _not_bought(plan: Plan, missing: set[str]) -> WorldError:
    lines = []
    hints = []
    for name in sorted(missing):
        users = _by_capacity(plan)[name]
        nodes = sum(user.nodes for user in users)
        lines.append(f"capacity {name} ({users[0].capacity.kind}) has no id: it is not bought yet")
        hints.append(_how_to_buy(plan, name, users[0], nodes))
    return WorldError("\n".join(lines), "\n  ".join(hints))


def _how_to_buy(plan: Plan, name: str, user: User, nodes: int) -> str:
    blocks = len(user.groups) if len(user.groups) > 1 else 1
    place = (
        f"its cr-… id into capacity.{name}.id" if blocks == 1 else f"their cr-… ids into capacity.{name}.ids"
    )
    then = f"and write {place}; or choose `kind: on-demand`"
    if user.capacity.kind == "capacity-block":
        offerings = "OFFERING" if blocks == 1 else "OFFERING…"
        bought = "buys one" if blocks == 1 else f"buys {blocks}, one for each UltraServer,"
        return (
            f"`neuronkit capacity search FILE` lists what EC2 sells of {nodes} x {user.instance_type}, `neuronkit "
            f"capacity buy FILE {offerings} --max-fee USD` {bought} in zone {plan.zone_id} {then}"
        )
    if blocks > 1:
        sizes = ", ".join(str(size) for size in user.groups)
        then = f"once for each UltraServer ({sizes} nodes), {then}"
        nodes = user.groups[0]
    return (
        f"make one with `aws ec2 create-capacity-reservation --region {plan.region} --instance-type "
        f"{user.instance_type} --instance-count {nodes} --availability-zone-id {plan.zone_id} "
        f"--instance-platform Linux/UNIX`, {then}"
    )


def _local_ids(console: Console, cloud: Cloud, plan: Plan, name: str, *, dry_run: bool) -> tuple[str, ...]:
    """One; with several UltraServers under Slurm one for each, as each is bought by itself."""
    users = _by_capacity(plan)[name]
    groups = users[0].groups if len(users) == 1 else ()
    sizes = groups or (sum(user.nodes for user in users),)
    ids: list[str] = []
    for size in sizes:
        named = Named(name, users[0].capacity.kind, "", tuple(users), plan.zone_id, size)
        ids.append(_local_block(console, cloud, plan, named, taken=ids, dry_run=dry_run))
    return tuple(ids)


def _local_block(
    console: Console, cloud: Cloud, plan: Plan, named: Named, *, taken: list[str], dry_run: bool
) -> str:
    for found in capacity_blocks.reservations_with_tags(cloud, {ENVIRONMENT_TAG: plan.name}):
        if fits(named, found) and found.id not in taken:
            return found.id
    id_ = NOT_SUPPLIED if dry_run else _supply(cloud, plan, named)
    console.progress(
        f"local cloud: {'would supply' if dry_run else 'supplies'} {named.kind.replace('-', ' ')} {id_} for capacity "
        f"{named.capacity}, which is not bought: {named.nodes} x {named.users[0].instance_type} in {plan.zone_id}"
    )
    return id_


def _supply(cloud: Cloud, plan: Plan, named: Named) -> str:
    body = {
        "instance_type": named.users[0].instance_type,
        "count": named.nodes,
        "zone_id": plan.zone_id,
        "region": plan.region,
        "account": cloud.account,
        "tags": {ENVIRONMENT_TAG: plan.name},
        "reservation_type": CAPACITY_BLOCK if named.kind == CAPACITY_BLOCK else "default",
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


def _with_ids(plan: Plan, ids: Mapping[str, tuple[str, ...]]) -> Plan:
    clusters = tuple(
        _cluster_with_ids(cluster, ids[cluster.capacity.name]) if cluster.capacity.name in ids else cluster
        for cluster in plan.clusters
    )
    return replace(
        plan, clusters=clusters, fleets=tuple(_fleet_with_ids(fleet, ids) for fleet in plan.fleets)
    )


def _fleet_with_ids(fleet: FleetPlan, ids: Mapping[str, tuple[str, ...]]) -> FleetPlan:
    """Neuron's nodes and the GPU group's: one reservation each."""
    if fleet.capacity.name in ids:
        fleet = replace(fleet, capacity=_with_id(fleet.capacity, ids))
    if fleet.fallback is not None and fleet.fallback.capacity.name in ids:
        capacity = _with_id(fleet.fallback.capacity, ids)
        fleet = replace(fleet, fallback=replace(fleet.fallback, capacity=capacity))
    return fleet


def _with_id(capacity: CapacityPlan, ids: Mapping[str, tuple[str, ...]]) -> CapacityPlan:
    return replace(capacity, id=next(iter(ids[capacity.name]), None))


def _cluster_with_ids(cluster: ClusterPlan, ids: tuple[str, ...]) -> ClusterPlan:
    """Without ids where there are none; a Slurm cluster's node groups each have their own."""
    one = ids[0] if len(ids) == 1 else None
    capacity = CapacityPlan(cluster.capacity.name, cluster.capacity.kind, one, ids if len(ids) > 1 else ())
    slurm = cluster.slurm
    if slurm is not None:
        of_group = ids if len(ids) == len(slurm.node_groups) else (one,) * len(slurm.node_groups)
        groups = (
            replace(group, capacity_id=id_) for group, id_ in zip(slurm.node_groups, of_group, strict=True)
        )
        slurm = replace(slurm, node_groups=tuple(groups))
    return replace(cluster, capacity=capacity, slurm=slurm)
