"""Lambda's limit of executions at the same time: each controller that runs one at a time reserves one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stacks.domain.findings import Severity
from stacks.domain.live import CouldNotAsk, known
from stacks.domain.plan import Plan
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

SOURCE = (
    "botocore 1.44.8 lambda, PutFunctionConcurrency and GetAccountSettings; aws-samples/one-observability-demo issue 278; "
    "quota code: NHSDigital/national-document-repository-infrastructure infrastructure/service-quota.tf"
)
UNRESERVED_LEAST = 100
DEFAULT_LIMIT = 1_000
"""Lambda developer guide, quotas: of an account that is not new."""
QUOTA_CODE = "L-B99A9384"


@dataclass(frozen=True, slots=True)
class Controller:
    """A function with a reserved concurrency of 1."""

    path: tuple[str, ...]
    stack: str
    logical_id: str


def controllers(plan: Plan) -> tuple[Controller, ...]:
    fallbacks = [fleet.name for fleet in plan.fleets if fleet.fallback is not None]
    return (
        *(
            Controller(("fleets", n, "fallback"), plan.stacks.of_fleet(n), "FallbackFunction")
            for n in fallbacks
        ),
        *(Controller(("shifts", s.name), plan.stacks.of_shift(s.name), "ShiftFunction") for s in plan.shifts),
    )


def reservations_fit(facts: Facts) -> Iterator[Problem]:
    concurrency = facts.live.lambda_concurrency
    new = _not_deployed(facts)
    if not new or isinstance(concurrency, CouldNotAsk):
        return
    short_by = UNRESERVED_LEAST + len(new) - concurrency.unreserved
    if short_by <= 0:
        return
    names = " and ".join(".".join(one.path) for one in new)
    yield Problem(
        new[0].path,
        f"{len(new)} {'function' if len(new) == 1 else 'functions'} with a reserved concurrency of 1 ({names})",
        message=f"short by {short_by:,}: Lambda allows {concurrency.limit:,} executions at the same time here, "
        f"{concurrency.unreserved:,} of them are not reserved, and {UNRESERVED_LEAST} must stay so",
        fix=_how_to_ask(facts, concurrency.limit + short_by),
    )


def _not_deployed(facts: Facts) -> tuple[Controller, ...]:
    """Of a controller that is there, Lambda has subtracted its reservation."""
    live = facts.live
    found = controllers(facts.plan) if facts.plan else ()
    return tuple(one for one in found if not known(live.of(live.controllers, one.stack), True))


def _how_to_ask(facts: Facts, least: int) -> str:
    region, wanted = facts.environment.region, max(least, DEFAULT_LIMIT)
    return (
        f"ask for {least:,} or more (AWS's default is {DEFAULT_LIMIT:,}, which new accounts do not have; it can take days): "
        f"`aws service-quotas request-service-quota-increase --region {region} --service-code lambda "
        f"--quota-code {QUOTA_CODE} --desired-value {wanted}`, or in the Service Quotas console"
    )


def _answers(facts: Facts) -> Iterator[object]:
    for one in controllers(facts.plan) if facts.plan else ():
        yield facts.live.lambda_concurrency
        yield facts.live.of(facts.live.controllers, one.stack)


CONCURRENCY = Need("Lambda's limit of executions at the same time, and what is reserved of it", _answers)

RULES = (
    Rule("NK792", Severity.ERROR, "no room for functions that run one at a time", "Lambda refuses them when other resources were made already; a new account's limit is 10", SOURCE, reservations_fit, CONCURRENCY),
)  # fmt: skip
