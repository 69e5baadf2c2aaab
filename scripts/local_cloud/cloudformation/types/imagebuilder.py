"""AWS::ImageBuilder: Component, ImageRecipe, InfrastructureConfiguration, DistributionConfiguration, ImagePipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without


class _ImageBuilderType(ResourceType):
    kind: ClassVar[str]
    """In operations: Create…, Update…, Delete…."""
    arn_parameter: ClassVar[str]
    replaced_with: ClassVar[frozenset[str]]
    """The properties of which a change makes a new resource."""

    def create(self, request: Request) -> Created:
        client = request.client("imagebuilder")
        parameters = api_parameters(client, f"Create{self.kind}", self._given(request))
        arn = getattr(client, f"create_{self._snake}")(tags=request.tags, **parameters)[self.arn_parameter]
        return Created(arn, {"Arn": arn})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & self.replaced_with:
            raise ReplacementNeededError
        client = request.client("imagebuilder")
        if changed - {"Tags"}:
            given = without(self._given(request), "Name")
            parameters = api_parameters(client, f"Update{self.kind}", given)
            getattr(client, f"update_{self._snake}")(**{self.arn_parameter: physical_id}, **parameters)
        found = client.list_tags_for_resource(resourceArn=physical_id)["tags"]
        superfluous = sorted(set(found) - set(request.tags))
        if superfluous:
            client.untag_resource(resourceArn=physical_id, tagKeys=superfluous)
        client.tag_resource(resourceArn=physical_id, tags=request.tags)

    def delete(self, request: Request, physical_id: str) -> None:
        client = request.client("imagebuilder")
        getattr(client, f"delete_{self._snake}")(**{self.arn_parameter: physical_id})

    def _given(self, request: Request) -> dict[str, Any]:
        """The API's name of a version is another."""
        given = without(request.properties, "Tags", "Version")
        return {**given, "SemanticVersion": request["Version"]} if request.has("Version") else given

    @property
    def _snake(self) -> str:
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in self.kind).lstrip("_")


class Component(_ImageBuilderType):
    name = "AWS::ImageBuilder::Component"
    kind, arn_parameter = "Component", "componentBuildVersionArn"
    properties = split_words(
        "Name Version Platform Data Description ChangeDescription SupportedOsVersions Tags"
    )
    replaced_with = properties - {"Tags"}


class ImageRecipe(_ImageBuilderType):
    name = "AWS::ImageBuilder::ImageRecipe"
    kind, arn_parameter = "ImageRecipe", "imageRecipeArn"
    properties = split_words(
        "Name Version ParentImage Components BlockDeviceMappings Description WorkingDirectory "
        "AdditionalInstanceConfiguration Tags"
    )
    replaced_with = properties - {"Tags"}


class InfrastructureConfiguration(_ImageBuilderType):
    name = "AWS::ImageBuilder::InfrastructureConfiguration"
    kind, arn_parameter = "InfrastructureConfiguration", "infrastructureConfigurationArn"
    properties = split_words(
        "Name Description InstanceProfileName InstanceTypes SubnetId SecurityGroupIds TerminateInstanceOnFailure "
        "InstanceMetadataOptions ResourceTags Tags"
    )
    replaced_with = split_words("Name")


class DistributionConfiguration(_ImageBuilderType):
    name = "AWS::ImageBuilder::DistributionConfiguration"
    kind, arn_parameter = "DistributionConfiguration", "distributionConfigurationArn"
    properties = split_words("Name Description Distributions Tags")
    replaced_with = split_words("Name")


class ImagePipeline(_ImageBuilderType):
    name = "AWS::ImageBuilder::ImagePipeline"
    kind, arn_parameter = "ImagePipeline", "imagePipelineArn"
    properties = split_words(
        "Name Description ImageRecipeArn InfrastructureConfigurationArn DistributionConfigurationArn "
        "ImageTestsConfiguration EnhancedImageMetadataEnabled LoggingConfiguration ImageTags Status Tags"
    )
    replaced_with = split_words("Name")


TYPES: list[ResourceType] = [
    Component(),
    ImageRecipe(),
    InfrastructureConfiguration(),
    DistributionConfiguration(),
    ImagePipeline(),
]
