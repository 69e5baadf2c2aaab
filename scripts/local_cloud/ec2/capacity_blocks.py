"""Capacity reservations, from the admin interface or `block_market`: capacity blocks, and stand-ins for on-demand ones.

A block is what was bought; so there is no call to change one, and cancelling is refused as EC2 refuses it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.responses._base_response import EC2BaseResponse
from moto.ec2.utils import random_id

CAPACITY_BLOCK, ON_DEMAND = "capacity-block", "default"
"""EC2's words for the types of reservations."""
_FILTERS = {
    "instance-type": "InstanceType",
    "state": "State",
    "availability-zone": "AvailabilityZone",
    "availability-zone-id": "AvailabilityZoneId",
    "instance-match-criteria": "InstanceMatchCriteria",
    "tenancy": "Tenancy",
    "owner-id": "OwnerId",
}


def blocks_of(backend: EC2Backend) -> dict[str, dict[str, Any]]:
    """By id; kept in moto's backend, so that a reset of moto empties it."""
    blocks: dict[str, dict[str, Any]] = backend.__dict__.setdefault("capacity_blocks", {})
    return blocks


def supply(
    account: str,
    region: str,
    instance_type: str,
    count: int,
    zone_id: str,
    hours: float = 24,
    tags: dict[str, str] | None = None,
    reservation_type: str = CAPACITY_BLOCK,
) -> dict[str, Any]:
    """A block that is active from now on, as if it had been bought and had just begun; with the type `default` an
    on-demand reservation that ends then.
    """
    if region not in ec2_backends[account]:
        raise ValueError(f"there is no region {region}")
    backend = ec2_backends[account][region]
    zones = [zone for zone in backend.describe_availability_zones() if zone.zone_id == zone_id]
    if not zones:
        raise ValueError(f"there is no zone {zone_id} in {region}")
    if int(count) < 1 or float(hours) <= 0:
        raise ValueError("a block has at least one instance and lasts longer than nothing")
    start = datetime.now(UTC).replace(microsecond=0)
    end = start + timedelta(hours=float(hours))
    if reservation_type not in (CAPACITY_BLOCK, ON_DEMAND):
        raise ValueError(f"there is no reservation type {reservation_type}")
    added = add_block(
        backend, instance_type=instance_type, count=int(count), zone=zones[0], start=start, end=end, tags=tags
    )
    blocks_of(backend)[added["id"]]["ReservationType"] = reservation_type
    return {**added, "ReservationType": reservation_type}


def add_block(
    backend: EC2Backend,
    *,
    instance_type: str,
    count: int,
    zone: Any,
    start: datetime,
    end: datetime,
    tags: dict[str, str] | None = None,
    ultraserver_type: str | None = None,
) -> dict[str, Any]:
    """`ultraserver_type` goes into the block's own description, not into its reservation's."""
    block_id = random_id("cr")
    account, region = backend.account_id, backend.region_name
    blocks_of(backend)[block_id] = {
        "CapacityReservationId": block_id,
        "OwnerId": account,
        "CapacityReservationArn": f"arn:{backend.partition}:ec2:{region}:{account}:capacity-reservation/{block_id}",
        "CapacityBlockId": random_id("cb"),
        "AvailabilityZoneId": zone.zone_id,
        "AvailabilityZone": zone.name,
        "InstanceType": instance_type,
        "InstancePlatform": "Linux/UNIX",
        "Tenancy": "default",
        "TotalInstanceCount": count,
        "AvailableInstanceCount": count,
        "EbsOptimized": True,
        "EphemeralStorage": False,
        "State": "active",
        "StartDate": start,
        "EndDate": end,
        "EndDateType": "limited",
        "InstanceMatchCriteria": "targeted",
        "CreateDate": datetime.now(UTC).replace(microsecond=0),
        "ReservationType": CAPACITY_BLOCK,
    }
    if ultraserver_type:
        ultraservers_of(backend)[block_id] = ultraserver_type
    backend.create_tags([block_id], {"neuronkit:emulated-by": "local cloud", **(tags or {})})
    return {"id": block_id, **described(backend, blocks_of(backend)[block_id])}


def ultraservers_of(backend: EC2Backend) -> dict[str, str]:
    """The UltraServer type of those blocks that have one, by reservation."""
    found: dict[str, str] = backend.__dict__.setdefault("capacity_block_ultraservers", {})
    return found


def described(backend: EC2Backend, block: dict[str, Any]) -> dict[str, Any]:
    tags = backend.tags.get(block["CapacityReservationId"], {})
    now = datetime.now(UTC)
    state = (
        "expired" if block["EndDate"] <= now else "scheduled" if block["StartDate"] > now else block["State"]
    )
    return {**block, "State": state, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


class CapacityReservations(EC2BaseResponse):
    def describe_capacity_reservations(self) -> ActionResult:
        blocks = blocks_of(self.ec2_backend)
        wanted = self._get_param("CapacityReservationIds", [])
        for block_id in wanted:
            self._known(block_id)
        found = [
            described(self.ec2_backend, block)
            for name, block in blocks.items()
            if not wanted or name in wanted
        ]
        return ActionResult({"CapacityReservations": [block for block in found if self._passes(block)]})

    def cancel_capacity_reservation(self) -> ActionResult:
        block = self._known(self._get_param("CapacityReservationId"))
        raise EC2ClientError(
            "OperationNotPermitted",
            f"You cannot cancel the Capacity Block {block['CapacityReservationId']}: it ends on {block['EndDate']}.",
        )

    def create_capacity_reservation(self) -> ActionResult:
        raise EC2ClientError(
            "UnsupportedOperation",
            "On-Demand capacity reservations are not emulated by the local cloud; "
            "POST /neuronkit/capacity-blocks supplies a capacity block",
        )

    def _known(self, block_id: str) -> dict[str, Any]:
        blocks = blocks_of(self.ec2_backend)
        if block_id not in blocks:
            raise EC2ClientError(
                "InvalidCapacityReservationId.NotFound",
                f"The capacity reservation '{block_id}' does not exist",
            )
        return blocks[block_id]

    def _passes(self, block: dict[str, Any]) -> bool:
        tags = {tag["Key"]: tag["Value"] for tag in block["Tags"]}
        for name, wanted in self._filters_from_querystring().items():
            if name.startswith("tag:"):
                given: Any = tags.get(name.removeprefix("tag:"))
            elif name in _FILTERS:
                given = block[_FILTERS[name]]
            else:
                raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
            if given not in list(wanted):
                return False
        return True
