"""AWS::FSx::FileSystem, of type Lustre."""

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
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without


class FileSystem(ResourceType):
    name = "AWS::FSx::FileSystem"
    properties = split_words(
        "FileSystemType FileSystemTypeVersion KmsKeyId LustreConfiguration SecurityGroupIds StorageCapacity "
        "StorageType SubnetIds Tags"
    )
    _create_only = split_words("FileSystemType KmsKeyId SecurityGroupIds SubnetIds")

    def create(self, request: Request) -> Created:
        fsx = request.client("fsx")
        parameters = api_parameters(fsx, "CreateFileSystem", without(request.properties, "Tags"))
        made = fsx.create_file_system(Tags=request.tag_list(), **parameters)["FileSystem"]
        return Created(
            made["FileSystemId"],
            {
                "DNSName": made["DNSName"],
                "LustreMountName": made["LustreConfiguration"]["MountName"],
                "ResourceARN": made["ResourceARN"],
            },
        )

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & self._create_only:
            raise ReplacementNeededError
        if changed - {"Tags"}:
            raise ResourceError(
                f"a change of {', '.join(sorted(changed - {'Tags'}))} is not emulated by the local cloud"
            )
        fsx = request.client("fsx")
        (found,) = fsx.describe_file_systems(FileSystemIds=[physical_id])["FileSystems"]
        superfluous = [tag["Key"] for tag in found["Tags"] if tag["Key"] not in request.tags]
        if superfluous:
            fsx.untag_resource(ResourceARN=found["ResourceARN"], TagKeys=superfluous)
        fsx.tag_resource(ResourceARN=found["ResourceARN"], Tags=request.tag_list())

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("fsx").delete_file_system(FileSystemId=physical_id)


TYPES: list[ResourceType] = [FileSystem()]
