"""A page of log events with a forward token but without startFromHead: AWS wants both (CloudWatch Logs API, GetLogEvents).

What it answers to the token alone is not written; here the default of startFromHead holds, the newest events, so that a
reader which forgets it is seen to skip lines. moto goes on from the token.
"""

from __future__ import annotations

from typing import Any

from moto.logs.models import LogStream

_Page = tuple[list[dict[str, Any]], str | None, str | None]


def heed_start_from_head() -> None:
    read = LogStream.get_log_events

    def get_log_events(
        self: LogStream,
        start_time: str,
        end_time: str,
        limit: int,
        next_token: str | None,
        start_from_head: str,
    ) -> _Page:
        is_forward = next_token is not None and next_token.startswith("f/")
        token = None if is_forward and not start_from_head else next_token
        return read(self, start_time, end_time, limit, token, start_from_head)

    LogStream.get_log_events = get_log_events  # type: ignore[method-assign]
