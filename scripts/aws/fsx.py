"""FSx: Lustre file systems, and backups, which cost money until they are deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE: Final = "fsx"
BUSY_STATES: Final = ("CREATING", "UPDATING", "DELETING", "TRANSFERRING", "PENDING", "COPYING")
"""Of file systems and of backups."""
_GONE: Final = ("FileSystemNotFound", "BackupNotFound")
_STATE_UNSAID: Final = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class FileSystem:
    id: str
    arn: str
    state: str
    reason: str
    capacity_gib: int
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class Backup:
    """One that somebody asked for; automatic ones go with their file system."""

    id: str
    arn: str
    state: str
    file_system_id: str
    tags: dict[str, str]


def file_systems(cloud: Cloud) -> tuple[FileSystem, ...]:
    raw_systems = cloud.pages(_SERVICE, "describe_file_systems", "FileSystems")
    return tuple(_file_system(raw) for raw in raw_systems)


def find_file_system(cloud: Cloud, file_system_id: str) -> FileSystem | None:
    try:
        answer = cloud.call(_SERVICE, "describe_file_systems", FileSystemIds=[file_system_id])
    except AwsError as error:
        if error.code in _GONE:
            return None
        raise
    return next((_file_system(raw) for raw in answer["FileSystems"]), None)


def backups(cloud: Cloud) -> tuple[Backup, ...]:
    raw_backups = cloud.pages(_SERVICE, "describe_backups", "Backups")
    return tuple(
        _backup(raw)
        for raw in raw_backups
        if raw.get("Type") != "AUTOMATIC" and raw["Lifecycle"] != "DELETED"
    )


def find_backup(cloud: Cloud, backup_id: str) -> Backup | None:
    try:
        answer = cloud.call(_SERVICE, "describe_backups", BackupIds=[backup_id])
    except AwsError as error:
        if error.code in _GONE:
            return None
        raise
    found = (_backup(raw) for raw in answer["Backups"])
    return next((backup for backup in found if backup.state != "DELETED"), None)


def delete_file_system(cloud: Cloud, file_system_id: str) -> None:
    """With all data; Lustre takes no last backup unless it is asked for. No error if it is gone."""
    _delete(cloud, "delete_file_system", FileSystemId=file_system_id)


def delete_backup(cloud: Cloud, backup_id: str) -> None:
    """No error if it is gone."""
    _delete(cloud, "delete_backup", BackupId=backup_id)


def _delete(cloud: Cloud, operation: str, **what: str) -> None:
    try:
        cloud.call(_SERVICE, operation, **what)
    except AwsError as error:
        if error.code not in _GONE:
            raise


def _file_system(raw: dict[str, Any]) -> FileSystem:
    return FileSystem(
        id=raw["FileSystemId"],
        arn=raw["ResourceARN"],
        state=raw.get("Lifecycle", _STATE_UNSAID),
        reason=(raw.get("FailureDetails") or {}).get("Message", ""),
        capacity_gib=raw.get("StorageCapacity", 0),
        tags=_tags(raw),
    )


def _backup(raw: dict[str, Any]) -> Backup:
    return Backup(
        id=raw["BackupId"],
        arn=raw["ResourceARN"],
        state=raw["Lifecycle"],
        file_system_id=(raw.get("FileSystem") or {}).get("FileSystemId", ""),
        tags=_tags(raw),
    )


def _tags(raw: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()}
