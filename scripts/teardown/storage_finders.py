"""Shared file systems and their backups: they hold the user's data and cost money until they are deleted."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.aws import efs, fsx
from scripts.aws.cloud import Cloud
from scripts.teardown.found import Found, sorted_out
from scripts.teardown.model import Item, Ownership
from scripts.teardown.order import EFS_FILE_SYSTEM, EFS_MOUNT_TARGET, FSX_BACKUP, FSX_FILE_SYSTEM
from scripts.teardown.scope import Scope


def file_systems(cloud: Cloud, scope: Scope) -> Found:
    """CloudFormation retains them; those of living stacks are told of as well, because their data goes with the rest.

    A fleet has EFS only: who has no Slurm cluster needs no permission for FSx.
    """
    lustre = fsx.file_systems(cloud) if scope.slurm.is_used else ()
    elastic = efs.file_systems(cloud) if _uses_efs(scope) else ()
    found = sorted_out(
        scope,
        [
            *((FSX_FILE_SYSTEM, system.id, "", system.tags) for system in lustre),
            *((EFS_FILE_SYSTEM, system.id, system.name, system.tags) for system in elastic),
        ],
        {**{one.id: one.state for one in lustre}, **{one.id: one.state for one in elastic}},
    )
    loose = {item.id for item in found.loose}
    targets = tuple(
        Item(EFS_MOUNT_TARGET, target.id, state=target.state, why=f"of {target.file_system_id}")
        for system in elastic
        if system.id in loose
        for target in efs.mount_targets(cloud, system.id)
        if not scope.is_member({}, target.id)
    )
    notices = (*_lustre_notices(scope, lustre), *_elastic_notices(scope, elastic))
    return Found(loose=(*found.loose, *targets), suspects=found.suspects, notices=notices)


def _uses_efs(scope: Scope) -> bool:
    return scope.slurm.is_used or scope.fleets.is_used or scope.has_tagged("elasticfilesystem")


def backups(cloud: Cloud, scope: Scope) -> Found:
    """A backup that somebody made by hand of a file system of ours is theirs unless it has our tag."""
    if not scope.slurm.is_used:
        return Found()
    made = fsx.backups(cloud)
    states = {backup.id: backup.state for backup in made}
    found = sorted_out(scope, [(FSX_BACKUP, backup.id, "", backup.tags) for backup in made], states)
    suspects = tuple(
        Item(
            FSX_BACKUP, backup.id, state=backup.state, why=f"of {backup.file_system_id}, but without our tag"
        )
        for backup in made
        if backup.file_system_id
        and scope.is_member({}, backup.file_system_id)
        and scope.ownership(backup.tags, backup.id) is None
    )
    return Found(loose=found.loose, suspects=(*found.suspects, *suspects))


def _lustre_notices(scope: Scope, systems: tuple[fsx.FileSystem, ...]) -> Iterator[str]:
    for system in systems:
        if _is_ours(scope, system.id, system.tags):
            yield f"all data in {FSX_FILE_SYSTEM} {system.id} ({system.capacity_gib} GiB of space)"


def _elastic_notices(scope: Scope, systems: tuple[efs.FileSystem, ...]) -> Iterator[str]:
    for system in systems:
        if _is_ours(scope, system.id, system.tags):
            yield f"all data in {EFS_FILE_SYSTEM} {system.id}: {system.bytes / 2**20:.1f} MiB"


def _is_ours(scope: Scope, id_: str, tags: dict[str, str]) -> bool:
    return scope.is_member(tags, id_) or scope.ownership(tags, id_) is Ownership.OURS
