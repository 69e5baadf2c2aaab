"""The market of capacity blocks, emulated: offers with invented fees, the purchase, blocks with their health, extensions.

It sells what moto's capture says EC2 sells as capacity blocks, in the zones where the capture has it, with EC2's own
limits and steps. Fees are invented: so much an hour for a vCPU, a little more in each further zone. Blocks begin and
end at 11:30 UTC, as EC2's end. An offer that was bought is gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses._base_response import EC2BaseResponse

from scripts.local_cloud.ec2.capacity_blocks import add_block, blocks_of, described, ultraservers_of

_USD_PER_VCPU_HOUR = Decimal("0.18")
_ZONE_SURCHARGE = Decimal("0.03")
_STARTS_LISTED = 3
_ULTRASERVER_OFFERS = 2
"""At each start, so that two can be bought for the same time."""
_WEEKS_AHEAD_MAX = 8
_INSTANCES_MAX = 64
_DAYS = (*range(1, 15), *range(21, 183, 7))
_PLATFORMS = ("Linux/UNIX", "Red Hat Enterprise Linux", "SUSE Linux", "Windows")
# Family of the members, and how many there are: aws-neuron-sdk@81ce03ae trn2-arch.rst.
_ULTRASERVERS = {"u-trn2x64": ("trn2u", 4)}


class BlockMarket(EC2BaseResponse):
    def describe_capacity_block_offerings(self) -> ActionResult:
        found = [offer for offer in self._offers() if offer["CapacityBlockOfferingId"] not in self._sold]
        for offer in found:
            self._listed[offer["CapacityBlockOfferingId"]] = offer
        return self._page("CapacityBlockOfferings", [_shown(offer) for offer in found])

    def purchase_capacity_block(self) -> ActionResult:
        offering_id = self._get_param("CapacityBlockOfferingId")
        if self._get_param("InstancePlatform") not in _PLATFORMS:
            raise EC2ClientError(
                "InvalidParameterValue", "The value for parameter InstancePlatform is invalid"
            )
        offer = self._listed.get(offering_id)
        if offer is None or offering_id in self._sold or offer["StartDate"] <= datetime.now(UTC):
            raise EC2ClientError(
                "InvalidParameterValue",
                f"The capacity block offering '{offering_id}' does not exist or is sold",
            )
        tags = self._parse_tag_specification("capacity-reservation").get("capacity-reservation", {})
        block = add_block(
            self.ec2_backend,
            instance_type=offer["InstanceType"],
            count=offer["InstanceCount"],
            zone=offer["zone"],
            start=offer["StartDate"],
            end=offer["EndDate"],
            tags=tags,
            ultraserver_type=offer.get("UltraserverType"),
        )
        self._sold.add(offering_id)
        reservation = {key: value for key, value in block.items() if key != "id"}
        blocks = [self._block(blocks_of(self.ec2_backend)[block["id"]])]
        return ActionResult({"CapacityReservation": reservation, "CapacityBlocks": blocks})

    def describe_capacity_blocks(self) -> ActionResult:
        return self._page("CapacityBlocks", [self._block(block) for block in self._asked_blocks()])

    def describe_capacity_block_status(self) -> ActionResult:
        return self._page("CapacityBlockStatuses", [_status(block) for block in self._asked_blocks()])

    def describe_capacity_block_extension_offerings(self) -> ActionResult:
        reservation_id = self._get_param("CapacityReservationId")
        block = blocks_of(self.ec2_backend).get(reservation_id)
        if block is None:
            raise EC2ClientError(
                "InvalidCapacityReservationId.NotFound",
                f"The capacity reservation '{reservation_id}' does not exist",
            )
        hours = int(self._get_param("CapacityBlockExtensionDurationHours"))
        _require_sold_duration(hours)
        end = block["EndDate"] + timedelta(hours=hours)
        offer = {
            "CapacityBlockExtensionOfferingId": _offer_id("cbe", reservation_id, end.isoformat()),
            "InstanceType": block["InstanceType"],
            "InstanceCount": block["TotalInstanceCount"],
            "AvailabilityZone": block["AvailabilityZone"],
            "AvailabilityZoneId": block["AvailabilityZoneId"],
            "StartDate": block["StartDate"],
            "CapacityBlockExtensionStartDate": block["EndDate"],
            "CapacityBlockExtensionEndDate": end,
            "CapacityBlockExtensionDurationHours": hours,
            "UpfrontFee": _fee(block["InstanceType"], block["TotalInstanceCount"], hours, 0),
            "CurrencyCode": "USD",
            "Tenancy": "default",
        }
        return self._page("CapacityBlockExtensionOfferings", [offer])

    def _offers(self) -> Iterator[dict[str, Any]]:
        hours = int(self._get_param("CapacityDurationHours"))
        _require_sold_duration(hours)
        instance_type, count, ultraserver = self._hardware()
        starts = list(self._starts(hours))
        for index, zone in enumerate(self._zones(instance_type)):
            for start, number in product(starts, range(_ULTRASERVER_OFFERS if ultraserver else 1)):
                key = (self.ec2_backend.account_id, zone.zone_id, instance_type, str(count), str(hours))
                yield {
                    "CapacityBlockOfferingId": _offer_id("cb", *key, start.isoformat(), str(number)),
                    "InstanceType": instance_type,
                    "AvailabilityZone": zone.name,
                    "InstanceCount": count,
                    "StartDate": start,
                    "EndDate": start + timedelta(hours=hours),
                    "CapacityBlockDurationHours": hours,
                    "UpfrontFee": _fee(instance_type, count, hours, index),
                    "CurrencyCode": "USD",
                    "Tenancy": "default",
                    "zone": zone,
                    **ultraserver,
                }

    def _hardware(self) -> tuple[str, int, dict[str, Any]]:
        """Type, instances, and the offer's words about UltraServers."""
        ultraserver_type = self._get_param("UltraserverType")
        instance_type = self._get_param("InstanceType")
        if bool(ultraserver_type) == bool(instance_type):
            raise EC2ClientError(
                "InvalidParameterCombination", "Specify either an InstanceType or an UltraserverType"
            )
        if ultraserver_type:
            return _ultraserver_hardware(ultraserver_type, int(self._get_param("UltraserverCount", 1)))
        count = int(self._get_param("InstanceCount", 1))
        if not 1 <= count <= _INSTANCES_MAX:
            raise EC2ClientError("InvalidParameterValue", f"InstanceCount has to be 1 to {_INSTANCES_MAX}")
        known: dict[str, Any] | None = INSTANCE_TYPES.get(instance_type)
        if known is None:
            raise EC2ClientError(
                "InvalidInstanceType",
                f"The following supplied instance types do not exist: [{instance_type}]",
            )
        if "capacity-block" not in known["SupportedUsageClasses"]:
            raise EC2ClientError(
                "InvalidParameterValue", f"{instance_type} is not supported for Capacity Blocks"
            )
        return instance_type, count, {}

    def _starts(self, hours: int) -> Iterator[datetime]:
        now = datetime.now(UTC)
        earliest = max(now + timedelta(minutes=30), _moment(self._get_param("StartDateRange")) or now)
        latest_end = _moment(self._get_param("EndDateRange"))
        day = earliest.replace(hour=11, minute=30, second=0, microsecond=0)
        start = day if day >= earliest else day + timedelta(days=1)
        for _ in range(_STARTS_LISTED):
            too_late = start > now + timedelta(weeks=_WEEKS_AHEAD_MAX)
            if too_late or (latest_end and start + timedelta(hours=hours) > latest_end):
                return
            yield start
            start += timedelta(days=1)

    def _zones(self, instance_type: str) -> list[Any]:
        offered = self.ec2_backend.describe_instance_type_offerings(
            "availability-zone-id", {"instance-type": [instance_type]}
        )
        ids = {offer["Location"] for offer in offered}
        zones = self.ec2_backend.describe_availability_zones()
        return sorted((zone for zone in zones if zone.zone_id in ids), key=lambda zone: str(zone.zone_id))

    def _asked_blocks(self) -> list[dict[str, Any]]:
        blocks = blocks_of(self.ec2_backend).values()
        asked = self._get_param("CapacityBlockIds", [])
        unknown = set(asked) - {block["CapacityBlockId"] for block in blocks}
        if unknown:
            raise EC2ClientError(
                "InvalidCapacityBlockId.NotFound",
                f"The capacity block '{', '.join(sorted(unknown))}' does not exist",
            )
        return [block for block in blocks if not asked or block["CapacityBlockId"] in asked]

    def _block(self, block: dict[str, Any]) -> dict[str, Any]:
        shown = described(self.ec2_backend, block)
        ultraserver_type = ultraservers_of(self.ec2_backend).get(block["CapacityReservationId"])
        names = (
            "CapacityBlockId",
            "AvailabilityZone",
            "AvailabilityZoneId",
            "StartDate",
            "EndDate",
            "CreateDate",
        )
        return {
            **{name: shown[name] for name in (*names, "State", "Tags")},
            "CapacityReservationIds": [block["CapacityReservationId"]],
            **({"UltraserverType": ultraserver_type} if ultraserver_type else {}),
        }

    def _page(self, key: str, items: list[dict[str, Any]]) -> ActionResult:
        start = int(self._get_param("NextToken") or 0)
        size = int(self._get_param("MaxResults") or len(items) or 1)
        rest = {"NextToken": str(start + size)} if start + size < len(items) else {}
        return ActionResult({key: items[start : start + size], **rest})

    @property
    def _listed(self) -> dict[str, dict[str, Any]]:
        """Whatever was offered, by id."""
        listed: dict[str, dict[str, Any]] = _kept(self.ec2_backend, "capacity_block_offerings", {})
        return listed

    @property
    def _sold(self) -> set[str]:
        sold: set[str] = _kept(self.ec2_backend, "sold_capacity_block_offerings", set())
        return sold


