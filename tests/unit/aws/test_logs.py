from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts.aws import logs
from scripts.aws.cloud import Cloud
from scripts.aws.logs import StreamReader
from scripts.aws.translation import AwsError

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
NOW_MS = int(time.time() * 1000)


def events(stub: Stubber, texts: list[str], token: str, first_ms: int = 0, **position: Any) -> None:
    stub.add_response(
        "get_log_events",
        {
            "events": [{"timestamp": first_ms + i, "message": text} for i, text in enumerate(texts)],
            "nextForwardToken": token,
        },
        {"logGroupName": "g", "logStreamName": "s", "startFromHead": True, **position},
    )


def test_a_stream_is_read_from_its_beginning_page_by_page_and_then_only_what_is_new(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    reader = StreamReader(cloud, "g", "s")
    events(stub("logs"), ["a", "b"], "t1")
    events(stub("logs"), ["c"], "t2", nextToken="t1")
    events(stub("logs"), [], "t2", nextToken="t2")
    assert [line.text for line in reader.new_lines()] == ["a", "b", "c"]
    events(stub("logs"), ["d"], "t3", nextToken="t2")
    events(stub("logs"), [], "t3", nextToken="t3")
    assert [line.text for line in reader.new_lines()] == ["d"]


def test_when_a_token_has_expired_reading_goes_on_behind_the_last_line(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    reader = StreamReader(cloud, "g", "s")
    events(stub("logs"), ["a", "b"], "t1", first_ms=6)
    events(stub("logs"), [], "t1", nextToken="t1")
    assert [line.text for line in reader.new_lines()] == ["a", "b"]
    stub("logs").add_client_error("get_log_events", "InvalidParameterException")
    events(stub("logs"), ["b", "c"], "t2", first_ms=7, startTime=7)
    events(stub("logs"), [], "t2", startTime=7, nextToken="t2")
    assert [line.text for line in reader.new_lines()] == ["c"]


def test_the_silent_stream_of_a_node_outlives_its_token(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    reader = StreamReader(cloud, "g", "s")
    events(stub("logs"), [], "t1")
    events(stub("logs"), [], "t1", nextToken="t1")
    assert list(reader.new_lines()) == []
    stub("logs").add_client_error("get_log_events", "InvalidParameterException")
    events(stub("logs"), ["a"], "t2")
    events(stub("logs"), [], "t2", nextToken="t2")
    assert [line.text for line in reader.new_lines()] == ["a"]


def test_what_logs_refuses_without_a_token_is_an_error(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("logs").add_client_error("get_log_events", "InvalidParameterException")
    with pytest.raises(AwsError, match="InvalidParameterException"):
        list(StreamReader(cloud, "g", "s").new_lines())


def put(cloud: Cloud, *lines: tuple[int, str]) -> None:
    events = [{"timestamp": NOW_MS + ms, "message": text} for ms, text in lines]
    cloud.client("logs").put_log_events(logGroupName="g", logStreamName="s", logEvents=events)


def test_no_line_is_lost_or_said_twice_however_often_tokens_expire(cloud: Cloud) -> None:
    cloud.client("logs").create_log_group(logGroupName="g")
    cloud.client("logs").create_log_stream(logGroupName="g", logStreamName="s")
    reader = StreamReader(cloud, "g", "s")
    said: list[str] = []
    for lines in ([(0, "a"), (5, "b"), (5, "c")], [(5, "d")], [], [(5, "b"), (6, "e")], [(9, "f")]):
        if lines:
            put(cloud, *lines)
        said += [line.text for line in reader.new_lines()]
        reader._token = "no longer valid"
    assert said == ["a", "b", "c", "d", "b", "e", "f"]


def test_a_stream_that_does_not_exist_yet_has_no_lines(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("logs").add_client_error("get_log_events", "ResourceNotFoundException")
    assert list(StreamReader(cloud, "g", "s").new_lines()) == []


def test_groups_are_found_by_a_part_of_their_name(cloud: Cloud) -> None:
    for name in ("/x/pilot/y", "pilot-jobs", "other"):
        cloud.client("logs").create_log_group(logGroupName=name, tags={"a": name})
    found = logs.groups_named_like(cloud, "pilot")
    assert sorted(group.name for group in found) == ["/x/pilot/y", "pilot-jobs"]
    assert [logs.group_tags(cloud, group.arn) for group in found] == [{"a": group.name} for group in found]


def test_a_group_is_found_by_its_very_name_however_short(cloud: Cloud) -> None:
    for name in ("x", "xy"):
        cloud.client("logs").create_log_group(logGroupName=name)
    found = logs.find_group(cloud, "x")
    assert found is not None
    assert found.name == "x"
    assert logs.find_group(cloud, "nothing") is None


def test_a_name_too_short_to_search_for_is_our_bug(cloud: Cloud) -> None:
    with pytest.raises(ValueError, match="three characters"):
        logs.groups_named_like(cloud, "ab")


def test_deleting_a_group_twice_does_no_harm(cloud: Cloud) -> None:
    cloud.client("logs").create_log_group(logGroupName="pilot-jobs")
    logs.delete_group(cloud, "pilot-jobs")
    assert logs.groups_named_like(cloud, "pilot-jobs") == ()
    logs.delete_group(cloud, "pilot-jobs")
