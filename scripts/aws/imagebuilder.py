"""EC2 Image Builder: images that pipelines make, how far one is, why one failed, and how to be rid of one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE = "imagebuilder"
_ACTIVE = ("PENDING", "CREATING", "BUILDING", "TESTING", "DISTRIBUTING", "INTEGRATING")
_TOKEN_CHARACTERS_MAX = 36
_LOOKS = {
    "component": ("get_component", "componentBuildVersionArn"),
    "image-recipe": ("get_image_recipe", "imageRecipeArn"),
    "infrastructure-configuration": ("get_infrastructure_configuration", "infrastructureConfigurationArn"),
    "distribution-configuration": ("get_distribution_configuration", "distributionConfigurationArn"),
    "image-pipeline": ("get_image_pipeline", "imagePipelineArn"),
}

PARTS = tuple(_LOOKS)


@dataclass(frozen=True, slots=True)
class Image:
    """One build, whatever became of it."""

    arn: str
    name: str
    recipe_version: str
    state: str
    """PENDING, BUILDING, TESTING, DISTRIBUTING, AVAILABLE, FAILED, CANCELLED, …"""
    reason: str
    created: str
    """ISO 8601, as Image Builder writes it."""
    ami_id: str | None
    tags: dict[str, str]

    @property
    def is_active(self) -> bool:
        return self.state in _ACTIVE


def start(cloud: Cloud, pipeline_arn: str, token: str, tags: Mapping[str, str]) -> str:
    """The ARN of the image. The same token starts nothing a second time; it may be of any length.

    `tags` are the image's: those that a pipeline has for its images go on builds that its schedule starts, only.
    """
    answer = cloud.call(
        _SERVICE,
        "start_image_pipeline_execution",
        imagePipelineArn=pipeline_arn,
        clientToken=_client_token(token),
        tags=dict(tags),
    )
    arn: str = answer["imageBuildVersionArn"]
    return arn


def pipeline_images(cloud: Cloud, pipeline_arn: str) -> tuple[Image, ...]:
    """Newest first."""
    raw_images = cloud.pages(
        _SERVICE, "list_image_pipeline_images", "imageSummaryList", imagePipelineArn=pipeline_arn
    )
    return tuple(sorted((_image(raw) for raw in raw_images), key=lambda image: image.created, reverse=True))


def find_image(cloud: Cloud, arn: str) -> Image | None:
    try:
        return _image(cloud.call(_SERVICE, "get_image", imageBuildVersionArn=arn)["image"])
    except AwsError as error:
        if _is_gone(error):
            return None
        raise


def own_images(cloud: Cloud) -> Iterator[Image]:
    """Every build of the account and region that is not deleted."""
    for version in cloud.pages(_SERVICE, "list_images", "imageVersionList", owner="Self"):
        builds = cloud.pages(
            _SERVICE, "list_image_build_versions", "imageSummaryList", imageVersionArn=version["arn"]
        )
        yield from (image for raw in builds if (image := _image(raw)).state != "DELETED")


def failed_steps(cloud: Cloud, arn: str) -> tuple[str, ...]:
    """Each with its own reason."""
    workflows = cloud.pages(
        _SERVICE, "list_workflow_executions", "workflowExecutions", imageBuildVersionArn=arn
    )
    return tuple(
        f"step {step['name']} ({step.get('action', '')}): {step.get('message', '')}"
        for workflow in workflows
        for step in cloud.pages(
            _SERVICE,
            "list_workflow_step_executions",
            "steps",
            workflowExecutionId=workflow["workflowExecutionId"],
        )
        if step.get("status") == "FAILED"
    )


def cancel(cloud: Cloud, arn: str) -> None:
    """Starts the end of a build; `find_image` tells when it is over."""
    cloud.call(_SERVICE, "cancel_image_creation", imageBuildVersionArn=arn, clientToken=_client_token(arn))


def delete(cloud: Cloud, arn: str) -> None:
    """Of what does not build any more. The AMI stays. No error if it is gone."""
    try:
        cloud.call(_SERVICE, "delete_image", imageBuildVersionArn=arn)
    except AwsError as error:
        if not _is_gone(error):
            raise


def exists(cloud: Cloud, arn: str) -> bool:
    """Of a kind in PARTS: a component, a recipe, a configuration, a pipeline."""
    operation, parameter = _LOOKS[arn.split(":", 5)[5].partition("/")[0]]
    try:
        cloud.call(_SERVICE, operation, **{parameter: arn})
    except AwsError as error:
        if _is_gone(error):
            return False
        raise
    return True


def _image(raw: dict[str, Any]) -> Image:
    state = raw.get("state") or {}
    amis = (raw.get("outputResources") or {}).get("amis") or ()
    return Image(
        arn=raw["arn"],
        name=raw.get("name", ""),
        recipe_version=raw.get("version", "").partition("/")[0],
        state=state.get("status", ""),
        reason=state.get("reason") or "",
        created=raw.get("dateCreated", ""),
        ami_id=next((ami["image"] for ami in amis if ami.get("image")), None),
        tags=dict(raw.get("tags") or {}),
    )


def _client_token(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_TOKEN_CHARACTERS_MAX]


def _is_gone(error: AwsError) -> bool:
    return error.code == "ResourceNotFoundException"
