"""EC2 Image Builder's API, as far as AMIs from pipelines need it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from scripts.local_cloud.imagebuilder.backend import (
    COMPONENT,
    DISTRIBUTION,
    INFRASTRUCTURE,
    PIPELINE,
    RECIPE,
    Backend,
    imagebuilder_backends,
)
from scripts.local_cloud.imagebuilder.errors import InvalidRequestException, ResourceNotFoundException
from scripts.local_cloud.own_service import ActionResult, OwnService

_PAGE = 25
# Kind, the name of its ARN in requests, its name in answers, the name of lists of it.
_KINDS = {
    COMPONENT: ("componentBuildVersionArn", "component", "componentVersionList"),
    RECIPE: ("imageRecipeArn", "imageRecipe", "imageRecipeSummaryList"),
    INFRASTRUCTURE: (
        "infrastructureConfigurationArn",
        "infrastructureConfiguration",
        "infrastructureConfigurationSummaryList",
    ),
    DISTRIBUTION: (
        "distributionConfigurationArn",
        "distributionConfiguration",
        "distributionConfigurationSummaryList",
    ),
    PIPELINE: ("imagePipelineArn", "imagePipeline", "imagePipelineList"),
}


class ImageBuilder(OwnService):
    service = "imagebuilder"

    @property
    def backend(self) -> Backend:
        return imagebuilder_backends[self.current_account][self.region]

    # ---- what a pipeline is made of

    def create_component(self) -> ActionResult:
        return self._create(COMPONENT)

    def create_image_recipe(self) -> ActionResult:
        return self._create(RECIPE)

    def create_infrastructure_configuration(self) -> ActionResult:
        return self._create(INFRASTRUCTURE)

    def create_distribution_configuration(self) -> ActionResult:
        return self._create(DISTRIBUTION)

    def create_image_pipeline(self) -> ActionResult:
        return self._create(PIPELINE)

    def get_component(self) -> ActionResult:
        return self._get(COMPONENT)

    def get_image_recipe(self) -> ActionResult:
        return self._get(RECIPE)

    def get_infrastructure_configuration(self) -> ActionResult:
        return self._get(INFRASTRUCTURE)

    def get_distribution_configuration(self) -> ActionResult:
        return self._get(DISTRIBUTION)

    def get_image_pipeline(self) -> ActionResult:
        return self._get(PIPELINE)

    def update_infrastructure_configuration(self) -> ActionResult:
        return self._update(INFRASTRUCTURE)

    def update_distribution_configuration(self) -> ActionResult:
        return self._update(DISTRIBUTION)

    def update_image_pipeline(self) -> ActionResult:
        return self._update(PIPELINE)

    def delete_component(self) -> ActionResult:
        return self._delete(COMPONENT)

    def delete_image_recipe(self) -> ActionResult:
        return self._delete(RECIPE)

    def delete_infrastructure_configuration(self) -> ActionResult:
        return self._delete(INFRASTRUCTURE)

    def delete_distribution_configuration(self) -> ActionResult:
        return self._delete(DISTRIBUTION)

    def delete_image_pipeline(self) -> ActionResult:
        return self._delete(PIPELINE)

    def list_image_pipelines(self) -> ActionResult:
        return self._page(_KINDS[PIPELINE][2], self.backend.of_kind(PIPELINE))

    # ---- images

    def start_image_pipeline_execution(self) -> ActionResult:
        arguments = self.arguments()
        token = arguments["clientToken"]
        arn = self.backend.start(arguments["imagePipelineArn"], token, arguments.get("tags") or {})
        return ActionResult({"clientToken": token, "imageBuildVersionArn": arn})

    def list_image_pipeline_images(self) -> ActionResult:
        arn = self.arguments()["imagePipelineArn"]
        self.backend.get(arn, PIPELINE)
        self._no_filters()
        builds = [build for build in self.backend.builds.values() if build.pipeline["arn"] == arn]
        return self._page("imageSummaryList", [build.summary() for build in reversed(builds)])

    def list_images(self) -> ActionResult:
        """Versions, whose builds another call lists."""
        self._no_filters()
        if self.arguments().get("owner", "Self") != "Self":
            raise InvalidRequestException("the local cloud knows images of the account's own only")
        versions: dict[str, dict[str, Any]] = {}
        for build in self.backend.builds.values():
            summary = build.summary()
            arn = build.arn.rpartition("/")[0]
            kept = ("name", "type", "platform", "osVersion", "dateCreated", "buildType")
            versions[arn] = {"arn": arn, "version": arn.rpartition("/")[2], **{k: summary[k] for k in kept}}
        return self._page("imageVersionList", list(versions.values()))

    def list_image_build_versions(self) -> ActionResult:
        self._no_filters()
        version = self.arguments().get("imageVersionArn")
        builds = [b for b in self.backend.builds.values() if version in (None, b.arn.rpartition("/")[0])]
        return self._page("imageSummaryList", [build.summary() for build in reversed(builds)])

    def get_image(self) -> ActionResult:
        build = self.backend.build(self.arguments()["imageBuildVersionArn"])
        more = {
            "imageRecipe": self._described(RECIPE, build.recipe),
            "infrastructureConfiguration": build.infrastructure,
            "distributionConfiguration": build.distribution,
            "sourcePipelineName": build.pipeline["name"],
            "sourcePipelineArn": build.pipeline["arn"],
        }
        return ActionResult({"image": {**build.summary(), **more}})

    def cancel_image_creation(self) -> ActionResult:
        arn = self.arguments()["imageBuildVersionArn"]
        build = self.backend.build(arn)
        if not build.is_active:
            raise InvalidRequestException(f"The image is in state {build.status}: {arn}")
        build.cancel()
        return ActionResult({"imageBuildVersionArn": arn, "clientToken": self.arguments()["clientToken"]})

    def list_workflow_executions(self) -> ActionResult:
        """One, with the image's own id: what it did is one list of steps here."""
        build = self.backend.build(self.arguments()["imageBuildVersionArn"])
        execution = {"workflowExecutionId": _workflow_id(build.arn), "type": "BUILD", "status": build.status}
        return self._page("workflowExecutions", [execution])

    def list_workflow_step_executions(self) -> ActionResult:
        """The step that runs, or has failed."""
        wanted = self.arguments()["workflowExecutionId"]
        build = next((b for b in self.backend.builds.values() if _workflow_id(b.arn) == wanted), None)
        if build is None:
            raise ResourceNotFoundException(f"The workflow execution could not be found: {wanted}")
        step = {
            "stepExecutionId": f"step-{wanted.partition('-')[2]}",
            "name": build.step,
            "action": build.step,
            "status": "FAILED" if build.failure else "RUNNING",
            "message": build.failure,
        }
        return self._page("steps", [step] if build.step else [])

    def delete_image(self) -> ActionResult:
        arn = self.arguments()["imageBuildVersionArn"]
        self.backend.delete_image(arn)
        return ActionResult({"imageBuildVersionArn": arn})

    # ---- tags

    def list_tags_for_resource(self) -> ActionResult:
        return ActionResult({"tags": dict(self.backend.tags_of(self._resource_arn()))})

    def tag_resource(self) -> ActionResult:
        self.backend.tags_of(self._resource_arn()).update(self.arguments()["tags"])
        return ActionResult({})

    def untag_resource(self) -> ActionResult:
        tags = self.backend.tags_of(self._resource_arn())
        for key in self.arguments()["tagKeys"]:
            tags.pop(key, None)
        return ActionResult({})

    # ---- shared

    def _create(self, kind: str) -> ActionResult:
        arn = self.backend.create(kind, self.arguments())
        return ActionResult({_KINDS[kind][0]: arn, "clientToken": self.arguments()["clientToken"]})

    def _get(self, kind: str) -> ActionResult:
        parameter, key, _ = _KINDS[kind]
        found = self.backend.get(self.arguments()[parameter], kind)
        return ActionResult({key: self._described(kind, found)})

    def _described(self, kind: str, found: Mapping[str, Any]) -> dict[str, Any]:
        described = {**found, "version": found.get("semanticVersion")}
        if kind in (COMPONENT, RECIPE):
            described |= {"owner": self.current_account, "platform": "Linux"}
        return described

    def _update(self, kind: str) -> ActionResult:
        parameter = _KINDS[kind][0]
        arguments = self.arguments()
        arn = arguments.pop(parameter)
        self.backend.update(arn, kind, arguments)
        return ActionResult({parameter: arn, "clientToken": arguments["clientToken"]})

    def _delete(self, kind: str) -> ActionResult:
        parameter = _KINDS[kind][0]
        arn = self.arguments()[parameter]
        self.backend.delete(arn, kind)
        return ActionResult({parameter: arn})

    def _resource_arn(self) -> str:
        return str(self.arguments()["resourceArn"])

    def _no_filters(self) -> None:
        if self.arguments().get("filters"):
            raise InvalidRequestException("filters are not emulated by the local cloud")

    def _page(self, key: str, items: Iterable[Any]) -> ActionResult:
        arguments, found = self.arguments(), list(items)
        start = int(arguments.get("nextToken") or 0)
        size = int(arguments.get("maxResults") or _PAGE)
        answer: dict[str, Any] = {key: found[start : start + size]}
        if start + size < len(found):
            answer["nextToken"] = str(start + size)
        return ActionResult(answer)


def _workflow_id(image_arn: str) -> str:
    return f"wf-{uuid.uuid5(uuid.NAMESPACE_URL, image_arn)}"
