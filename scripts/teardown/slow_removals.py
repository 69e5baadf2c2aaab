"""What AWS deletes over minutes, or not before something else: the call that begins it, and a look at where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from scripts.aws import ec2_images, ecs, efs, fsx, imagebuilder, pcs
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from scripts.teardown import order
from scripts.teardown.fleet_removals import FLEET_REMOVALS
from scripts.teardown.removal import SlowRemoval, Standing
from scripts.teardown.slurm_finders import parts_of_id
from stacks.domain.names import ENVIRONMENT_TAG

IMAGE_BUILDER_TAG: Final = "Ec2ImageBuilderArn"
"""Image Builder's own, on an AMI from the beginning of its build."""
_EFS_FAILED: Final = ("error",)
_FAILED: Final = ("DELETE_FAILED", "FAILED")


def _delete_of_pcs(kind: str, cloud: Cloud, id_: str) -> None:
    pcs.delete(cloud, kind, *parts_of_id(id_))


def _look_at_pcs(kind: str, cloud: Cloud, id_: str) -> Standing | None:
    found = pcs.find(cloud, kind, *parts_of_id(id_))
    if found is None:
        return None
    return Standing(found.status, found.is_busy, found.status in _FAILED, "; ".join(found.errors))


def _look_at_efs(cloud: Cloud, id_: str) -> Standing | None:
    found = efs.find_file_system(cloud, id_)
    return None if found is None else _efs_standing(found.state)


def _look_at_mount_target(cloud: Cloud, id_: str) -> Standing | None:
    found = efs.find_mount_target(cloud, id_)
    return None if found is None else _efs_standing(found.state)


def _efs_standing(state: str) -> Standing:
    return Standing(state, state in efs.BUSY_STATES, state in _EFS_FAILED)


def _look_at_fsx(cloud: Cloud, id_: str) -> Standing | None:
    found = fsx.find_file_system(cloud, id_)
    return None if found is None else _fsx_standing(found.state, found.reason)


def _look_at_backup(cloud: Cloud, id_: str) -> Standing | None:
    found = fsx.find_backup(cloud, id_)
    return None if found is None else _fsx_standing(found.state, "")


def _fsx_standing(state: str, why: str) -> Standing:
    return Standing(state, state in fsx.BUSY_STATES, state in _FAILED, why)


def _delete_image(cloud: Cloud, arn: str) -> None:
    """Its AMI first: one that failed in its tests carries Image Builder's tag only."""
    found = imagebuilder.find_image(cloud, arn)
    environment = found.tags.get(ENVIRONMENT_TAG) if found else None
    if environment is not None:
        for ami in ec2_images.with_tags(cloud, {IMAGE_BUILDER_TAG: arn}):
            ec2_images.deregister(cloud, ami.id, {ENVIRONMENT_TAG: environment})
    imagebuilder.delete(cloud, arn)


def _look_at_build(cloud: Cloud, arn: str) -> Standing | None:
    """Over when nothing is built any more, whatever became of it."""
    found = imagebuilder.find_image(cloud, arn)
    return None if found is None or not found.is_active else Standing(found.state, True, False)


def _look_at_image(cloud: Cloud, arn: str) -> Standing | None:
    found = imagebuilder.find_image(cloud, arn)
    return None if found is None or found.state == "DELETED" else Standing(found.state, True, False)


SLOW: Final[Mapping[str, SlowRemoval]] = {
    **{kind: SlowRemoval(partial(_delete_of_pcs, kind), partial(_look_at_pcs, kind)) for kind in pcs.KINDS},
    order.EFS_MOUNT_TARGET: SlowRemoval(efs.delete_mount_target, _look_at_mount_target),
    order.EFS_FILE_SYSTEM: SlowRemoval(efs.delete_file_system, _look_at_efs),
    order.FSX_FILE_SYSTEM: SlowRemoval(fsx.delete_file_system, _look_at_fsx),
    order.FSX_BACKUP: SlowRemoval(fsx.delete_backup, _look_at_backup),
    order.IMAGE_BUILD: SlowRemoval(imagebuilder.cancel, _look_at_build),
    order.NODE_IMAGE: SlowRemoval(_delete_image, _look_at_image),
    **FLEET_REMOVALS,
}
_NOT_YET: Final = (
    "ConflictException",
    "FileSystemInUse",
    "DependencyTimeout",
    "ClusterContainsCapacityProviderException",
    "ClusterContainsContainerInstancesException",
    "ClusterContainsServicesException",
    "ClusterContainsTasksException",
    "ResourceInUseException",
    "ResourceInUse",
    "ResourceContention",
    "ScalingActivityInProgress",
    "UpdateInProgressException",
    "BackupInProgress",
    "BackupBeingCopied",
    "BackupRestoring",
    ecs.DELETE_FAILED,
)
# DeleteCluster's own code for it is ClusterContainsCapacityProviderException, but ECS answers with a ClientException,
# also for a while after the last provider went (hashicorp/terraform-provider-aws#45794, ekristen/aws-nuke#990).
_HAS_PROVIDERS: Final = "Cluster Scoped Capacity Providers"


def is_not_yet(error: AwsError) -> bool:
    """Said while AWS still works on a neighbour: worth another try."""
    return error.code in _NOT_YET or (error.code == "ClientException" and _HAS_PROVIDERS in error.reason)
