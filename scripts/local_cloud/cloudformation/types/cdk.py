"""Types that describe and make nothing: the only ones that pass without a counterpart in an API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import Created, Request, ResourceType, split_words


class CdkMetadata(ResourceType):
    name = "AWS::CDK::Metadata"
    properties = split_words("Analytics")

    def create(self, request: Request) -> Created:
        return Created(request.generated_name())

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        return None

    def delete(self, request: Request, physical_id: str) -> None:
        return None


TYPES: list[ResourceType] = [CdkMetadata()]
