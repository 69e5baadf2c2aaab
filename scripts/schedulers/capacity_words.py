"""A cluster's capacity in words: what is deployed or else the file's, and what EC2 says of each reservation or block."""

from __future__ import annotations

from scripts.aws import ec2
from scripts.aws.cloud import Cloud
from scripts.aws.ec2 import CapacityReservation
from stacks.domain.capacity_plan import CapacityPlan

BY_THE_HOUR = ("on-demand", "spot")


def reservations_of(cloud: Cloud, capacity: CapacityPlan) -> tuple[CapacityReservation, ...]:
    """By id, those that there are. Not by tag: an environment may have had others before, which serve nothing any more."""
    found = (ec2.find_reservation(cloud, id_) for id_ in ids_of(capacity))
    return tuple(one for one in found if one is not None)


def ids_of(capacity: CapacityPlan) -> tuple[str, ...]:
    if capacity.kind in BY_THE_HOUR:
        return ()
    return capacity.ids or ((capacity.id,) if capacity.id else ())


def capacity_words(
    capacity: CapacityPlan, reservations: tuple[CapacityReservation, ...], in_file: CapacityPlan
) -> str:
    """`capacity` is what is deployed; before a deploy, the file's."""
    words = f"{capacity.name}: {capacity.kind}"
    if capacity.kind not in BY_THE_HOUR:
        found = [
            f"{one.id} {one.state}, {one.available} of {one.instances} instances free" for one in reservations
        ]
        known = {one.id for one in reservations}
        found += [f"{id_} does not exist" for id_ in ids_of(capacity) if id_ not in known]
        words += f", {'; '.join(found) or 'not bought yet, or not in the file'}"
    return words + _difference(capacity, in_file)


def _difference(deployed: CapacityPlan, in_file: CapacityPlan) -> str:
    """The local cloud supplies what the file leaves open."""
    ids = ids_of(in_file)
    if in_file.kind == deployed.kind and (not ids or ids == ids_of(deployed)):
        return ""
    given = f"{in_file.kind} {', '.join(ids)}".rstrip()
    return f"; the file says {given}, which `neuronkit deploy FILE` brings"


def ends(reservations: tuple[CapacityReservation, ...]) -> str | None:
    """When the first of them ends, ISO 8601."""
    moments = [one.ends for one in reservations if one.ends]
    return min(moments).isoformat() if moments else None
