"""What an answer says: where tokens are, how many the server counted, whether it came to its end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from scripts.serving_bench.failures import ERROR_EVENT, GARBAGE, RequestFailedError

DONE: Final = "[DONE]"
TOKENS_MAX: Final = 10**9
"""In one answer: more is no count."""


@dataclass(frozen=True, slots=True)
class Usage:
    """As the server counts. None: it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One event of a stream."""

    has_token: bool = False
    is_finish: bool = False
    usage: Usage | None = None


def part_of(data: str) -> Part:
    """Raises RequestFailedError for what no OpenAI-compatible server sends."""
    document = document_of(data)
    if document.get("error"):
        raise RequestFailedError(ERROR_EVENT, str(document["error"]))
    choices = document.get("choices")
    if not isinstance(choices, list):
        choices = []
    finished = bool(choices) and all(_is_finished(choice) for choice in choices)
    return Part(any(_has_token(choice) for choice in choices), finished, usage_of(document))


def usage_of(document: dict[str, Any]) -> Usage | None:
    raw = document.get("usage")
    if not isinstance(raw, dict):
        return None
    return Usage(_count(raw.get("prompt_tokens")), _count(raw.get("completion_tokens")))


def document_of(text: str) -> dict[str, Any]:
    """Raises RequestFailedError for what is no JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise RequestFailedError(GARBAGE, f"not JSON: {text[:80]!r}") from None
    if not isinstance(document, dict):
        raise RequestFailedError(GARBAGE, f"no JSON object: {text[:80]!r}")
    return document


def _has_token(choice: object) -> bool:
    """A first event may only name the role, a last one only the reason of the end."""
    if not isinstance(choice, dict):
        return False
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return any(delta.get(key) for key in ("content", "reasoning_content", "reasoning", "tool_calls"))
    return bool(choice.get("text"))


def _is_finished(choice: object) -> bool:
    return isinstance(choice, dict) and choice.get("finish_reason") is not None


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= TOKENS_MAX:
        return value
    return None
