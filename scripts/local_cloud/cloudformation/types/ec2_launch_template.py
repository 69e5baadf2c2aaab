"""AWS::EC2::LaunchTemplate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
    tag_map,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters
from scripts.local_cloud.cloudformation.types.ec2_tags import retag, tag_specifications


class LaunchTemplate(ResourceType):
    name = "AWS::EC2::LaunchTemplate"
    properties = split_words("LaunchTemplateName LaunchTemplateData TagSpecifications VersionDescription")

    def create(self, request: Request) -> Created:
        ec2 = request.client("ec2")
        parameters = api_parameters(ec2, "CreateLaunchTemplate", self._data(request))
        template = ec2.create_launch_template(
            LaunchTemplateName=request.name_or_generated("LaunchTemplateName", 128),
            TagSpecifications=tag_specifications(request, "launch-template"),
            **parameters,
        )["LaunchTemplate"]
        return self._created(template["LaunchTemplateId"], template["LatestVersionNumber"])

    def update(
        self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]
    ) -> Created | None:
        if changed - {"LaunchTemplateData", "VersionDescription", "TagSpecifications", "Tags"}:
            raise ReplacementNeededError
        retag(request, physical_id)
        if not changed & {"LaunchTemplateData", "VersionDescription"}:
            return None
        ec2 = request.client("ec2")
        parameters = api_parameters(ec2, "CreateLaunchTemplateVersion", self._data(request))
        version = ec2.create_launch_template_version(LaunchTemplateId=physical_id, **parameters)
        return self._created(physical_id, version["LaunchTemplateVersion"]["VersionNumber"])

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_launch_template(LaunchTemplateId=physical_id)

    def own_tags(self, properties: Mapping[str, Any]) -> dict[str, str]:
        specifications = properties.get("TagSpecifications") or ()
        own = [item for item in specifications if item.get("ResourceType") == "launch-template"]
        return {key: value for item in own for key, value in tag_map(item.get("Tags")).items()}

    def _data(self, request: Request) -> dict[str, Any]:
        names = ("LaunchTemplateData", "VersionDescription")
        return {name: request[name] for name in names if request.has(name)}

    def _created(self, template_id: str, latest: int) -> Created:
        # CloudFormation adds versions; the default one it never moves.
        numbers = {"DefaultVersionNumber": "1", "LatestVersionNumber": str(latest)}
        return Created(template_id, {"LaunchTemplateId": template_id, **numbers})


TYPES: list[ResourceType] = [LaunchTemplate()]
