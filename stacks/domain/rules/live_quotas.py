"""EC2's vCPU quotas over the whole plan, less what the account runs already."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.findings import Severity
from stacks.domain.live import CouldNotAsk
from stacks.domain.quotas import (
    NOT_CHECKED,
    QUOTA_SOURCE,
    SHORT,
    QuotaState,
    charged,
    fleet_charged,
    quota_code,
    quota_states,
)
from stacks.domain.rules.rule import Facts, Need, Problem, Rule
from stacks.domain.slurm import login_vcpus


def quotas_suffice(facts: Facts) -> Iterator[Problem]:
    for state in _states(facts):
        if state.state != SHORT:
            continue
        clusters, fleets = _clusters_of(facts, state.code), _fleets_of(facts, state.code)
        limit, used = state.limit_vcpus or 0, state.used_vcpus
        in_use = "what others use could not be asked" if used is None else f"others use {used:,}"
        of_login_nodes = state.code not in facts.catalog.quotas
        key = ("slurm", "login_instance_type") if of_login_nodes else ("nodes",)
        names = [*clusters, *(f"fleet {name}" for name in fleets)]
        yield Problem(
            ("clusters", clusters[0], *key) if clusters else ("fleets", fleets[0], "replicas"),
            f"{state.needed_vcpus:,} vCPUs for {' and '.join(names)}",
            message=f"short by {state.short_by:,} vCPUs: {state.code} ({state.name}) allows {limit:,}, {in_use}",
            fix=_how_to_ask(facts, state.code, state.needed_vcpus + (used or 0)),
        )


def _how_to_ask(facts: Facts, code: str, vcpus: int) -> str:
    region = facts.environment.region
    return (
        f"ask for {vcpus:,} (it can take days): `aws service-quotas request-service-quota-increase --region {region} "
        f"--service-code ec2 --quota-code {code} --desired-value {vcpus}`, or in the Service Quotas console"
    )


def _states(facts: Facts) -> tuple[QuotaState, ...]:
    if facts.plan is None:
        return ()
    return quota_states(facts.plan, facts.catalog, facts.live)


def _clusters_of(facts: Facts, code: str) -> list[str]:
    assert facts.plan is not None, "a state is of a plan"
    return [c.name for c in facts.plan.clusters if code in charged(c, facts.catalog)]


def _fleets_of(facts: Facts, code: str) -> list[str]:
    assert facts.plan is not None, "a state is of a plan"
    return [f.name for f in facts.plan.fleets if code in fleet_charged(f, facts.catalog)]


def _answers(facts: Facts) -> Iterator[object]:
    yield from (CouldNotAsk(f"{s.code}: {s.why}") for s in _states(facts) if s.state == NOT_CHECKED)
    for cluster in facts.plan.clusters if facts.plan else ():
        if cluster.capacity.kind == "on-demand" and quota_code(cluster, facts.catalog) is None:
            yield CouldNotAsk(f"no source says which quota counts {cluster.instance_type}")
        login = cluster.slurm.login_instance_type if cluster.slurm else None
        if login is not None and login_vcpus(login) is None:
            yield CouldNotAsk(f"no source says which quota counts {login}, and how many vCPUs it has")


QUOTAS = Need("quotas in vCPUs and their present use", _answers)

RULES = (
    Rule("NK310", Severity.ERROR, "quota too small", "nodes are refused with VcpuLimitExceeded; a new account's limit is 0", QUOTA_SOURCE, quotas_suffice, QUOTAS),
)  # fmt: skip
