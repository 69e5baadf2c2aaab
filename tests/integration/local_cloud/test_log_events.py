"""A reader that forgets `startFromHead` is seen to lose lines here, as it may on AWS."""

from __future__ import annotations

import time

import boto3
import pytest

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


def test_a_forward_token_alone_is_answered_from_the_end(session: boto3.Session) -> None:
    logs = session.client("logs")
    stream = {"logGroupName": "g", "logStreamName": "s"}
    logs.create_log_group(logGroupName="g")
    logs.create_log_stream(**stream)
    now = int(time.time() * 1000)
    logs.put_log_events(
        **stream, logEvents=[{"timestamp": now + i, "message": text} for i, text in enumerate("abcd")]
    )

    def page(**position: str | bool) -> tuple[str, str]:
        answer = logs.get_log_events(**stream, limit=1, **position)
        return answer["events"][0]["message"], answer["nextForwardToken"]

    first, token = page(startFromHead=True)
    assert (first, page(startFromHead=True, nextToken=token)[0]) == ("a", "b")
    assert page(nextToken=token)[0] == "d"
