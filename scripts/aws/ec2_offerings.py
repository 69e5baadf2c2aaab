"""EC2's answers about what the account may have: zones, types on offer, AMIs, and what runs and counts against quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.live import LiveAmi, LiveZone, RunningNodes
from stacks.domain.names import ENVIRONMENT_TAG, SLURM_VERSION_TAG

_SERVICE = "ec2"
_COUNTED_STATES = ["pending", "running"]


def zones(cloud: Cloud) -> tuple[LiveZone, ...]:
    """Availability zones proper: no local or wavelength zones."""
    answer = cloud.call(_SERVICE, "describe_availability_zones")
    return tuple(
        LiveZone(raw["ZoneId"], raw.get("State") or "available")
        for raw in answer.get("AvailabilityZones") or ()
        if raw.get("ZoneId") and raw.get("ZoneType", "availability-zone") == "availability-zone"
    )


def offered_zone_ids(cloud: Cloud, instance_types: Iterable[str]) -> dict[str, frozenset[str]]:
    """By type: the zones of the region that offer it; empty for a type that EC2 does not offer there at all."""
    found: dict[str, set[str]] = {name: set() for name in instance_types}
    offerings = cloud.pages(
        _SERVICE,
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": sorted(found)}],
    )
    for raw in offerings:
        found.setdefault(raw.get("InstanceType", ""), set()).add(raw.get("Location", ""))
    return {name: frozenset(zone_ids) for name, zone_ids in found.items()}


def find_ami(cloud: Cloud, image_id: str) -> LiveAmi | None:
    """None when the region has no such image, or does not share it with the account."""
    try:
        images = cloud.call(_SERVICE, "describe_images", ImageIds=[image_id]).get("Images") or ()
    except AwsError as error:
        if error.code.startswith("InvalidAMIID"):
            return None
        raise
    return next((_ami(raw) for raw in images), None)


def running_on_demand(cloud: Cloud, families: Collection[str], environment: str) -> tuple[RunningNodes, ...]:
    """Instances that EC2 counts against the on-demand quotas, by type; spot and capacity blocks have others or none."""
    if not families:
        return ()
    counted: Counter[tuple[str, bool, int | None]] = Counter()
    filters = [
        {"Name": "instance-type", "Values": [f"{family}.*" for family in families]},
        {"Name": "instance-state-name", "Values": _COUNTED_STATES},
    ]
    for reservation in cloud.pages(_SERVICE, "describe_instances", "Reservations", Filters=filters):
        for raw in reservation.get("Instances") or ():
            if not raw.get("InstanceLifecycle"):
                counted[raw.get("InstanceType", ""), _is_ours(raw, environment), _vcpus(raw)] += 1
    return tuple(
        RunningNodes(type_, n, ours, vcpus) for (type_, ours, vcpus), n in sorted(counted.items(), key=str)
    )


def unused_reservations(cloud: Cloud, families: Collection[str]) -> tuple[RunningNodes, ...]:
    """What on-demand reservations hold without running it: EC2 counts it as well. No capacity blocks."""
    if not families:
        return ()
    wanted = frozenset(families)
    unused: Counter[str] = Counter()
    filters = [{"Name": "state", "Values": ["active"]}]
    for raw in cloud.pages(
        _SERVICE, "describe_capacity_reservations", "CapacityReservations", Filters=filters
    ):
        instance_type = raw.get("InstanceType", "")
        is_of_quota = instance_type.partition(".")[0] in wanted
        if is_of_quota and raw.get("ReservationType", "default") == "default":
            unused[instance_type] += raw.get("AvailableInstanceCount", 0)
    return tuple(RunningNodes(type_, n, False, None) for type_, n in sorted(unused.items()) if n)


def _is_ours(raw: dict[str, Any], environment: str) -> bool:
    """A node in a reservation is charged to the reservation, which the plan does not count."""
    tags = {tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()}
    return tags.get(ENVIRONMENT_TAG) == environment and not raw.get("CapacityReservationId")


def _vcpus(raw: dict[str, Any]) -> int | None:
    options = raw.get("CpuOptions") or {}
    cores, threads = options.get("CoreCount"), options.get("ThreadsPerCore")
    return cores * threads if cores and threads else None


def _ami(raw: dict[str, Any]) -> LiveAmi:
    return LiveAmi(
        id=raw["ImageId"],
        name=raw.get("Name", ""),
        state=raw.get("State", ""),
        architecture=raw.get("Architecture", ""),
        root_device_name=raw.get("RootDeviceName", ""),
        root_snapshot_gib=_root_snapshot_gib(raw),
        deprecated_at=_moment(raw.get("DeprecationTime")),
        slurm_version={tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()}.get(SLURM_VERSION_TAG),
    )


def _root_snapshot_gib(raw: dict[str, Any]) -> int | None:
    for mapping in raw.get("BlockDeviceMappings") or ():
        if mapping.get("DeviceName") == raw.get("RootDeviceName"):
            size: int | None = (mapping.get("Ebs") or {}).get("VolumeSize")
            return size
    return None


def _moment(text: str | None) -> datetime | None:
    """EC2 writes it as text (2026-10-01T00:00:00.000Z); None for what is no time."""
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment
