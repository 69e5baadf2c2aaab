"""AWS::ResourceGroups::Group with a list of members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters


class Group(ResourceType):
    name = "AWS::ResourceGroups::Group"
    properties = split_words("Name Description Configuration Resources Tags")

    def create(self, request: Request) -> Created:
        client = request.client("resource-groups")
        names = ("Name", "Description", "Configuration")
        given = {name: request[name] for name in names if request.has(name)}
        made = client.create_group(Tags=request.tags, **api_parameters(client, "CreateGroup", given))["Group"]
        request.made(made["Name"])
        self._join(request, made["Name"], request.get("Resources") or [])
        return Created(made["Name"], {"Arn": made["GroupArn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Resources", "Tags"}:
            raise ReplacementNeededError
        before, now = old.get("Resources") or [], request.get("Resources") or []
        client = request.client("resource-groups")
        left = [arn for arn in before if arn not in now]
        if left:
            client.ungroup_resources(Group=physical_id, ResourceArns=left)
        self._join(request, physical_id, [arn for arn in now if arn not in before])
        arn = client.get_group(Group=physical_id)["Group"]["GroupArn"]
        superfluous = sorted(set(client.get_tags(Arn=arn)["Tags"]) - set(request.tags))
        if superfluous:
            client.untag(Arn=arn, Keys=superfluous)
        client.tag(Arn=arn, Tags=request.tags)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("resource-groups").delete_group(Group=physical_id)

    def _join(self, request: Request, name: str, arns: list[str]) -> None:
        if arns:
            request.client("resource-groups").group_resources(Group=name, ResourceArns=arns)


TYPES: list[ResourceType] = [Group()]
