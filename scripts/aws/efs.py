"""EFS: file systems and their mount targets. A file system goes only when it has no mount target any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE: Final = "efs"
BUSY_STATES: Final = ("creating", "updating", "deleting")
_GONE: Final = ("FileSystemNotFound", "MountTargetNotFound")


@dataclass(frozen=True, slots=True)
class FileSystem:
    id: str
    arn: str
    name: str
    state: str
    bytes: int
    """As EFS metered it last, hours ago perhaps."""
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class MountTarget:
    id: str
    file_system_id: str
    state: str


def file_systems(cloud: Cloud) -> tuple[FileSystem, ...]:
    raw_systems = cloud.pages(_SERVICE, "describe_file_systems", "FileSystems")
    found = (_file_system(raw) for raw in raw_systems)
    return tuple(system for system in found if system.state != "deleted")


def find_file_system(cloud: Cloud, file_system_id: str) -> FileSystem | None:
    try:
        answer = cloud.call(_SERVICE, "describe_file_systems", FileSystemId=file_system_id)
    except AwsError as error:
        if error.code in _GONE:
            return None
        raise
    found = (_file_system(raw) for raw in answer["FileSystems"])
    return next((system for system in found if system.state != "deleted"), None)


def mount_targets(cloud: Cloud, file_system_id: str) -> tuple[MountTarget, ...]:
    """Empty, too, when the file system went away meanwhile."""
    return _mount_targets(cloud, FileSystemId=file_system_id)


def find_mount_target(cloud: Cloud, mount_target_id: str) -> MountTarget | None:
    return next(iter(_mount_targets(cloud, MountTargetId=mount_target_id)), None)


def delete_file_system(cloud: Cloud, file_system_id: str) -> None:
    """With all data. No error if it is gone."""
    _delete(cloud, "delete_file_system", FileSystemId=file_system_id)


def delete_mount_target(cloud: Cloud, mount_target_id: str) -> None:
    """No error if it is gone."""
    _delete(cloud, "delete_mount_target", MountTargetId=mount_target_id)


def _mount_targets(cloud: Cloud, **of_what: str) -> tuple[MountTarget, ...]:
    try:
        raw_targets = list(cloud.pages(_SERVICE, "describe_mount_targets", "MountTargets", **of_what))
    except AwsError as error:
        if error.code in _GONE:
            return ()
        raise
    found = (
        MountTarget(raw["MountTargetId"], raw["FileSystemId"], raw["LifeCycleState"]) for raw in raw_targets
    )
    return tuple(target for target in found if target.state != "deleted")


def _delete(cloud: Cloud, operation: str, **what: str) -> None:
    try:
        cloud.call(_SERVICE, operation, **what)
    except AwsError as error:
        if error.code not in _GONE:
            raise


def _file_system(raw: dict[str, Any]) -> FileSystem:
    return FileSystem(
        id=raw["FileSystemId"],
        arn=raw["FileSystemArn"],
        name=raw.get("Name", ""),
        state=raw["LifeCycleState"],
        bytes=raw["SizeInBytes"]["Value"],
        tags={tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()},
    )


def access_point_exists(cloud: Cloud, arn: str) -> bool:
    """It goes with its file system."""
    id_ = arn.rpartition("/")[2]
    try:
        answer = cloud.call(_SERVICE, "describe_access_points", AccessPointId=id_)
    except AwsError as error:
        if error.code == "AccessPointNotFound":
            return False
        raise
    return any(point["LifeCycleState"] != "deleted" for point in answer["AccessPoints"])
