"""Resource groups with a list of members, such as the capacity reservations of a pool. moto's are queries only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.resource_tagging import TaggableResourcesMixin, TaggedResource

from scripts.local_cloud.own_service import ActionResult, EmptyResult, OwnService, ServiceException


class NotFoundException(ServiceException):
    code = "NotFoundException"


class BadRequestException(ServiceException):
    code = "BadRequestException"


@dataclass
class Group:
    name: str
    arn: str
    description: str
    configuration: list[dict[str, Any]]
    tags: dict[str, str]
    members: list[str] = field(default_factory=list)

    def described(self) -> dict[str, Any]:
        return {"GroupArn": self.arn, "Name": self.name, "Description": self.description}


class Backend(BaseBackend, TaggableResourcesMixin):
    SERVICE_NAMESPACE = "resource-groups"

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.groups: dict[str, Group] = {}

    def find(self, name_or_arn: str) -> Group:
        group = self.groups.get(name_or_arn.rpartition("/")[2])
        if group is None:
            raise NotFoundException(f"no resource group {name_or_arn}")
        return group

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        for group in self.groups.values():
            yield TaggedResource(group.arn, dict(group.tags), "resource-groups:group")

    def tag_resource(self, arn: str, tags: dict[str, str]) -> None:
        self.find(arn).tags.update(tags)

    def untag_resource(self, arn: str, tag_keys: list[str]) -> None:
        for key in tag_keys:
            self.find(arn).tags.pop(key, None)


backends = BackendDict(Backend, "resource-groups")


class ResourceGroups(OwnService):
    service = "resource-groups"

    def create_group(self) -> ActionResult:
        arguments, backend = self.arguments(), self._backend()
        name = str(arguments["Name"])
        if "ResourceQuery" in arguments:
            raise BadRequestException("the local cloud has groups with a configuration, and no queries")
        if name in backend.groups:
            raise BadRequestException(f"Cannot create group: group {name} already exists")
        group = Group(
            name=name,
            arn=f"arn:aws:resource-groups:{self.region}:{self.current_account}:group/{name}",
            description=arguments.get("Description", ""),
            configuration=list(arguments.get("Configuration") or ()),
            tags=dict(arguments.get("Tags") or {}),
        )
        backend.groups[name] = group
        return ActionResult({"Group": group.described(), "Tags": group.tags})

    def delete_group(self) -> ActionResult:
        group = self._group()
        del self._backend().groups[group.name]
        return ActionResult({"Group": group.described()})

    def get_group(self) -> ActionResult:
        return ActionResult({"Group": self._group().described()})

    def get_group_configuration(self) -> ActionResult:
        return ActionResult({"GroupConfiguration": {"Configuration": self._group().configuration}})

    def group_resources(self) -> ActionResult:
        group, arns = self._group(), list(self.arguments()["ResourceArns"])
        group.members = list(dict.fromkeys([*group.members, *arns]))
        return ActionResult({"Succeeded": arns})

    def ungroup_resources(self) -> ActionResult:
        group, arns = self._group(), list(self.arguments()["ResourceArns"])
        group.members = [arn for arn in group.members if arn not in arns]
        return ActionResult({"Succeeded": arns})

    def list_group_resources(self) -> ActionResult:
        identifiers = [{"ResourceArn": arn} for arn in self._group().members]
        return ActionResult({"Resources": [{"Identifier": identifier} for identifier in identifiers]})

    def get_tags(self) -> ActionResult:
        group = self._backend().find(_arn(self.arguments()))
        return ActionResult({"Arn": group.arn, "Tags": group.tags})

    def tag(self) -> ActionResult:
        self._backend().tag_resource(_arn(self.arguments()), self.arguments()["Tags"])
        return EmptyResult()

    def untag(self) -> ActionResult:
        self._backend().untag_resource(_arn(self.arguments()), self.arguments()["Keys"])
        return EmptyResult()

    def _backend(self) -> Backend:
        backend: Backend = backends[self.current_account][self.region]
        return backend

    def _group(self) -> Group:
        arguments = self.arguments()
        return self._backend().find(str(arguments.get("Group") or arguments["GroupName"]))


def _arn(arguments: Mapping[str, Any]) -> str:
    return str(arguments["Arn"])
