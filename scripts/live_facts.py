"""Asks AWS everything that a plan needs to know, all at once. The only stage that makes live facts; it changes nothing.

Each question is asked by itself, in parallel: a refusal stays with its question, and the slowest answer is the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from scripts.aws import (
    capacity_blocks,
    cloudformation,
    ec2_networks,
    ec2_offerings,
    ec2_types,
    iam,
    lambda_functions,
    service_quotas,
    ssm,
)
from scripts.aws.cloud import Cloud
from scripts.aws.session import open_cloud
from scripts.bootstrapping import bootstrap_version
from scripts.console import Console
from stacks.domain.catalog import Catalog, load_catalog
from stacks.domain.environment import Environment
from stacks.domain.errors import KitError
from stacks.domain.live import (
    NOT_ASKED,
    Answer,
    BlockHealth,
    CouldNotAsk,
    LiveAmi,
    LiveFacts,
    LiveStack,
    unanswered,
)
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.pinned import AmiPlan
from stacks.domain.plan import Plan
from stacks.domain.quotas import families_of, needed_vcpus
from stacks.domain.reservations import CAPACITY_BLOCK
from stacks.domain.rules.live_account import service_roles
from stacks.domain.rules.live_functions import Controller, controllers
from stacks.domain.rules.live_network import subnet_ids
from stacks.domain.rules.live_types import unlisted_clusters

_QUESTIONS_AT_ONCE: Final = 24
_ATTEMPTS: Final = 4
"""An endpoint that a private network does not reach costs 10 seconds a try; what stays unanswered is said."""

_NOT_THERE: Final = ("CREATE_IN_PROGRESS", "CREATE_FAILED", "DELETE_COMPLETE")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """`error`: nobody could be asked at all (no credentials, another account); then `facts` say so everywhere."""

    facts: LiveFacts
    error: KitError | None = None


def ask(console: Console, environment: Environment, plan: Plan) -> Asked:
    """The account is the file's; where it names none, that of the credentials."""
    try:
        cloud = open_cloud(console, plan.region, plan.account, account_required=False)
    except KitError as error:
        return Asked(unanswered(error.message), error)
    return Asked(collect(cloud, environment, plan, load_catalog(), datetime.now(UTC)))


def collect(
    cloud: Cloud, environment: Environment, plan: Plan, catalog: Catalog, as_of: datetime
) -> LiveFacts:
    """Everything that the live rules may want to know of this plan."""
    codes = tuple(needed_vcpus(plan, catalog))
    families = families_of(codes, catalog)
    network, cloud = environment.network, replace(cloud, attempts=_ATTEMPTS)
    vpc = None if network.vpc == "new" else network.vpc
    with ThreadPoolExecutor(_QUESTIONS_AT_ONCE) as pool:

        def one(question: Callable[..., T], *arguments: object) -> Future[Answer[T]]:
            return pool.submit(_asked, question, cloud, *arguments)

        def each(question: Callable[..., T], keys: Iterable[str]) -> dict[str, Future[Answer[T]]]:
            return {key: one(question, key) for key in keys}

        zones = one(ec2_offerings.zones)
        offered = one(ec2_offerings.offered_zone_ids, _instance_types(plan))
        types = each(ec2_types.find_type, {c.instance_type for c in unlisted_clusters(plan)})
        running = one(ec2_offerings.running_on_demand, families, plan.name)
        unused = one(ec2_offerings.unused_reservations, families)
        stacks = one(_stacks, frozenset(plan.stacks.all))
        bootstrap = one(bootstrap_version, plan.cdk_qualifier)
        limits = each(service_quotas.ec2_limit, codes)
        amis = {ami.reference: one(_ami, ami) for ami in _amis(plan)}
        reservations = each(capacity_blocks.find_reservation, _reservation_ids(plan))
        blocks = each(_block_health, _reservation_ids(plan, only=CAPACITY_BLOCK))
        roles = each(iam.role_exists, service_roles(plan))
        concurrency = one(lambda_functions.concurrency) if controllers(plan) else None
        deployed = {c.stack: one(_is_deployed, c) for c in controllers(plan)}
        subnets = {id_: one(ec2_networks.find_subnet, id_, plan.name) for id_ in subnet_ids(environment)}
        acls = each(ec2_networks.find_acl, subnet_ids(environment))
        groups = each(ec2_networks.find_group, _given(network.security_group_id))
        groups |= each(ec2_networks.find_default_group, _given(vpc))
        endpoints = one(ec2_networks.find_endpoints, vpc) if vpc else None
        dns = one(ec2_networks.dns_of_vpc, vpc) if vpc else None
        return LiveFacts(
            as_of=as_of,
            zones=zones.result(),
            offered_zone_ids=offered.result(),
            instance_types=_results(types),
            quota_limits=_results(limits),
            running=running.result(),
            unused_reservations=unused.result(),
            amis=_results(amis),
            reservations=_results(reservations),
            blocks=_results(blocks),
            stacks=stacks.result(),
            bootstrap_version=bootstrap.result(),
            service_roles=_results(roles),
            lambda_concurrency=concurrency.result() if concurrency else NOT_ASKED,
            controllers=_results(deployed),
            subnets=_results(subnets),
            acls=_results(acls),
            security_groups=_results(groups),
            endpoints=endpoints.result() if endpoints else NOT_ASKED,
            vpc_dns=dns.result() if dns else NOT_ASKED,
        )


