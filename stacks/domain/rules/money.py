"""Budget against cost."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.cost import HOURS_PER_DAY, estimate
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule

SOURCE = "`neuronkit plan`: bundled, dated prices"


def budget_covers_lifetime(facts: Facts) -> Iterator[Problem]:
    if facts.plan is None:
        return
    cost, budget = estimate(facts.plan, facts.catalog), facts.environment.budget_usd
    known_usd = cost.known_usd_per_hour * cost.lifetime_hours
    if known_usd > budget:
        running_usd_per_hour = cost.known_usd_per_hour - cost.idle_usd_per_hour
        left_usd = max(budget - cost.idle_usd_per_hour * cost.lifetime_hours, 0)
        hours = left_usd / running_usd_per_hour if running_usd_per_hour else 0.0
        yield Problem(
            ("budget_usd",),
            f"{budget:g}",
            message=f"all nodes for the whole lifetime ({facts.environment.lifetime_days} d) cost ${known_usd:,.0f}; "
            f"the budget pays {hours:,.1f} hours of every node running, besides what is paid between jobs",
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
    Rule("NK271", Severity.ERROR, "budget below the idle cost", "it is exceeded without one job", SOURCE, idle_cost_is_covered),
    Rule("NK272", Severity.WARNING, "job longer than the lifetime", "a job that hangs is paid until its limit", "`neuronkit schema`", jobs_end_in_the_lifetime),
)  # fmt: skip
