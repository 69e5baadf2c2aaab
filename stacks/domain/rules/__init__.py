"""All rules over an environment, and running them. A rule is added to its family's RULES; ids are never reused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stacks.domain.catalog import Catalog
from stacks.domain.environment import Loaded
from stacks.domain.findings import Finding, NotChecked, has_errors
from stacks.domain.plan import make_plan
from stacks.domain.rules import (
    capacity,
    instances,
    money,
    names_and_tags,
    network,
    secrets,
    software_fit,
    topology,
)
from stacks.domain.rules.rule import Facts, Rule
from stacks.domain.selection import select

ALL_RULES: tuple[Rule, ...] = (
    *instances.RULES,
    *capacity.RULES,
    *network.RULES,
    *topology.RULES,
    *software_fit.RULES,
    *secrets.RULES,
    *names_and_tags.RULES,
    *money.RULES,
)

# What only AWS can answer. Until `check` can ask (live facts), it says that it did not.
LIVE_CHECKS = (
    (
        "NK901",
        "quotas in vCPUs: the account was not asked; ask Service Quotas for the codes that `plan` lists",
    ),
    ("NK902", "zone offerings today: the catalog's capture was read, not EC2"),
    ("NK903", "the reservation's or block's type, zone, size, state and dates: EC2 was not asked"),
)


def run_rules(loaded: Loaded, catalog: Catalog) -> tuple[Finding, ...]:
    """Every finding of every rule, in the order of the file."""
    environment = loaded.environment
    facts = Facts(environment, catalog, select(environment, catalog), loaded.path.parent)
    findings = [f for rule in ALL_RULES for f in rule.findings(facts, loaded.source)]
    if not has_errors(findings):
        facts = replace(facts, plan=make_plan(environment, None, catalog))
        findings += [f for rule in money.RULES for f in rule.findings(facts, loaded.source)]
    return in_file_order(findings)


def not_checked(loaded: Loaded) -> tuple[NotChecked, ...]:
    bought = any(capacity.id for capacity in loaded.environment.capacity.values())
    return tuple(NotChecked(id_, why) for id_, why in LIVE_CHECKS if id_ != "NK903" or bought)


def in_file_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line or 0, f.column or 0, f.id)))
