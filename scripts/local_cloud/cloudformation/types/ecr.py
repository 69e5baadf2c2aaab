"""AWS::ECR::Repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    as_bool,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, json_text


class Repository(ResourceType):
    name = "AWS::ECR::Repository"
    properties = split_words(
        "RepositoryName ImageTagMutability ImageScanningConfiguration EncryptionConfiguration LifecyclePolicy "
        "RepositoryPolicyText EmptyOnDelete Tags"
    )

    def create(self, request: Request) -> Created:
        ecr = request.client("ecr")
        repository = request.get("RepositoryName") or request.generated_name(256).lower()
        names = ("ImageTagMutability", "ImageScanningConfiguration", "EncryptionConfiguration")
        given = {name: request[name] for name in names if request.has(name)}
        answer = ecr.create_repository(
            repositoryName=repository,
            tags=request.tag_list(),
            **api_parameters(ecr, "CreateRepository", given),
        )["repository"]
        request.made(repository)
        self._set_policies(request, repository)
        return Created(repository, {"Arn": answer["repositoryArn"], "RepositoryUri": answer["repositoryUri"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"RepositoryName", "EncryptionConfiguration"}:
            raise ReplacementNeededError
        ecr = request.client("ecr")
        if "ImageTagMutability" in changed:
            mutability = request.get("ImageTagMutability", "MUTABLE")
            ecr.put_image_tag_mutability(repositoryName=physical_id, imageTagMutability=mutability)
        if "ImageScanningConfiguration" in changed:
            scan = as_bool(request.get("ImageScanningConfiguration", {}).get("ScanOnPush", False))
            ecr.put_image_scanning_configuration(
                repositoryName=physical_id, imageScanningConfiguration={"scanOnPush": scan}
            )
        if "LifecyclePolicy" in changed and not request.has("LifecyclePolicy"):
            ecr.delete_lifecycle_policy(repositoryName=physical_id)
        if "RepositoryPolicyText" in changed and not request.has("RepositoryPolicyText"):
            ecr.delete_repository_policy(repositoryName=physical_id)
        self._set_policies(request, physical_id)
        self._retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        force = as_bool(request.get("EmptyOnDelete", False))
        request.client("ecr").delete_repository(repositoryName=physical_id, force=force)

    def _set_policies(self, request: Request, repository: str) -> None:
        ecr = request.client("ecr")
        if request.has("LifecyclePolicy"):
            text = request["LifecyclePolicy"]["LifecyclePolicyText"]
            ecr.put_lifecycle_policy(repositoryName=repository, lifecyclePolicyText=text)
        if request.has("RepositoryPolicyText"):
            policy = json_text(request["RepositoryPolicyText"])
            ecr.set_repository_policy(repositoryName=repository, policyText=policy)

    def _retag(self, request: Request, repository: str) -> None:
        ecr = request.client("ecr")
        arn = request.arn("ecr", f"repository/{repository}")
        found = {tag["Key"] for tag in ecr.list_tags_for_resource(resourceArn=arn)["tags"]}
        superfluous = sorted(found - set(request.tags))
        if superfluous:
            ecr.untag_resource(resourceArn=arn, tagKeys=superfluous)
        ecr.tag_resource(resourceArn=arn, tags=request.tag_list())


TYPES: list[ResourceType] = [Repository()]
