from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.stub import Stubber

from scripts.aws import logs
from scripts.aws.cloud import Cloud
from scripts.aws.logs import StreamReader

Stubbed = tuple[Cloud, Callable[[str], Stubber]]


def events(stub: Stubber, texts: list[str], token: str, **position: Any) -> None:
    stub.add_response(
        "get_log_events",
        {
            "events": [{"timestamp": index, "message": text} for index, text in enumerate(texts)],
            "nextForwardToken": token,
        },
        {"logGroupName": "g", "logStreamName": "s", **position},
    )


def test_a_stream_is_read_from_its_beginning_page_by_page_and_then_only_what_is_new(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    reader = StreamReader(cloud, "g", "s")
    events(stub("logs"), ["a", "b"], "t1", startFromHead=True)
    events(stub("logs"), ["c"], "t2", nextToken="t1")
    events(stub("logs"), [], "t2", nextToken="t2")
    assert [line.text for line in reader.new_lines()] == ["a", "b", "c"]
    events(stub("logs"), ["d"], "t3", nextToken="t2")
    events(stub("logs"), [], "t3", nextToken="t3")
    assert [line.text for line in reader.new_lines()] == ["d"]


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
