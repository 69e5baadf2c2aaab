"""AWS::Logs::LogGroup."""

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


class LogGroup(ResourceType):
    name = "AWS::Logs::LogGroup"
    properties = split_words("LogGroupName RetentionInDays KmsKeyId LogGroupClass Tags")

    def create(self, request: Request) -> Created:
        logs = request.client("logs")
        group = request.name_or_generated("LogGroupName", 512)
        optional = {"kmsKeyId": request.get("KmsKeyId"), "logGroupClass": request.get("LogGroupClass")}
        given = {name: value for name, value in optional.items() if value}
        logs.create_log_group(logGroupName=group, tags=request.tags, **given)
        request.made(group)
        self._retain(request, group)
        return Created(group, {"Arn": request.arn("logs", f"log-group:{group}:*")})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"RetentionInDays", "Tags"}:
            raise ReplacementNeededError
        self._retain(request, physical_id)
        logs = request.client("logs")
        arn = request.arn("logs", f"log-group:{physical_id}")
        superfluous = sorted(set(logs.list_tags_for_resource(resourceArn=arn)["tags"]) - set(request.tags))
        if superfluous:
            logs.untag_resource(resourceArn=arn, tagKeys=superfluous)
        logs.tag_resource(resourceArn=arn, tags=request.tags)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("logs").delete_log_group(logGroupName=physical_id)

    def _retain(self, request: Request, group: str) -> None:
        logs = request.client("logs")
        if request.has("RetentionInDays"):
            logs.put_retention_policy(logGroupName=group, retentionInDays=int(request["RetentionInDays"]))
        else:
            logs.delete_retention_policy(logGroupName=group)


TYPES: list[ResourceType] = [LogGroup()]
