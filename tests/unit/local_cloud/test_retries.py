from __future__ import annotations

from typing import Any

import pytest

from scripts.local_cloud.batch.retries import another_attempt

EXITED = "Essential container in task exited"


@pytest.mark.parametrize(
    ("strategy", "attempt", "expected"),
    [
        ({}, 1, False),
        ({"attempts": 3}, 1, True),
        ({"attempts": 3}, 3, False),
        ({"attempts": 3, "evaluateOnExit": [{"onExitCode": "1", "action": "EXIT"}]}, 1, False),
        ({"attempts": 3, "evaluateOnExit": [{"onExitCode": "2", "action": "EXIT"}]}, 1, True),
        ({"attempts": 3, "evaluateOnExit": [{"onExitCode": "1", "action": "RETRY"}]}, 3, False),
        # All given patterns have to match, and the first condition that matches decides.
        (
            {"attempts": 3, "evaluateOnExit": [{"onExitCode": "1", "onReason": "Out*", "action": "EXIT"}]},
            1,
            True,
        ),
        (
            {
                "attempts": 3,
                "evaluateOnExit": [
                    {"onStatusReason": "Essential*", "action": "retry"},
                    {"onExitCode": "1", "action": "exit"},
                ],
            },
            1,
            True,
        ),
        # Only a star at the end is special.
        ({"attempts": 3, "evaluateOnExit": [{"onStatusReason": "*exited", "action": "EXIT"}]}, 1, True),
        ({"attempts": 3, "evaluateOnExit": [{"onReason": "*", "action": "EXIT"}]}, 1, False),
    ],
)
def test_another_attempt(strategy: dict[str, Any], attempt: int, expected: bool) -> None:
    assert another_attempt(strategy, attempt, exit_code=1, reason=None, status_reason=EXITED) is expected
