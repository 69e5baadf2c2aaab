"""AMIs of the account's own: which carry a tag, and how to be rid of one together with its snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scripts.aws import ec2
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE = "ec2"


@dataclass(frozen=True, slots=True)
class OwnAmi:
    id: str
    name: str
    state: str
    root_device_name: str
    created: str
    """ISO 8601, as EC2 writes it."""
    tags: dict[str, str]
    snapshot_ids: tuple[str, ...]


def with_tags(cloud: Cloud, tags: Mapping[str, str]) -> tuple[OwnAmi, ...]:
    """Those that carry all of them, newest first."""
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
    raw_images = cloud.pages(_SERVICE, "describe_images", "Images", Owners=["self"], Filters=filters)
    found = sorted((_ami(raw) for raw in raw_images), key=lambda ami: (ami.created, ami.name), reverse=True)
    return tuple(found)


def deregister(cloud: Cloud, ami_id: str, snapshot_tags: Mapping[str, str]) -> None:
    """With its snapshots, which are tagged first: an interruption in between must not lose sight of them."""
    try:
        raw_images = cloud.call(_SERVICE, "describe_images", ImageIds=[ami_id])["Images"]
    except AwsError as error:
        if error.code.startswith("InvalidAMIID"):
            return
        raise
    snapshot_ids = [id_ for raw in raw_images for id_ in _ami(raw).snapshot_ids]
    if snapshot_ids:
        tags = [{"Key": key, "Value": value} for key, value in snapshot_tags.items()]
        cloud.call(_SERVICE, "create_tags", Resources=snapshot_ids, Tags=tags)
    cloud.call(_SERVICE, "deregister_image", ImageId=ami_id)
    for snapshot_id in snapshot_ids:
        ec2.delete(cloud, ec2.SNAPSHOT.name, snapshot_id)


def _ami(raw: dict[str, Any]) -> OwnAmi:
    disks = (mapping.get("Ebs") or {} for mapping in raw.get("BlockDeviceMappings") or ())
    return OwnAmi(
        id=raw["ImageId"],
        name=raw.get("Name", ""),
        state=raw.get("State", ""),
        root_device_name=raw.get("RootDeviceName", ""),
        created=raw.get("CreationDate", ""),
        tags={tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()},
        snapshot_ids=tuple(disk["SnapshotId"] for disk in disks if disk.get("SnapshotId")),
    )
