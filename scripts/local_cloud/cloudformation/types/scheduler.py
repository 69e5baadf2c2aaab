"""AWS::Scheduler: Schedule, ScheduleGroup."""

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


class Schedule(ResourceType):
    """A schedule has no tags: its group has."""

    name = "AWS::Scheduler::Schedule"
    properties = split_words(
        "Name GroupName Description ScheduleExpression ScheduleExpressionTimezone StartDate EndDate State "
        "FlexibleTimeWindow KmsKeyArn Target"
    )

    def create(self, request: Request) -> Created:
        name = request.name_or_generated("Name")
        scheduler = request.client("scheduler")
        answer = scheduler.create_schedule(Name=name, **self._given(request, "CreateSchedule"))
        return Created(name, {"Arn": answer["ScheduleArn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"Name", "GroupName"}:
            raise ReplacementNeededError
        request.client("scheduler").update_schedule(
            Name=physical_id, **self._given(request, "UpdateSchedule")
        )

    def delete(self, request: Request, physical_id: str) -> None:
        group = {"GroupName": request["GroupName"]} if request.has("GroupName") else {}
        request.client("scheduler").delete_schedule(Name=physical_id, **group)

    def _given(self, request: Request, operation: str) -> dict[str, Any]:
        return api_parameters(request.client("scheduler"), operation, without(request.properties, "Name"))


class ScheduleGroup(ResourceType):
    name = "AWS::Scheduler::ScheduleGroup"
    properties = split_words("Name Tags")

    def create(self, request: Request) -> Created:
        name = request.name_or_generated("Name")
        answer = request.client("scheduler").create_schedule_group(Name=name, Tags=request.tag_list())
        return Created(name, {"Arn": answer["ScheduleGroupArn"], "State": "ACTIVE"})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "Name" in changed:
            raise ReplacementNeededError
        scheduler = request.client("scheduler")
        arn = request.arn("scheduler", f"schedule-group/{physical_id}")
        found = {tag["Key"] for tag in scheduler.list_tags_for_resource(ResourceArn=arn)["Tags"]}
        superfluous = sorted(found - set(request.tags))
        if superfluous:
            scheduler.untag_resource(ResourceArn=arn, TagKeys=superfluous)
        scheduler.tag_resource(ResourceArn=arn, Tags=request.tag_list())

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("scheduler").delete_schedule_group(Name=physical_id)


TYPES: list[ResourceType] = [Schedule(), ScheduleGroup()]
