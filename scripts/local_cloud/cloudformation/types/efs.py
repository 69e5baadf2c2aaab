"""AWS::EFS: FileSystem, MountTarget, AccessPoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
    tag_map,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, json_text, without


class FileSystem(ResourceType):
    name = "AWS::EFS::FileSystem"
    properties = split_words(
        "AvailabilityZoneName BackupPolicy Encrypted FileSystemPolicy FileSystemTags KmsKeyId LifecyclePolicies "
        "PerformanceMode ProvisionedThroughputInMibps ThroughputMode"
    )
    _of_the_call = split_words(
        "AvailabilityZoneName Encrypted KmsKeyId PerformanceMode ProvisionedThroughputInMibps ThroughputMode"
    )
    _in_place = split_words("FileSystemPolicy FileSystemTags LifecyclePolicies Tags")
    # EFS takes these changes in place; moto has no call for them.
    _not_emulated = split_words("BackupPolicy ProvisionedThroughputInMibps ThroughputMode")

    def create(self, request: Request) -> Created:
        efs = request.client("efs")
        given = {name: request[name] for name in self._of_the_call if request.has(name)}
        made = efs.create_file_system(
            CreationToken=request.generated_name(64),
            Backup=request.get("BackupPolicy", {}).get("Status") == "ENABLED",
            Tags=request.tag_list(),
            **api_parameters(efs, "CreateFileSystem", given),
        )
        request.made(made["FileSystemId"])
        self._put_policies(request, made["FileSystemId"])
        return Created(
            made["FileSystemId"], {"FileSystemId": made["FileSystemId"], "Arn": made["FileSystemArn"]}
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & self._not_emulated:
            raise ResourceError(
                f"a change of {', '.join(sorted(changed & self._not_emulated))} is not emulated by the local cloud"
            )
        if changed - self._in_place:
            raise ReplacementNeededError
        self._put_policies(request, physical_id)
        efs = request.client("efs")
        found = {tag["Key"] for tag in efs.list_tags_for_resource(ResourceId=physical_id)["Tags"]}
        superfluous = sorted(found - set(request.tags))
        if superfluous:
            efs.untag_resource(ResourceId=physical_id, TagKeys=superfluous)
        efs.tag_resource(ResourceId=physical_id, Tags=request.tag_list())

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("efs").delete_file_system(FileSystemId=physical_id)

    def own_tags(self, properties: Mapping[str, Any]) -> dict[str, str]:
        return tag_map(properties.get("FileSystemTags"))

    def _put_policies(self, request: Request, file_system_id: str) -> None:
        efs = request.client("efs")
        if request.has("FileSystemPolicy"):
            efs.put_file_system_policy(
                FileSystemId=file_system_id, Policy=json_text(request["FileSystemPolicy"])
            )
        if request.has("LifecyclePolicies"):
            policies = request["LifecyclePolicies"]
            efs.put_lifecycle_configuration(FileSystemId=file_system_id, LifecyclePolicies=policies)


class MountTarget(ResourceType):
    name = "AWS::EFS::MountTarget"
    properties = split_words("FileSystemId SubnetId SecurityGroups IpAddress")

    def create(self, request: Request) -> Created:
        efs = request.client("efs")
        made = efs.create_mount_target(**api_parameters(efs, "CreateMountTarget", request.properties))
        return Created(made["MountTargetId"], {"Id": made["MountTargetId"], "IpAddress": made["IpAddress"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        # It has no tags of its own.
        if changed - {"SecurityGroups", "Tags"}:
            raise ReplacementNeededError
        if "SecurityGroups" in changed:
            request.client("efs").modify_mount_target_security_groups(
                MountTargetId=physical_id, SecurityGroups=request["SecurityGroups"]
            )

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("efs").delete_mount_target(MountTargetId=physical_id)


class AccessPoint(ResourceType):
    name = "AWS::EFS::AccessPoint"
    properties = split_words("FileSystemId PosixUser RootDirectory AccessPointTags")

    def create(self, request: Request) -> Created:
        efs = request.client("efs")
        given = api_parameters(efs, "CreateAccessPoint", without(request.properties, "AccessPointTags"))
        token = request.generated_name(64)
        made = efs.create_access_point(ClientToken=token, Tags=request.tag_list(), **given)
        return Created(
            made["AccessPointId"], {"AccessPointId": made["AccessPointId"], "Arn": made["AccessPointArn"]}
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"AccessPointTags", "Tags"}:
            raise ReplacementNeededError
        efs = request.client("efs")
        found = {tag["Key"] for tag in efs.list_tags_for_resource(ResourceId=physical_id)["Tags"]}
        superfluous = sorted(found - set(request.tags))
        if superfluous:
            efs.untag_resource(ResourceId=physical_id, TagKeys=superfluous)
        efs.tag_resource(ResourceId=physical_id, Tags=request.tag_list())

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("efs").delete_access_point(AccessPointId=physical_id)

    def own_tags(self, properties: Mapping[str, Any]) -> dict[str, str]:
        return tag_map(properties.get("AccessPointTags"))


TYPES: list[ResourceType] = [FileSystem(), MountTarget(), AccessPoint()]
