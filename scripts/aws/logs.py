"""CloudWatch Logs: groups, and the lines of a stream as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE = "logs"
_PATTERN_CHARACTERS_MIN = 3


@dataclass(frozen=True, slots=True)
class LogGroup:
    name: str
    arn: str
    """Without the ":*" at the end, as ListTagsForResource wants it."""


@dataclass(frozen=True, slots=True)
class LogLine:
    time_ms: int
    text: str


def groups_named_like(cloud: Cloud, part: str) -> tuple[LogGroup, ...]:
    """Every group with `part` (three characters or more) in its name."""
    if len(part) < _PATTERN_CHARACTERS_MIN:
        raise ValueError(f"CloudWatch Logs searches for three characters or more: {part!r}")
    raw_groups = cloud.pages(_SERVICE, "describe_log_groups", "logGroups", logGroupNamePattern=part)
    return tuple(_group(raw) for raw in raw_groups if part in raw["logGroupName"])


def groups_below(cloud: Cloud, prefix: str) -> tuple[LogGroup, ...]:
    raw_groups = cloud.pages(_SERVICE, "describe_log_groups", "logGroups", logGroupNamePrefix=prefix)
    return tuple(_group(raw) for raw in raw_groups)


def find_group(cloud: Cloud, name: str) -> LogGroup | None:
    raw_groups = cloud.pages(_SERVICE, "describe_log_groups", "logGroups", logGroupNamePrefix=name)
    return next((_group(raw) for raw in raw_groups if raw["logGroupName"] == name), None)


def group_tags(cloud: Cloud, arn: str) -> dict[str, str]:
    """Empty, too, when the group went away meanwhile."""
    try:
        return dict(cloud.call(_SERVICE, "list_tags_for_resource", resourceArn=arn).get("tags") or {})
    except AwsError as error:
        if error.code == "ResourceNotFoundException":
            return {}
        raise


def delete_group(cloud: Cloud, name: str) -> None:
    """No error if it is gone."""
    try:
        cloud.call(_SERVICE, "delete_log_group", logGroupName=name)
    except AwsError as error:
        if error.code != "ResourceNotFoundException":
            raise


class StreamReader:
    """Reads a log stream from its beginning and then what is new. A stream that does not exist yet has no lines."""

    def __init__(self, cloud: Cloud, group: str, stream: str) -> None:
        self._cloud = cloud
        self._group = group
        self._stream = stream
        self._token: str | None = None

    def new_lines(self) -> Iterator[LogLine]:
        while True:
            answer = self._page()
            token = answer.get("nextForwardToken")
            for event in answer.get("events") or ():
                yield LogLine(event["timestamp"], event["message"])
            # AWS says the end of what there is by returning the token that it was given.
            if token is None or token == self._token:
                return
            self._token = token

    def _page(self) -> dict[str, Any]:
        position: dict[str, Any] = {"nextToken": self._token} if self._token else {"startFromHead": True}
        try:
            return self._cloud.call(
                _SERVICE, "get_log_events", logGroupName=self._group, logStreamName=self._stream, **position
            )
        except AwsError as error:
            if error.code == "ResourceNotFoundException":
                return {}
            raise


def _group(raw: dict[str, Any]) -> LogGroup:
    return LogGroup(raw["logGroupName"], raw["arn"].removesuffix(":*"))
