"""The answer to one question to AWS, and whose is what it lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scripts.aws.cloud import Cloud
from scripts.teardown.model import Item, JobItem, Ownership
from scripts.teardown.scope import Scope

NAMED_ONLY = "named like the environment, but not tagged with it"


@dataclass(frozen=True, slots=True)
class Found:
    loose: tuple[Item, ...] = ()
    suspects: tuple[Item, ...] = ()
    kept: tuple[Item, ...] = ()
    jobs: tuple[JobItem, ...] = ()
    buckets: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


Question = Callable[[Cloud, Scope], Found]


def sorted_out(
    scope: Scope,
    found: Iterable[tuple[str, str, str, dict[str, str]]],
    states: dict[str, str] | None = None,
) -> Found:
    """`found`: kind, id, name and tags."""
    loose: list[Item] = []
    suspects: list[Item] = []
    for kind, id_, name, tags in found:
        if scope.is_member(tags, id_, name):
            continue
        owner = scope.ownership(tags, id_, name)
        state = (states or {}).get(id_, "")
        if owner is Ownership.OURS:
            loose.append(Item(kind, id_, name, state))
        elif owner is Ownership.SUSPECT:
            suspects.append(Item(kind, id_, name, state, NAMED_ONLY))
    return Found(loose=tuple(loose), suspects=tuple(suspects))
