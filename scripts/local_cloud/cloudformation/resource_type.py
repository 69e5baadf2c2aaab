"""What a resource type of the local cloud has to know, and the request that it is given.

A type lists every property that it carries: any other fails the resource, because a property that is dropped in
silence would make a deployed stack look better than it is.
"""

from __future__ import annotations

import secrets
import string
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

_RANDOM = string.ascii_uppercase + string.digits


class ResourceError(Exception):
    """The resource cannot be made, changed or deleted; the message goes into the stack's events."""


class ReplacementNeededError(Exception):
    """The change cannot be made in place."""


@dataclass(frozen=True)
class Created:
    """`physical_id` answers Ref, `attributes` answer GetAtt."""

    physical_id: str
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One resource to make or change: plain properties, and every tag that it is to carry."""

    type: str
    logical_id: str
    properties: dict[str, Any]
    tags: dict[str, str]
    stack_name: str
    stack_id: str
    account: str
    region: str
    partition: str
    client_for: Callable[[str], Any]
    made: Callable[[str], None]
    """To be called with the physical id as soon as it is known, so that a rollback finds a half-made resource."""
    cancelled: Callable[[], bool] = lambda: False
    """Whether somebody wants the stack's operation to end: asked by whoever waits."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.properties:
            raise ResourceError(f"Model validation failed (#: required key [{name}] not found)")
        return self.properties[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.properties.get(name, default)

    def has(self, name: str) -> bool:
        return name in self.properties

    def client(self, service: str) -> Any:
        return self.client_for(service)

    def name_or_generated(self, property_name: str, max_length: int = 64) -> str:
        """The given name, or `STACK-LOGICALID-RANDOM` as CloudFormation makes it."""
        given = self.properties.get(property_name)
        return str(given) if given else self.generated_name(max_length)

    def generated_name(self, max_length: int = 64) -> str:
        suffix = "".join(secrets.choice(_RANDOM) for _ in range(12))
        room = max_length - len(suffix) - 2
        stack = self.stack_name[: max(room - len(self.logical_id), room // 2)]
        return f"{stack}-{self.logical_id[: room - len(stack)]}-{suffix}"

    def tag_list(self) -> list[dict[str, str]]:
        return [{"Key": key, "Value": value} for key, value in self.tags.items()]

    def arn(self, service: str, resource: str) -> str:
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


class ResourceType(ABC):
    name: ClassVar[str]
    properties: ClassVar[frozenset[str]]

    @abstractmethod
    def create(self, request: Request) -> Created: ...

    def update(
        self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]
    ) -> Created | None:
        """Changes the resource in place; `changed` names the properties, "Tags" for any change of tags.

        None: the attributes stay. Whoever cannot raises ReplacementNeededError.
        """
        raise ReplacementNeededError

    @abstractmethod
    def delete(self, request: Request, physical_id: str) -> None: ...

    def own_tags(self, properties: Mapping[str, Any]) -> dict[str, str]:
        """The tags that the template gives the resource itself."""
        return tag_map(properties.get("Tags"))

    def check(self, properties: Mapping[str, Any]) -> None:
        unknown = sorted(set(properties) - self.properties)
        if unknown:
            raise ResourceError(f"{self.name}: {', '.join(unknown)} is not emulated by the local cloud")


def tag_map(tags: Any) -> dict[str, str]:
    if isinstance(tags, Mapping):
        return {str(key): str(value) for key, value in tags.items()}
    return {str(tag["Key"]): str(tag["Value"]) for tag in tags or ()}


def split_words(names: str) -> frozenset[str]:
    return frozenset(names.split())


def as_bool(value: Any) -> bool:
    """CloudFormation takes "true" for true."""
    return value if isinstance(value, bool) else str(value).lower() == "true"
