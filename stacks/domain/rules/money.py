"""Budget against cost."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.cost import HOURS_PER_DAY, STALE_AFTER_DAYS, Cost
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule

SOURCE = "`neuronkit plan`: bundled, dated prices"


def budget_covers_lifetime(facts: Facts) -> Iterator[Problem]:
    if facts.cost is None:
        return
    cost, budget = facts.cost, facts.environment.budget_usd
    if cost.known_usd_lifetime > budget:
        left_usd = max(budget - cost.known_usd_committed, 0)
        hours = left_usd / cost.running_usd_per_hour if cost.running_usd_per_hour else 0.0
        yield Problem(
            ("budget_usd",),
            f"{budget:g}",
            message=f"all nodes for the whole lifetime ({facts.environment.lifetime_days} d) cost "
            f"${cost.known_usd_lifetime:,.0f}{_besides(cost)}; the budget pays {hours:,.1f} hours of every node running, "
            "besides what is paid up front and between jobs",
            fix="run jobs for less than that, or change lifetime, nodes or budget",
        )


def budget_can_be_compared(facts: Facts) -> Iterator[Problem]:
    if facts.cost is None or not facts.cost.unknown_prices:
        return
    cost, budget = facts.cost, facts.environment.budget_usd
    if cost.known_usd_lifetime <= budget:
        yield Problem(
            ("budget_usd",),
            f"{budget:g}",
            message=f"whether it pays the lifetime is not known: no price of {', '.join(cost.unknown_prices)}; what is "
            f"known is at most ${cost.known_usd_lifetime:,.2f}",
            fix="`neuronkit plan --live` asks AWS; --price-file takes your own dated prices",
        )


def committed_cost_is_covered(facts: Facts) -> Iterator[Problem]:
    if facts.cost is None:
        return
    cost, budget = facts.cost, facts.environment.budget_usd
    if cost.known_usd_committed > budget:
        yield Problem(
            ("budget_usd",),
            f"{budget:g}",
            message=f"${cost.known_usd_committed:,.2f} are paid over the lifetime even when no node runs",
            fix="raise the budget or shorten the lifetime",
        )


def prices_are_recent(facts: Facts) -> Iterator[Problem]:
    if facts.cost is not None and facts.cost.stale:
        old = ", ".join(f"{line.what} ({line.as_of})" for line in facts.cost.stale)
        yield Problem(
            ("region",),
            facts.environment.region,
            message=f"prices older than {STALE_AFTER_DAYS} days on {facts.cost.as_of}: {old}",
            fix="`neuronkit plan --live` asks AWS; --price-file takes your own dated prices",
        )


def _besides(cost: Cost) -> str:
    return (
        f", without {', '.join(cost.unknown_prices)}, whose price is not known" if cost.unknown_prices else ""
    )


def jobs_end_in_the_lifetime(facts: Facts) -> Iterator[Problem]:
    if facts.plan is None:
        return
    lifetime_minutes = facts.environment.lifetime_days * HOURS_PER_DAY * 60
    for name, job in facts.environment.jobs.items():
        longest_minutes = job.time_limit_minutes * job.attempts
        if longest_minutes > lifetime_minutes:
            yield Problem(
                ("jobs", name, "time_limit_minutes"),
                str(job.time_limit_minutes),
                f"at most {lifetime_minutes // job.attempts:,}",
                f"{job.attempts} x {job.time_limit_minutes:,} minutes are more than the lifetime of "
                f"{facts.environment.lifetime_days} d ({lifetime_minutes:,} minutes)",
                "shorten the limit, or lengthen lifetime_days",
            )


RULES = (
    Rule("NK270", Severity.WARNING, "budget below the most it can cost", "a budget that is a surprise is no budget", SOURCE, budget_covers_lifetime),
    Rule("NK271", Severity.ERROR, "budget below the idle cost", "it is exceeded without one job", SOURCE, committed_cost_is_covered, can_be_forced=True),
    Rule("NK272", Severity.WARNING, "job longer than the lifetime", "a job that hangs is paid until its limit", "`neuronkit schema`", jobs_end_in_the_lifetime),
    Rule("NK273", Severity.INFO, "old price", "prices change; an old one is a hint", SOURCE, prices_are_recent),
    Rule("NK274", Severity.INFO, "budget that cannot be compared", "an unknown price is not a price of 0", SOURCE, budget_can_be_compared),
)  # fmt: skip
