"""Serving fleets."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule

NOTHING_TO_MAKE = "NK700"


def something_is_made(facts: Facts) -> Iterator[Problem]:
    if not facts.environment.clusters and not facts.environment.fleets:
        yield Problem(
            ("clusters",),
            "no clusters and no fleets",
            "one entry at least under `clusters` or `fleets`",
            "there is nothing to make",
            "add one; `neuronkit init --list` names files to start from",
        )


RULES = (
    Rule(NOTHING_TO_MAKE, Severity.ERROR, "nothing to make", "an environment is training nodes, serving nodes, or both", "this kit: design", something_is_made),
)  # fmt: skip
