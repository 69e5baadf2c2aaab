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
        self._where = {"logGroupName": group, "logStreamName": stream}
        self._token: str | None = None
        self._since: dict[str, int] = {}
        self._repeated = 0
        self._last_ms = -1
        self._shown_of_last_ms = 0

    def new_lines(self) -> Iterator[LogLine]:
        while True:
            answer = self._page()
            token = answer.get("nextForwardToken")
            for event in answer.get("events") or ():
                line = LogLine(event["timestamp"], event["message"])
                if not self._is_repeated(line):
                    self._remember(line)
                    yield line
            # AWS says the end of what there is by returning the token that it was given.
            if token is None or token == self._token:
                return
            self._token = token

    def _page(self) -> dict[str, Any]:
        position = {"nextToken": self._token} if self._token else {}
        try:
            # AWS wants startFromHead with every forward token, too (CloudWatch Logs API, GetLogEvents).
            return self._cloud.call(
                _SERVICE, "get_log_events", **self._where, **self._since, **position, startFromHead=True
            )
        except AwsError as error:
            if error.code == "ResourceNotFoundException":
                return {}
            if error.code != "InvalidParameterException" or self._token is None:
                raise
            self._start_anew()
            return self._page()

    def _start_anew(self) -> None:
        """A token expires after 24 hours (CloudWatch Logs API, GetLogEvents), and a silent stream keeps its one."""
        self._token = None
        if self._last_ms >= 0:
            self._since = {"startTime": self._last_ms}
            self._repeated = self._shown_of_last_ms

    def _is_repeated(self, line: LogLine) -> bool:
        """After a new start AWS says again what had come within the last millisecond."""
        if self._repeated == 0 or line.time_ms != self._last_ms:
            return False
        self._repeated -= 1
        return True

    def _remember(self, line: LogLine) -> None:
        if line.time_ms > self._last_ms:
            self._last_ms, self._shown_of_last_ms = line.time_ms, 0
        if line.time_ms == self._last_ms:
            self._shown_of_last_ms += 1


def _group(raw: dict[str, Any]) -> LogGroup:
    return LogGroup(raw["logGroupName"], raw["arn"].removesuffix(":*"))
