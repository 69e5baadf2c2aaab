"""Asking EC2 how the reservations and blocks of a file stand. What it does not answer is said, never taken as fine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scripts.aws import capacity_blocks
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError, CredentialsError
from stacks.domain.capacity_market.standing import ExtensionOffer, Standing
from stacks.domain.environment import Capacity, Environment, Job
from stacks.domain.names import CAPACITY_TAG, ENVIRONMENT_TAG
from stacks.domain.reservations import CAPACITY_BLOCK, Reservation

_RESERVED = ("reservation", CAPACITY_BLOCK)


def standings(cloud: Cloud, environment: Environment, extension_hours: int) -> tuple[Standing, ...]:
    """One for each reservation and block of the file, and for each that was bought for it but is not in it."""
    return tuple(
        standing
        for name, capacity in environment.capacity.items()
        if capacity.kind in _RESERVED
        for standing in _standings(cloud, environment, name, capacity, extension_hours)
    )


def _standings(
    cloud: Cloud, environment: Environment, name: str, capacity: Capacity, extension_hours: int
) -> Iterator[Standing]:
    jobs = _jobs_on(environment, name)
    ids = capacity.ids or ((capacity.id,) if capacity.id else ())
    for id_ in ids:
        found = capacity_blocks.find_reservation(cloud, id_)
        yield _standing(cloud, name, capacity, id_, found, jobs, extension_hours)
    if ids:
        return
    tags = {ENVIRONMENT_TAG: environment.name, CAPACITY_TAG: name}
    bought = [one for one in capacity_blocks.reservations_with_tags(cloud, tags) if not one.is_over]
    candidates: list[Reservation | None] = [*bought] or [None]
    for one in candidates:
        yield _standing(cloud, name, capacity, None, one, jobs, extension_hours)


def _standing(
    cloud: Cloud,
    name: str,
    capacity: Capacity,
    id_: str | None,
    found: Reservation | None,
    jobs: dict[str, Job],
    extension_hours: int,
) -> Standing:
    not_asked: list[str] = []
    extensions: tuple[ExtensionOffer, ...] = ()
    if found is not None and found.is_block:
        found, extensions = _block(cloud, found, extension_hours, not_asked)
    return Standing(
        capacity=name,
        kind=capacity.kind,
        id=id_,
        reservation=found,
        checkpoint_seconds=_checkpoint_seconds(jobs.values()),
        jobs_without_checkpoint=tuple(name for name, job in jobs.items() if job.checkpoint_minutes is None),
        extensions=extensions,
        not_asked=tuple(not_asked),
        found_by_tag=found is not None and id_ is None,
    )


def _block(
    cloud: Cloud, found: Reservation, extension_hours: int, not_asked: list[str]
) -> tuple[Reservation, tuple[ExtensionOffer, ...]]:
    """Its health and its extensions; either may be refused without the other."""
    extensions: tuple[ExtensionOffer, ...] = ()
    try:
        found = capacity_blocks.with_block(cloud, found)
    except AwsError as error:
        _note(error, "the health of its links", not_asked)
    if not found.is_over:
        try:
            extensions = capacity_blocks.extension_offers(cloud, found.id, extension_hours)
        except AwsError as error:
            _note(error, "extensions", not_asked)
    return found, extensions


def _note(error: AwsError, what: str, not_asked: list[str]) -> None:
    if isinstance(error, CredentialsError):
        raise error
    not_asked.append(f"{what}: {error.message}")


def _jobs_on(environment: Environment, capacity: str) -> dict[str, Job]:
    clusters = {name for name, cluster in environment.clusters.items() if cluster.capacity == capacity}
    return {name: job for name, job in environment.jobs.items() if job.cluster in clusters}


def _checkpoint_seconds(jobs: Iterable[Job]) -> int:
    """The longest from one checkpoint to the next, of the jobs that say it."""
    return max(((job.checkpoint_minutes or 0) * 60 for job in jobs), default=0)
