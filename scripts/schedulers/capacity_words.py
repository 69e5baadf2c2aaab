"""A cluster's capacity in words: what the file says, and what EC2 says of each reservation or block."""

from __future__ import annotations

from scripts.aws import ec2
from scripts.aws.cloud import Cloud
from scripts.aws.ec2 import CapacityReservation
from stacks.domain.capacity_plan import CapacityPlan
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import ClusterPlan, Plan

BY_THE_HOUR = ("on-demand", "spot")


def reservations_of(cloud: Cloud, plan: Plan, cluster: ClusterPlan) -> tuple[CapacityReservation, ...]:
    """The file's that there are; on the local cloud, those that it supplied."""
    capacity = cluster.capacity
    if capacity.kind in BY_THE_HOUR:
        return ()
    ids = capacity.ids or ((capacity.id,) if capacity.id else ())
    if ids:
        found = (ec2.find_reservation(cloud, id_) for id_ in ids)
        return tuple(one for one in found if one is not None)
    tagged = ec2.reservations_with_tag(cloud, ENVIRONMENT_TAG, plan.name)
    return tuple(one for one in tagged if one.instance_type == cluster.instance_type)


def capacity_words(capacity: CapacityPlan, reservations: tuple[CapacityReservation, ...]) -> str:
    words = f"{capacity.name}: {capacity.kind}"
    if capacity.kind in BY_THE_HOUR:
        return words
    found = [
        f"{one.id} {one.state}, {one.available} of {one.instances} instances free" for one in reservations
    ]
    known = {one.id for one in reservations}
    wanted = capacity.ids or ((capacity.id,) if capacity.id else ())
    found += [f"{id_} does not exist" for id_ in wanted if id_ not in known]
    return f"{words}, {'; '.join(found) or 'not bought yet'}"


def ends(reservations: tuple[CapacityReservation, ...]) -> str | None:
    """When the first of them ends, ISO 8601."""
    moments = [one.ends for one in reservations if one.ends]
    return min(moments).isoformat() if moments else None
