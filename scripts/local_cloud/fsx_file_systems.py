"""What FSx has for a Lustre file system and moto leaves out: its limits, its state, its mount name and its interface,
which keeps subnet and security groups alive as in AWS. It is never busy here: AWS takes minutes to make or delete one.
"""

from __future__ import annotations

from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.ec2.models import ec2_backends
from moto.fsx.exceptions import FileSystemNotFound
from moto.fsx.models import FileSystem, FSxBackend
from moto.moto_api._internal import mock_random

_SSD_STEP_GIB = 2400
_SSD_LEAST_GIB = 1200
_THROUGHPUTS = (125, 250, 500, 1000)
"""MB/s per TiB of PERSISTENT_2 on SSD (CreateFileSystem, PerUnitStorageThroughput)."""


def complete() -> None:
    create, describe, delete = (
        FSxBackend.create_file_system,
        FSxBackend.describe_file_systems,
        FSxBackend.delete_file_system,
    )
    to_dict = FileSystem.to_dict

    def create_file_system(self: FSxBackend, **given: Any) -> FileSystem:
        _check(given)
        ec2 = ec2_backends[self.account_id][self.region_name]
        subnet = ec2.get_subnet(given["subnet_ids"][0])
        made = create(self, **given)
        made.lustre_configuration = {
            **(made.lustre_configuration or {}),
            "MountName": mock_random.get_random_string(8, lower_case=True),
        }
        made.version = given.get("file_system_type_version")  # type: ignore[attr-defined]
        made.interface = ec2.create_network_interface(  # type: ignore[attr-defined]
            subnet, [], group_ids=given["security_group_ids"], description=f"FSx {made.file_system_id}"
        )
        return made

    def describe_file_systems(self: FSxBackend, *args: Any, **given: Any) -> Any:
        for id_ in given.get("file_system_ids") or ():
            if id_ not in self.file_systems:
                raise FileSystemNotFound(id_)
        return describe(self, *args, **given)

    def delete_file_system(self: FSxBackend, **given: Any) -> Any:
        found = self.file_systems.get(given["file_system_id"])
        answer = delete(self, **given)
        if found is not None:
            interface = found.interface  # type: ignore[attr-defined]
            ec2_backends[self.account_id][self.region_name].enis.pop(interface.id, None)
            self.tagger.delete_all_tags_for_resource(found.resource_arn)
        return answer

    def described(self: FileSystem) -> dict[str, Any]:
        return {
            **to_dict(self),
            "Lifecycle": "AVAILABLE",
            "FileSystemTypeVersion": self.version,  # type: ignore[attr-defined]
            "NetworkInterfaceIds": [self.interface.id],  # type: ignore[attr-defined]
        }

    FSxBackend.create_file_system = create_file_system  # type: ignore[method-assign, assignment]
    FSxBackend.describe_file_systems = describe_file_systems  # type: ignore[method-assign, assignment]
    FSxBackend.delete_file_system = delete_file_system  # type: ignore[method-assign, assignment]
    FileSystem.to_dict = described  # type: ignore[method-assign]


def _check(given: dict[str, Any]) -> None:
    """FSx's own refusals of a file system of the kind that the kit makes; another kind is not emulated."""
    lustre = given.get("lustre_configuration") or {}
    kind = (given["file_system_type"], lustre.get("DeploymentType"), given.get("storage_type"))
    if kind != ("LUSTRE", "PERSISTENT_2", "SSD"):
        raise _refused(f"the local cloud has Lustre, PERSISTENT_2 on SSD, and no {kind}")
    capacity_gib = given.get("storage_capacity") or 0
    if capacity_gib != _SSD_LEAST_GIB and (capacity_gib <= 0 or capacity_gib % _SSD_STEP_GIB):
        raise _refused(f"StorageCapacity {capacity_gib}: 1200, or a multiple of 2400")
    if lustre.get("PerUnitStorageThroughput") not in _THROUGHPUTS:
        raise _refused(f"PerUnitStorageThroughput: one of {', '.join(map(str, _THROUGHPUTS))}")
    if len(given.get("subnet_ids") or ()) != 1:
        raise _refused("SubnetIds: exactly one for Lustre")


def _refused(why: str) -> JsonRESTError:
    return JsonRESTError("BadRequest", why)
