"""Placement groups, which moto lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.responses._base_response import EC2BaseResponse
from moto.ec2.utils import random_id


@dataclass(frozen=True)
class PlacementGroup:
    id: str
    name: str
    strategy: str
    partition_count: int | None
    spread_level: str | None


def groups_of(backend: EC2Backend) -> dict[str, PlacementGroup]:
    """By name; kept in moto's backend, so that a reset of moto empties it."""
    groups: dict[str, PlacementGroup] = backend.__dict__.setdefault("placement_groups", {})
    return groups


class PlacementGroups(EC2BaseResponse):
    def create_placement_group(self) -> ActionResult:
        groups = groups_of(self.ec2_backend)
        name = self._get_param("GroupName")
        if name in groups:
            raise EC2ClientError(
                "InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists."
            )
        strategy = self._get_param("Strategy", "cluster")
        partitions = self._get_int_param("PartitionCount")
        if strategy == "partition" and partitions is None:
            partitions = 2
        group = PlacementGroup(random_id("pg"), name, strategy, partitions, self._get_param("SpreadLevel"))
        groups[name] = group
        tags = self._parse_tag_specification("placement-group").get("placement-group", {})
        self.ec2_backend.create_tags([group.id], tags)
        return ActionResult({"PlacementGroup": self._described(group)})

    def describe_placement_groups(self) -> ActionResult:
        groups = groups_of(self.ec2_backend)
        names = self._get_param("GroupNames", [])
        ids = self._get_param("GroupIds", [])
        for name in names:
            if name not in groups:
                raise EC2ClientError(
                    "InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown."
                )
        found = [
            self._described(group)
            for group in groups.values()
            if (not names or group.name in names) and (not ids or group.id in ids)
        ]
        return ActionResult({"PlacementGroups": [item for item in found if self._matches(item)]})

    def delete_placement_group(self) -> EmptyResult:
        groups = groups_of(self.ec2_backend)
        name = self._get_param("GroupName")
        if name not in groups:
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        self.ec2_backend.tags.pop(groups.pop(name).id, None)
        return EmptyResult()

    def _described(self, group: PlacementGroup) -> dict[str, Any]:
        tags = self.ec2_backend.tags.get(group.id, {})
        return {
            "GroupName": group.name,
            "GroupId": group.id,
            "GroupArn": f"arn:{self.partition}:ec2:{self.region}:{self.current_account}:placement-group/{group.name}",
            "State": "available",
            "Strategy": group.strategy,
            "PartitionCount": group.partition_count,
            "SpreadLevel": group.spread_level,
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        }

    def _matches(self, described: dict[str, Any]) -> bool:
        values = {
            "group-name": "GroupName",
            "group-arn": "GroupArn",
            "state": "State",
            "strategy": "Strategy",
        }
        tags = {tag["Key"]: tag["Value"] for tag in described["Tags"]}
        for name, wanted in self._filters_from_querystring().items():
            if name in values:
                given = described[values[name]]
            elif name.startswith("tag:"):
                given = tags.get(name.removeprefix("tag:"))
            elif name == "tag-key":
                if not set(wanted) & set(tags):
                    return False
                continue
            else:
                raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
            if given not in wanted:
                return False
        return True
