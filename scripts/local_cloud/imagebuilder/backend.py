"""What Image Builder keeps: components, recipes, configurations, pipelines and images, by ARN, as they are described."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import boto3
from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.resource_tagging import TaggedResource

from scripts.local_cloud.imagebuilder.build import Build
from scripts.local_cloud.imagebuilder.documents import check_document
from scripts.local_cloud.imagebuilder.errors import (
    InvalidRequestException,
    InvalidVersionNumberException,
    ResourceDependencyException,
    ResourceInUseException,
    ResourceNotFoundException,
)

COMPONENT = "component"
RECIPE = "image-recipe"
INFRASTRUCTURE = "infrastructure-configuration"
DISTRIBUTION = "distribution-configuration"
PIPELINE = "image-pipeline"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_NUMBER_MAX = 2**30 - 1
_NAME = re.compile(r"[-_A-Za-z0-9][-_A-Za-z0-9 ]{1,126}[-_A-Za-z0-9]")
# What names whom: whoever is named cannot be deleted.
_REFERENCES = ("imageRecipeArn", "infrastructureConfigurationArn", "distributionConfigurationArn")
Described = dict[str, Any]


class Backend(BaseBackend):
    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.lock = threading.RLock()
        self.resources: dict[str, Described] = {}
        self.builds: dict[str, Build] = {}
        self._started: dict[str, str] = {}
        """The image of each client token."""

    def create(self, kind: str, given: Mapping[str, Any]) -> str:
        """The new resource's ARN."""
        values = {name: value for name, value in given.items() if name != "clientToken"}
        if not _NAME.fullmatch(values["name"]):
            raise InvalidRequestException(
                f"The value supplied for parameter 'name' is not valid: {values['name']!r}"
            )
        arn = self._arn(kind, values)
        with self.lock:
            if arn in self.resources:
                raise ResourceInUseException(f"The resource already exists: {arn}")
            self._check(kind, values)
            self.resources[arn] = {"tags": {}, **values, "arn": arn, "dateCreated": _now()}
        return arn

    def get(self, arn: str, kind: str) -> Described:
        found = self.resources.get(arn)
        if found is None or f":{kind}/" not in arn:
            raise ResourceNotFoundException(f"The resource could not be found: {arn}")
        return found

    def of_kind(self, kind: str) -> list[Described]:
        return [found for arn, found in list(self.resources.items()) if f":{kind}/" in arn]

    def update(self, arn: str, kind: str, given: Mapping[str, Any]) -> None:
        """As Image Builder does it: what the request leaves out is gone."""
        with self.lock:
            old = self.get(arn, kind)
            values = {name: value for name, value in given.items() if name != "clientToken"}
            self._check(kind, {"name": old["name"], **values})
            kept = {name: old[name] for name in ("arn", "name", "tags", "dateCreated")}
            self.resources[arn] = {**values, **kept, "dateUpdated": _now()}

    def delete(self, arn: str, kind: str) -> None:
        with self.lock:
            self.get(arn, kind)
            users = [other["arn"] for other in self.resources.values() if arn in _named_by(other)]
            if users:
                raise ResourceDependencyException(
                    f"The resource ARN '{arn}' has other resources depended on it: {', '.join(sorted(users))}"
                )
            del self.resources[arn]

    # ---- images

    def start(self, pipeline_arn: str, token: str, tags: Mapping[str, str]) -> str:
        """The image's ARN; the same token is the same build."""
        with self.lock:
            pipeline = self.get(pipeline_arn, PIPELINE)
            if token in self._started:
                return self._started[token]
            if pipeline.get("status", "ENABLED") != "ENABLED":
                raise InvalidRequestException("The pipeline is disabled")
            recipe = self.get(pipeline["imageRecipeArn"], RECIPE)
            build = Build(
                arn=self._image_arn(recipe),
                pipeline=dict(pipeline),
                recipe=dict(recipe),
                infrastructure=dict(self.get(pipeline["infrastructureConfigurationArn"], INFRASTRUCTURE)),
                distribution=dict(self.get(pipeline["distributionConfigurationArn"], DISTRIBUTION)),
                tags=dict(tags),  # the pipeline's imageTags are for scheduled builds
                account=self.account_id,
                region=self.region_name,
            )
            self.builds[build.arn] = build
            self._started[token] = build.arn
        build.start()
        return build.arn

    def build(self, arn: str) -> Build:
        if arn not in self.builds:
            raise ResourceNotFoundException(f"The image could not be found: {arn}")
        return self.builds[arn]

    def delete_image(self, arn: str) -> None:
        """The AMI and its snapshots stay."""
        if self.build(arn).is_active:
            raise ResourceInUseException(f"The image is in state {self.build(arn).status}: {arn}")
        del self.builds[arn]

    # ---- tags

    def tags_of(self, arn: str) -> dict[str, str]:
        if arn in self.builds:
            return self.builds[arn].tags
        if arn not in self.resources:
            raise ResourceNotFoundException(f"The resource could not be found: {arn}")
        tags: dict[str, str] = self.resources[arn]["tags"]
        return tags

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        for arn in (*self.resources, *self.builds):
            yield TaggedResource(
                arn, dict(self.tags_of(arn)), f"imagebuilder:{arn.split(':')[5].split('/')[0]}"
            )

    # ---- shared

    def _check(self, kind: str, values: Mapping[str, Any]) -> None:
        if kind == COMPONENT:
            check_document(values.get("data") or "")
        if kind == RECIPE:
            for used in values.get("components") or ():
                self.get(used["componentArn"], COMPONENT)
        if kind == PIPELINE:
            for name, wanted in zip(_REFERENCES, (RECIPE, INFRASTRUCTURE, DISTRIBUTION), strict=True):
                self.get(values.get(name) or "", wanted)

    def _arn(self, kind: str, values: Mapping[str, Any]) -> str:
        name = values["name"].lower().replace(" ", "-")
        version = values.get("semanticVersion")
        if version is not None:
            numbers = _VERSION.fullmatch(version)
            if numbers is None or any(int(number) > _NUMBER_MAX for number in numbers.groups()):
                raise InvalidVersionNumberException(f"The version is not valid: {version}")
            name = f"{name}/{version}"
        build = "/1" if kind == COMPONENT else ""
        return f"arn:{self.partition}:imagebuilder:{self.region_name}:{self.account_id}:{kind}/{name}{build}"

    def _image_arn(self, recipe: Mapping[str, Any]) -> str:
        version_arn = recipe["arn"].replace(f":{RECIPE}/", ":image/")
        numbers = [
            int(arn.rpartition("/")[2]) for arn in self.builds if arn.rpartition("/")[0] == version_arn
        ]
        return f"{version_arn}/{max(numbers, default=0) + 1}"


def _named_by(resource: Mapping[str, Any]) -> set[str]:
    components = {used["componentArn"] for used in resource.get("components") or ()}
    return components | {resource[name] for name in _REFERENCES if name in resource}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# botocore lists no regions of Image Builder's: every region with EC2 has it here.
imagebuilder_backends = BackendDict(
    Backend, "imagebuilder", additional_regions=boto3.Session().get_available_regions("ec2")
)