def _asked(question: Callable[..., T], cloud: Cloud, *arguments: object) -> Answer[T]:
    try:
        return question(cloud, *arguments)
    except KitError as error:
        return CouldNotAsk(error.message)


def _results(futures: dict[str, Future[Answer[T]]]) -> dict[str, Answer[T]]:
    return {key: future.result() for key, future in futures.items()}


def _stacks(cloud: Cloud, names: frozenset[str]) -> tuple[LiveStack, ...]:
    return tuple(
        LiveStack(stack.name, stack.status, stack.tags.get(ENVIRONMENT_TAG))
        for stack in cloudformation.all_stacks(cloud)
        if stack.name in names
    )


def _is_deployed(cloud: Cloud, controller: Controller) -> bool:
    """With its reservation, which CloudFormation makes together with the function."""
    return any(
        resource.logical_id == controller.logical_id and resource.status not in _NOT_THERE
        for resource in cloudformation.resources(cloud, controller.stack)
    )


def _amis(plan: Plan) -> tuple[AmiPlan, ...]:
    """Each once, though many clusters share one."""
    of_fleets = (ami for f in plan.fleets for ami in (f.ami, f.fallback.ami if f.fallback else None))
    amis = (*(cluster.ami for cluster in plan.clusters), *of_fleets)
    return tuple({ami.reference: ami for ami in amis if ami is not None}.values())


def _ami(cloud: Cloud, ami: AmiPlan) -> LiveAmi | None:
    """The one that the lock says; without a lock, the one that a deploy would lock now."""
    if ami.is_node_image and not ami.is_resolved:
        return None
    image_id = ami.id if ami.is_resolved else ssm.find_parameter(cloud, ami.reference)
    return ec2_offerings.find_ami(cloud, image_id) if image_id else None


def _reservation_ids(plan: Plan, only: str | None = None) -> tuple[str, ...]:
    sides = (side for fleet in plan.fleets for side in (fleet, fleet.fallback) if side is not None)
    capacities = (owner.capacity for owner in (*plan.clusters, *sides))
    ids = (id_ for c in capacities if only in (None, c.kind) for id_ in (c.id, *c.ids))
    return tuple(dict.fromkeys(id_ for id_ in ids if id_ is not None))


def _instance_types(plan: Plan) -> set[str]:
    of_fleets = {fleet.instance_type for fleet in plan.fleets}
    of_fallbacks = {fleet.fallback.instance_type for fleet in plan.fleets if fleet.fallback}
    return {cluster.instance_type for cluster in plan.clusters} | of_fleets | of_fallbacks


def _block_health(cloud: Cloud, reservation_id: str) -> BlockHealth:
    found = capacity_blocks.find_reservation(cloud, reservation_id)
    if found is None:
        return BlockHealth("", None)
    block = capacity_blocks.with_block(cloud, found)
    return BlockHealth(block.interconnect, block.unavailable)


def _given(id_: str | None) -> tuple[str, ...]:
    return () if id_ is None else (id_,)