def _kept(backend: EC2Backend, name: str, empty: Any) -> Any:
    """In moto's backend, so that a reset of moto empties it."""
    return backend.__dict__.setdefault(name, empty)


def _ultraserver_hardware(ultraserver_type: str, count: int) -> tuple[str, int, dict[str, Any]]:
    if ultraserver_type not in _ULTRASERVERS:
        raise EC2ClientError(
            "UnauthorizedOperation",
            f"You are not authorized to use this operation when requesting an EC2 UltraServer: {ultraserver_type}",
        )
    family, members = _ULTRASERVERS[ultraserver_type]
    member = next(name for name in INSTANCE_TYPES if name.startswith(f"{family}."))
    return member, members * count, {"UltraserverType": ultraserver_type, "UltraserverCount": count}


def _require_sold_duration(hours: int) -> None:
    if hours % 24 or hours // 24 not in _DAYS:
        raise EC2ClientError(
            "InvalidParameterValue",
            f"{hours} is not a duration of Capacity Blocks: 1-day increments up to 14 days, 7-day increments up to 182 days",
        )


def _fee(instance_type: str, count: int, hours: int, zone_index: int) -> str:
    vcpus = INSTANCE_TYPES[instance_type]["VCpuInfo"]["DefaultVCpus"]
    fee = _USD_PER_VCPU_HOUR * vcpus * count * hours * (1 + _ZONE_SURCHARGE * zone_index)
    return f"{fee:.2f}"


def _shown(offer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in offer.items() if name != "zone"}


def _status(block: dict[str, Any]) -> dict[str, Any]:
    capacity = {
        "TotalCapacity": block["TotalInstanceCount"],
        "TotalAvailableCapacity": block["AvailableInstanceCount"],
        "TotalUnavailableCapacity": 0,
    }
    return {
        "CapacityBlockId": block["CapacityBlockId"],
        "InterconnectStatus": "ok",
        **capacity,
        "CapacityReservationStatuses": [
            {"CapacityReservationId": block["CapacityReservationId"], **capacity}
        ],
    }


def _offer_id(prefix: str, *parts: str) -> str:
    return f"{prefix}-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:17]}"


def _moment(value: Any) -> datetime | None:
    """moto hands a timestamp on as text or as a datetime."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
