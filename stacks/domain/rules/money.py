"""Budget against cost."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.cost import estimate
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule

SOURCE = "`neuronkit plan`: bundled, dated prices"


def budget_covers_lifetime(facts: Facts) -> Iterator[Problem]:
    if facts.plan is None:
        return
    cost, budget = estimate(facts.plan, facts.catalog), facts.environment.budget_usd
    known_usd = cost.known_usd_per_hour * cost.lifetime_hours
    if known_usd > budget:
        hours = budget / cost.known_usd_per_hour
        yield Problem(
            ("budget_usd",),
            f"{budget:g}",
            message=f"all nodes for all {facts.environment.lifetime_days} days cost ${known_usd:,.0f}; "
            f"the budget pays {hours:,.1f} hours of every node running",
            fix="run jobs for less than that, or change lifetime, nodes or budget",
        )


def idle_cost_is_covered(facts: Facts) -> Iterator[Problem]:
    if facts.plan is None:
        return
    cost, budget = estimate(facts.plan, facts.catalog), facts.environment.budget_usd
    idle_usd = cost.idle_usd_per_hour * cost.lifetime_hours
    if idle_usd > budget:
        yield Problem(
            ("budget_usd",),
            f"{budget:g}",
            message=f"${idle_usd:,.2f} are paid over the lifetime even when no node runs",
            fix="raise the budget or shorten the lifetime",
        )


RULES = (
    Rule("NK270", Severity.WARNING, "budget below the most it can cost", "a budget that is a surprise is no budget", SOURCE, budget_covers_lifetime),
    Rule("NK271", Severity.ERROR, "budget below the idle cost", "it is exceeded without one job", SOURCE, idle_cost_is_covered),
)  # fmt: skip
