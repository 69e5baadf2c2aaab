"""Whether a failed attempt is followed by another: `retryStrategy` with `evaluateOnExit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def another_attempt(
    strategy: Mapping[str, Any],
    attempt: int,
    exit_code: int | None,
    reason: str | None,
    status_reason: str | None,
) -> bool:
    """The first condition whose given patterns all match decides; no match means a retry (AWS Batch API reference)."""
    if attempt >= int(strategy.get("attempts") or 1):
        return False
    for condition in strategy.get("evaluateOnExit") or ():
        observed = {
            "onExitCode": "" if exit_code is None else str(exit_code),
            "onReason": reason or "",
            "onStatusReason": status_reason or "",
        }
        patterns = {name: pattern for name, pattern in condition.items() if name in observed and pattern}
        if all(_matches(observed[name], pattern) for name, pattern in patterns.items()):
            return str(condition["action"]).upper() == "RETRY"
    return True


def _matches(text: str, pattern: str) -> bool:
    """Only a `*` at the end is special."""
    if pattern.endswith("*"):
        return text.startswith(pattern[:-1])
    return text == pattern
