"""AWS::Batch: ComputeEnvironment, JobQueue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without


class ComputeEnvironment(ResourceType):
    name = "AWS::Batch::ComputeEnvironment"
    properties = split_words(
        "ComputeEnvironmentName Type State ServiceRole ComputeResources UnmanagedvCpus UpdatePolicy "
        "ReplaceComputeEnvironment Context Tags"
    )
    # Neither is part of CreateComputeEnvironment.
    _about_updates = ("UpdatePolicy", "ReplaceComputeEnvironment")

    def create(self, request: Request) -> Created:
        batch = request.client("batch")
        names = ("ComputeEnvironmentName", "Tags", *self._about_updates)
        parameters = api_parameters(batch, "CreateComputeEnvironment", without(request.properties, *names))
        answer = batch.create_compute_environment(
            computeEnvironmentName=request.name_or_generated("ComputeEnvironmentName", 128),
            tags=request.tags,
            **parameters,
        )
        arn = answer["computeEnvironmentArn"]
        request.made(arn)
        if request.has("UpdatePolicy"):
            policy = api_parameters(
                batch, "UpdateComputeEnvironment", {"UpdatePolicy": request["UpdatePolicy"]}
            )
            batch.update_compute_environment(computeEnvironment=arn, **policy)
        described = batch.describe_compute_environments(computeEnvironments=[arn])["computeEnvironments"][0]
        if described["status"] != "VALID":
            raise ResourceError(f"Resource is not in the expected state due to: {described['statusReason']}")
        return Created(arn, {"ComputeEnvironmentArn": arn})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {
            "State",
            "ServiceRole",
            "ComputeResources",
            "UnmanagedvCpus",
            "Tags",
            "Context",
            *self._about_updates,
        }:
            raise ReplacementNeededError
        resources = request.get("ComputeResources", {})
        was = old.get("ComputeResources", {})
        replaced = {name for name in {*resources, *was} if resources.get(name) != was.get(name)} - _SCALING
        if replaced and str(request.get("ReplaceComputeEnvironment", True)).lower() == "true":
            raise ReplacementNeededError
        batch = request.client("batch")
        names = ("State", "ServiceRole", "ComputeResources", "UnmanagedvCpus", "Context", "UpdatePolicy")
        given = {name: request[name] for name in names if name in changed and request.has(name)}
        if "ComputeResources" in given:
            given["ComputeResources"] = (
                without(given["ComputeResources"], "Type") if not replaced else resources
            )
        parameters = api_parameters(batch, "UpdateComputeEnvironment", given)
        batch.update_compute_environment(computeEnvironment=physical_id, **parameters)
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        batch = request.client("batch")
        batch.update_compute_environment(computeEnvironment=physical_id, state="DISABLED")
        batch.delete_compute_environment(computeEnvironment=physical_id)


_SCALING = {"MinvCpus", "MaxvCpus", "DesiredvCpus"}


class JobQueue(ResourceType):
    name = "AWS::Batch::JobQueue"
    properties = split_words(
        "JobQueueName State Priority ComputeEnvironmentOrder JobStateTimeLimitActions SchedulingPolicyArn JobQueueType Tags"
    )

    def create(self, request: Request) -> Created:
        batch = request.client("batch")
        parameters = api_parameters(
            batch, "CreateJobQueue", without(request.properties, "JobQueueName", "Tags")
        )
        answer = batch.create_job_queue(
            jobQueueName=request.name_or_generated("JobQueueName", 128), tags=request.tags, **parameters
        )
        return Created(answer["jobQueueArn"], {"JobQueueArn": answer["jobQueueArn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"JobQueueName", "JobQueueType"}:
            raise ReplacementNeededError
        batch = request.client("batch")
        properties = without(request.properties, "JobQueueName", "JobQueueType", "Tags")
        batch.update_job_queue(jobQueue=physical_id, **api_parameters(batch, "UpdateJobQueue", properties))
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        batch = request.client("batch")
        batch.update_job_queue(jobQueue=physical_id, state="DISABLED")
        batch.delete_job_queue(jobQueue=physical_id)


def _retag(request: Request, arn: str) -> None:
    batch = request.client("batch")
    superfluous = sorted(set(batch.list_tags_for_resource(resourceArn=arn)["tags"]) - set(request.tags))
    if superfluous:
        batch.untag_resource(resourceArn=arn, tagKeys=superfluous)
    batch.tag_resource(resourceArn=arn, tags=request.tags)


TYPES: list[ResourceType] = [ComputeEnvironment(), JobQueue()]
