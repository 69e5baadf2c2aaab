from __future__ import annotations

from typing import Any

import pytest

from scripts.aws import efs, fsx
from scripts.teardown import storage_finders
from scripts.teardown.found import Found
from scripts.teardown.model import Item
from scripts.teardown.scope import Scope, SlurmScope
from stacks.domain.names import ENVIRONMENT_TAG

CLOUD: Any = None
OURS, NEIGHBOURS = {ENVIRONMENT_TAG: "pilot"}, {ENVIRONMENT_TAG: "pilot-2"}
SLURM = SlurmScope(is_used=True)
STACK_TAGS = {**OURS, "aws:cloudformation:stack-id": "stack-1"}


def elastic(id_: str, tags: dict[str, str]) -> efs.FileSystem:
    return efs.FileSystem(id_, f"arn:{id_}", id_, "available", 3 * 2**20, tags)


def lustre(id_: str, tags: dict[str, str]) -> fsx.FileSystem:
    return fsx.FileSystem(id_, f"arn:{id_}", "AVAILABLE", "", 1200, tags)


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    systems = (
        elastic("fs-e1", STACK_TAGS),
        elastic("fs-e2", OURS),
        elastic("fs-e3", NEIGHBOURS),
        elastic("fs-e4", STACK_TAGS),
    )
    monkeypatch.setattr(efs, "file_systems", lambda cloud: systems)
    monkeypatch.setattr(
        efs,
        "mount_targets",
        lambda cloud, id_: (
            efs.MountTarget(f"fsmt-{id_}", id_, "available"),
            efs.MountTarget("fsmt-member", id_, "available"),
        ),
    )
    monkeypatch.setattr(
        fsx, "file_systems", lambda cloud: (lustre("fs-l1", OURS), lustre("fs-l2", NEIGHBOURS))
    )
    backups = (
        fsx.Backup("backup-ours", "arn", "AVAILABLE", "fs-gone", OURS),
        fsx.Backup("backup-by-hand", "arn", "AVAILABLE", "fs-member", {}),
        fsx.Backup("backup-foreign", "arn", "AVAILABLE", "fs-l2", NEIGHBOURS),
        fsx.Backup("backup-unknown", "arn", "AVAILABLE", "", {}),
    )
    monkeypatch.setattr(fsx, "backups", lambda cloud: backups)


def ids(items: tuple[Item, ...]) -> list[str]:
    return [item.id for item in items]


SCOPE = Scope(
    "pilot",
    members=frozenset({"fs-e1", "fsmt-member", "fs-member"}),
    stack_ids=frozenset({"stack-1"}),
    retained=frozenset({"fs-e4"}),
    slurm=SLURM,
)


def test_loose_file_systems_bring_their_mount_targets_and_living_ones_are_told_of() -> None:
    """fs-e4: CloudFormation let go of it, though its stack is still there, because something else was in the way."""
    found = storage_finders.file_systems(CLOUD, SCOPE)
    assert ids(found.loose) == ["fs-l1", "fs-e2", "fs-e4", "fsmt-fs-e2", "fsmt-fs-e4"]
    assert found.suspects == ()
    assert found.notices == (
        "all data in FSx file system fs-l1 (1200 GiB of space)",
        "all data in EFS file system fs-e1: 3.0 MiB",
        "all data in EFS file system fs-e2: 3.0 MiB",
        "all data in EFS file system fs-e4: 3.0 MiB",
    )


def test_backups_are_ours_by_tag_and_a_suspect_when_only_their_file_system_is_ours() -> None:
    found = storage_finders.backups(CLOUD, SCOPE)
    assert (ids(found.loose), ids(found.suspects)) == (["backup-ours"], ["backup-by-hand"])


def test_a_tagged_efs_is_found_without_slurm_and_without_fsx(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fleet's stack is gone, and the file has no fleet any more."""

    def refused(cloud: Any) -> tuple[fsx.FileSystem, ...]:
        raise AssertionError("who has no Slurm cluster needs no permission for FSx")

    monkeypatch.setattr(fsx, "file_systems", refused)
    scope = Scope("pilot", tagged_arns=("arn:aws:elasticfilesystem:us-west-1:1:file-system/fs-e2",))
    assert ids(storage_finders.file_systems(CLOUD, scope).loose)[:2] == ["fs-e1", "fs-e2"]


def test_without_slurm_nothing_is_asked() -> None:
    for question in (storage_finders.file_systems, storage_finders.backups):
        assert question(CLOUD, Scope("pilot")) == Found()
