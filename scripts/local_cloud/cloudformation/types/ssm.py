"""AWS::SSM::Parameter."""

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
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without


class Parameter(ResourceType):
    name = "AWS::SSM::Parameter"
    properties = split_words("Name Type Value Description Tier AllowedPattern DataType Tags")

    def create(self, request: Request) -> Created:
        ssm = request.client("ssm")
        name = request.get("Name") or f"CFN-{request.generated_name()}"
        parameters = api_parameters(ssm, "PutParameter", without(request.properties, "Name", "Tags"))
        ssm.put_parameter(Name=name, Tags=request.tag_list(), **parameters)
        return Created(name, self._attributes(request))

    def update(
        self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]
    ) -> Created:
        if changed & {"Name", "Type"}:
            raise ReplacementNeededError
        ssm = request.client("ssm")
        parameters = api_parameters(ssm, "PutParameter", without(request.properties, "Name", "Tags"))
        ssm.put_parameter(Name=physical_id, Overwrite=True, **parameters)
        found = ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=physical_id)["TagList"]
        superfluous = [tag["Key"] for tag in found if tag["Key"] not in request.tags]
        if superfluous:
            ssm.remove_tags_from_resource(
                ResourceType="Parameter", ResourceId=physical_id, TagKeys=superfluous
            )
        ssm.add_tags_to_resource(ResourceType="Parameter", ResourceId=physical_id, Tags=request.tag_list())
        return Created(physical_id, self._attributes(request))

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ssm").delete_parameter(Name=physical_id)

    def _attributes(self, request: Request) -> dict[str, Any]:
        return {"Type": request["Type"], "Value": request["Value"]}


TYPES: list[ResourceType] = [Parameter()]
