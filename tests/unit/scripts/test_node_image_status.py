"""`image status`: a lock beside what EC2 still has."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scripts.node_image_status import Row, Standing

NOW = datetime(2026, 12, 1, tzinfo=UTC)
HINT = "run `neuronkit image build FILE`"
OLD = Row("1.0.0", "AVAILABLE", "ami-1", datetime(2026, 11, 1, tzinfo=UTC))
NEW = Row("1.0.1", "AVAILABLE", "ami-2", datetime(2026, 11, 2, tzinfo=UTC))
FAILED = Row("1.0.1", "FAILED", None, datetime(2026, 11, 3, tzinfo=UTC), "no room")


@pytest.mark.parametrize(
    ("rows", "locked", "words"),
    [
        ((), None, f"not built yet: {HINT}\n  lock: no image"),
        ((), "ami-1", f"no image is left: {HINT}\n  lock: ami-1, which is gone: {HINT}"),
        ((FAILED,), "ami-1", f"lock: ami-1, which is gone: {HINT}"),
        ((NEW, OLD), "ami-1", f"lock: ami-1; the recipe has changed since: {HINT}"),
        ((NEW, OLD), "ami-2", "lock: ami-2, the newest"),
    ],
)
def test_each_standing_says_what_to_do(rows: tuple[Row, ...], locked: str | None, words: str) -> None:
    assert Standing("25.11", "1.0.1", rows, locked).text(NOW).endswith(words)


def test_of_an_image_that_is_gone_nobody_says_that_its_recipe_has_changed() -> None:
    found = Standing("25.11", "1.0.1", (FAILED,), "ami-1").as_dict()
    assert (found["locked_is_gone"], found["recipe_has_changed"]) == (True, False)
