"""All rules over an environment, and running them. A rule is added to its family's RULES; ids are never reused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stacks.domain.catalog import Catalog
from stacks.domain.cost import Basis, Cost, estimate
from stacks.domain.environment import Loaded
from stacks.domain.findings import Finding, NotChecked, has_errors
from stacks.domain.live import LiveFacts
from stacks.domain.plan import Plan, make_plan
from stacks.domain.rules import (
    capacity,
    engine_arguments,
    engine_memory,
    engines,
    fleet_engines,
    fleet_fallbacks,
    fleet_listeners,
    fleet_software,
    fleet_times,
    fleets,
    instances,
    job_times,
    limits,
    literal_words,
    live_account,
    live_acls,
    live_balancers,
    live_functions,
    live_groups,
    live_images,
    live_network,
    live_offerings,
    live_quotas,
    live_reservations,
    live_types,
    live_ways_out,
    model_fit,
    model_topology,
    money,
    names_and_tags,
    network,
    node_images,
    secrets,
    shift_windows,
    shifts,
    slurm,
    slurm_capacity,
    slurm_images,
    slurm_settings,
    slurm_versions,
    software_fit,
    storage,
    suppressions,
    topology,
    ultraservers,
)
from stacks.domain.rules.rule import Facts, Rule
from stacks.domain.selection import select

LIVE_RULES: tuple[Rule, ...] = (
    *live_offerings.RULES,
    *live_types.RULES,
    *live_quotas.RULES,
    *live_reservations.RULES,
    *live_images.RULES,
    *live_account.RULES,
    *live_functions.RULES,
    *live_network.RULES,
    *live_ways_out.RULES,
    *live_groups.RULES,
    *live_balancers.RULES,
    *live_acls.RULES,
    *slurm_versions.LIVE_RULES,
    *node_images.LIVE_RULES,
)
"""What only AWS can answer: each has `needs`."""

PLAN_RULES: tuple[Rule, ...] = (*money.RULES, *limits.RULES, *fleets.PLAN_RULES)
"""They look at the plan, which a file with errors does not have."""

_FILE_RULES: tuple[Rule, ...] = (
    *instances.RULES,
    *capacity.RULES,
    *network.RULES,
    *topology.RULES,
    *model_topology.RULES,
    *software_fit.RULES,
    *secrets.RULES,
    *literal_words.RULES,
    *names_and_tags.RULES,
    *model_fit.RULES,
    *job_times.RULES,
    *storage.RULES,
    *ultraservers.RULES,
    *fleets.RULES,
    *fleet_software.RULES,
    *fleet_times.RULES,
    *fleet_listeners.RULES,
    *fleet_fallbacks.RULES,
    *fleet_engines.RULES,
    *engines.RULES,
    *engine_arguments.RULES,
    *engine_memory.RULES,
    *shifts.RULES,
    *shift_windows.RULES,
    *slurm.RULES,
    *slurm_versions.RULES,
    *node_images.RULES,
    *slurm_images.RULES,
    *slurm_capacity.RULES,
    *slurm_settings.RULES,
)
_SUPPRESSION_RULES = suppressions.rules_about((*_FILE_RULES, *PLAN_RULES, *LIVE_RULES))
ALL_RULES: tuple[Rule, ...] = tuple(
    sorted((*_FILE_RULES, *PLAN_RULES, *_SUPPRESSION_RULES, *LIVE_RULES), key=lambda rule: rule.id)
)
_BY_ID = {rule.id: rule for rule in ALL_RULES}


def run_rules(loaded: Loaded, catalog: Catalog, basis: Basis | None = None) -> tuple[Finding, ...]:
    """Every finding of every rule, in the order of the file, accepted ones too; `basis` is of the cost."""
    environment = loaded.environment
    facts = Facts(environment, catalog, select(environment, catalog), loaded.path.parent)
    found = _found(_FILE_RULES, facts, loaded)
    if not has_errors(found):
        plan = make_plan(environment, None, catalog)
        facts = replace(facts, plan=plan, cost=estimate(plan, catalog, basis))
        found += _found(PLAN_RULES, facts, loaded)
    about_suppressions = _found(_SUPPRESSION_RULES, replace(facts, raised=found), loaded)
    return in_file_order((*found, *about_suppressions))


def _found(rules: Iterable[Rule], facts: Facts, loaded: Loaded) -> tuple[Finding, ...]:
    """What the file accepts carries its reason."""
    found = (f for rule in rules for f in rule.findings(facts, loaded.source))
    return suppressions.accept(found, loaded.environment, _BY_ID)


def with_cost_judged(
    findings: Iterable[Finding], loaded: Loaded, plan: Plan, catalog: Catalog, cost: Cost
) -> tuple[Finding, ...]:
    """The findings with those about money made anew: better prices are known now."""
    environment = loaded.environment
    about_money = {rule.id for rule in money.RULES}
    facts = Facts(
        environment, catalog, select(environment, catalog), loaded.path.parent, plan=plan, cost=cost
    )
    judged = _found(money.RULES, facts, loaded)
    return in_file_order((*(f for f in findings if f.id not in about_money), *judged))


def run_live_rules(loaded: Loaded, plan: Plan, catalog: Catalog, live: LiveFacts) -> tuple[Finding, ...]:
    """What AWS's answers say against a plan of a file without errors."""
    facts = _live_facts(loaded, plan, catalog, live)
    return in_file_order(_found(LIVE_RULES, facts, loaded))


def not_checked(
    loaded: Loaded, plan: Plan | None, catalog: Catalog, live: LiveFacts
) -> tuple[NotChecked, ...]:
    """The rules that lack an answer of AWS. `plan` is None while the file has errors."""
    if plan is None:
        return tuple(NotChecked(rule.id, "the file has errors: mend them first") for rule in LIVE_RULES)
    facts = _live_facts(loaded, plan, catalog, live)
    return tuple(missing for rule in ALL_RULES for missing in rule.not_checked(facts))


def _live_facts(loaded: Loaded, plan: Plan, catalog: Catalog, live: LiveFacts) -> Facts:
    environment = loaded.environment
    return Facts(environment, catalog, select(environment, catalog), loaded.path.parent, plan=plan, live=live)


def in_file_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line or 0, f.column or 0, f.id)))
