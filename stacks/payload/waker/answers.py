"""What clients are answered, in the shapes that OpenAI's clients know.

Those try again after 503, as `Retry-After` says; of more than 120 s they do not try again at all, and earlier versions
ignored more than 60 s and asked again within seconds (openai-python@000f030a _base_client.py). So the header never says
more than 60 s, and the whole estimate is in the body. They follow a 307 with the body that they sent (same file).
"""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from waker.decisions import Settings, Situation, View, seconds_waited

RETRY_MAX_SECONDS = 60
SOON_SECONDS = 5
FINAL = frozenset({Situation.AWAKE, Situation.OVERRIDDEN, Situation.ELSEWHERE})
"""Nothing to hold a request for."""


def wakes(event: dict[str, Any], settings: Settings) -> bool:
    """Health checks, monitors and crawlers do not: they ask with GET, or for other paths."""
    path = str(event.get("path") or "/")
    return event.get("httpMethod") == "POST" and path.startswith(settings.wake_paths)


def without_waking(event: dict[str, Any], settings: Settings) -> dict[str, Any]:
    path = str(event.get("path") or "/").rstrip("/")
    if event.get("httpMethod") == "GET" and path.endswith("/models") and path.startswith(settings.wake_paths):
        model = {"id": settings.model, "object": "model", "created": 0, "owned_by": "neuronkit"}
        return _answer(200, {"object": "list", "data": [model]})
    if path.startswith(settings.wake_paths):
        return _refusal(
            503, "The fleet is asleep; only a POST wakes it.", "fleet_is_asleep", RETRY_MAX_SECONDS
        )
    return _refusal(404, "Nothing is served under this path.", "no_such_path", None)


def answer(event: dict[str, Any], situation: Situation, view: View, settings: Settings) -> dict[str, Any]:
    if situation is Situation.AWAKE and settings.hold_seconds:
        return _answer(307, {}, {"Location": _same_place(event), "Cache-Control": "no-store"})
    waited = int(seconds_waited(view))
    left = max(SOON_SECONDS, min(RETRY_MAX_SECONDS, settings.start_high_seconds - waited))
    estimate = f"{settings.start_low_seconds} to {settings.start_high_seconds} s"
    message, code, retry = {
        Situation.AWAKE: ("The fleet has just started; ask again.", "fleet_is_awake", 1),
        Situation.STARTING: (
            f"The fleet was asleep and starts, which takes {estimate}; {waited} s have passed.",
            "fleet_is_starting",
            left,
        ),
        Situation.REFUSED: (
            f"The fleet was asleep and cannot start: AWS gives no instance ({view.refused}). {waited} s have passed; "
            "it goes on trying.",
            "no_capacity",
            RETRY_MAX_SECONDS,
        ),
        Situation.ENDING: ("The fleet was about to end and starts again.", "fleet_is_starting", SOON_SECONDS),
        Situation.OVERRIDDEN: (
            "The fleet's Neuron side is off by an operator's word.",
            "operator_override",
            60,
        ),
        Situation.ELSEWHERE: (
            "The fleet's capacity is used for training at this hour.",
            "capacity_elsewhere",
            60,
        ),
    }[situation]
    return _refusal(503, message, code, retry)


def out_of_order() -> dict[str, Any]:
    """AWS did not answer the waker itself."""
    return _refusal(
        503, "The fleet's state could not be read; ask again.", "waker_out_of_order", SOON_SECONDS
    )


def _same_place(event: dict[str, Any]) -> str:
    """Relative, so that clients keep their credentials, and nobody is sent to another host. Load balancers pass query values as they came: encoded."""
    query = "&".join(f"{name}={value}" for name, value in (event.get("queryStringParameters") or {}).items())
    path = "/" + urllib.parse.quote(str(event["path"]).lstrip("/"), safe="/%:@!$&'()*+,;=~")
    return f"{path}?{query}" if query else path


def _refusal(status: int, message: str, code: str, retry_seconds: int | None) -> dict[str, Any]:
    error = {"message": message, "type": "server_error", "param": None, "code": code}
    headers = {} if retry_seconds is None else {"Retry-After": str(retry_seconds)}
    return _answer(status, {"error": error}, headers)


def _answer(status: int, body: object, headers: dict[str, str] | None = None) -> dict[str, Any]:
    words = {
        200: "OK",
        307: "Temporary Redirect",
        404: "Not Found",
        503: "Service Unavailable",
    }
    return {
        "statusCode": status,
        "statusDescription": f"{status} {words[status]}",
        "isBase64Encoded": False,
        "headers": {"Content-Type": "application/json", **(headers or {})},
        "body": json.dumps(body),
    }
