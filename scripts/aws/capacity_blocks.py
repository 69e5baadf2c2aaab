"""EC2's market of capacity blocks: offers, the purchase, and reservations with their health.

An answer may lack any field, and may hold words that no model lists yet: nothing here insists on one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from scripts.aws import ec2
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.capacity_market.offers import Offer, Segment
from stacks.domain.capacity_market.standing import ExtensionOffer
from stacks.domain.reservations import Reservation

_SERVICE = "ec2"
_FEE_MAX = 10**12
"""More is no fee but a mistake."""
_PLAIN_BLOCK = "instances"
"""What DescribeCapacityBlocks calls a block of plain instances (botocore 1.44.8, filter ultraserver-type)."""


def offers(cloud: Cloud, parameters: Mapping[str, Any]) -> tuple[Offer, ...]:
    """Every page of them. Raises KitError."""
    zone_ids = {zone.name: zone.id for zone in ec2.zones(cloud)}
    found = cloud.pages(_SERVICE, "describe_capacity_block_offerings", "CapacityBlockOfferings", **parameters)
    return tuple(_offer(raw, cloud.region, zone_ids) for raw in found)


def purchase(cloud: Cloud, offering_id: str, platform: str, tags: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of what was bought. Sent once: EC2 has no token by which a second request would be known as the same."""
    answer = cloud.call_once(
        _SERVICE,
        "purchase_capacity_block",
        CapacityBlockOfferingId=offering_id,
        InstancePlatform=platform,
        TagSpecifications=[
            {
                "ResourceType": "capacity-reservation",
                "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            }
        ],
    )
    reservations = [answer.get("CapacityReservation") or {}, *(answer.get("CapacityReservations") or ())]
    ids = [raw["CapacityReservationId"] for raw in reservations if raw.get("CapacityReservationId")]
    for block in answer.get("CapacityBlocks") or ():
        ids += block.get("CapacityReservationIds") or ()
    return tuple(dict.fromkeys(ids))


def find_reservation(cloud: Cloud, reservation_id: str) -> Reservation | None:
    try:
        answer = cloud.call(
            _SERVICE, "describe_capacity_reservations", CapacityReservationIds=[reservation_id]
        )
    except AwsError as error:
        if error.code.startswith("InvalidCapacityReservationId"):
            return None
        raise
    return next((_reservation(raw) for raw in answer.get("CapacityReservations") or ()), None)


def reservations_with_tags(cloud: Cloud, tags: Mapping[str, str]) -> tuple[Reservation, ...]:
    """Those that carry all of the tags, over or not."""
    return tuple(_reservation(raw) for raw in ec2.raw_reservations_with_tags(cloud, tags))


def with_block(cloud: Cloud, reservation: Reservation) -> Reservation:
    """With its UltraServer and the health of its links, of which the reservation itself says nothing."""
    ids: dict[str, Any] = {"CapacityBlockIds": [reservation.block_id]} if reservation.block_id else {}
    blocks = cloud.pages(_SERVICE, "describe_capacity_blocks", "CapacityBlocks", **ids)
    block = _of_reservation(blocks, reservation.id, reservation.block_id)
    block_id = block.get("CapacityBlockId", "") if block else ""
    if block is None or not block_id:
        return reservation
    ultraserver_type = block.get("UltraserverType") or ""
    found = replace(
        reservation,
        block_id=block_id,
        ultraserver_type="" if ultraserver_type == _PLAIN_BLOCK else ultraserver_type,
    )
    statuses = cloud.pages(
        _SERVICE, "describe_capacity_block_status", "CapacityBlockStatuses", CapacityBlockIds=[block_id]
    )
    status: dict[str, Any] = next((raw for raw in statuses if raw.get("CapacityBlockId") == block_id), {})
    return replace(
        found,
        interconnect=status.get("InterconnectStatus", ""),
        unavailable=status.get("TotalUnavailableCapacity"),
    )


def extension_offers(cloud: Cloud, reservation_id: str, hours: int) -> tuple[ExtensionOffer, ...]:
    found = cloud.pages(
        _SERVICE,
        "describe_capacity_block_extension_offerings",
        "CapacityBlockExtensionOfferings",
        CapacityReservationId=reservation_id,
        CapacityBlockExtensionDurationHours=hours,
    )
    return tuple(
        ExtensionOffer(
            id=raw.get("CapacityBlockExtensionOfferingId", ""),
            start=raw.get("CapacityBlockExtensionStartDate"),
            end=raw.get("CapacityBlockExtensionEndDate"),
            hours=raw.get("CapacityBlockExtensionDurationHours"),
            fee=_fee(raw.get("UpfrontFee")),
            currency=raw.get("CurrencyCode", ""),
        )
        for raw in found
    )


def _offer(raw: dict[str, Any], region: str, zone_ids: Mapping[str, str]) -> Offer:
    zone = raw.get("AvailabilityZone", "")
    return Offer(
        id=raw.get("CapacityBlockOfferingId", ""),
        region=region,
        instance_type=raw.get("InstanceType", ""),
        zone=zone,
        zone_id=zone_ids.get(zone, ""),
        instances=raw.get("InstanceCount"),
        start=raw.get("StartDate"),
        end=raw.get("EndDate"),
        minutes=_minutes(raw),
        fee=_fee(raw.get("UpfrontFee")),
        currency=raw.get("CurrencyCode", ""),
        tenancy=raw.get("Tenancy", ""),
        ultraserver_type=raw.get("UltraserverType", ""),
        ultraservers=raw.get("UltraserverCount"),
        segments=tuple(
            Segment(
                instance_type=part.get("InstanceType", ""),
                zone_id=part.get("AvailabilityZoneId") or zone_ids.get(part.get("AvailabilityZone", ""), ""),
                instances=part.get("InstanceCount"),
                start=part.get("StartDate"),
                end=part.get("EndDate"),
                minutes=_minutes(part),
            )
            for part in raw.get("CapacityBlockOfferingSegments") or ()
        ),
    )


def _minutes(raw: dict[str, Any]) -> int | None:
    """EC2 gives hours, and the minutes beyond them; where it gives neither, the dates say it."""
    hours, minutes = raw.get("CapacityBlockDurationHours"), raw.get("CapacityBlockDurationMinutes")
    if hours is not None or minutes is not None:
        return int(hours or 0) * 60 + int(minutes or 0)
    start, end = raw.get("StartDate"), raw.get("EndDate")
    if isinstance(start, datetime) and isinstance(end, datetime):
        return int((end - start).total_seconds()) // 60
    return None


def _fee(text: object) -> Decimal | None:
    """None for what is no amount of money."""
    try:
        fee = Decimal(str(text))
    except InvalidOperation:
        return None
    return fee if not fee.is_nan() and 0 <= fee < _FEE_MAX else None


def _of_reservation(
    blocks: Iterable[dict[str, Any]], reservation_id: str, block_id: str
) -> dict[str, Any] | None:
    for block in blocks:
        if block.get("CapacityBlockId") == block_id or reservation_id in (
            block.get("CapacityReservationIds") or ()
        ):
            return block
    return None


def _reservation(raw: dict[str, Any]) -> Reservation:
    return Reservation(
        id=raw["CapacityReservationId"],
        kind=raw.get("ReservationType", "default"),
        instance_type=raw.get("InstanceType", ""),
        zone_id=raw.get("AvailabilityZoneId", ""),
        total=raw.get("TotalInstanceCount", 0),
        available=raw.get("AvailableInstanceCount", 0),
        state=raw.get("State", "unknown"),
        start=raw.get("StartDate"),
        end=raw.get("EndDate"),
        tenancy=raw.get("Tenancy", ""),
        platform=raw.get("InstancePlatform", ""),
        block_id=raw.get("CapacityBlockId", ""),
        launch_status=raw.get("LaunchStatus", ""),
        tags=tuple((tag["Key"], tag["Value"]) for tag in raw.get("Tags") or ()),
    )
