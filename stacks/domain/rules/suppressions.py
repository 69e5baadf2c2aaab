"""What a file accepts: findings that somebody has looked at, each with a reason. Warnings, and errors of judgement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from stacks.domain.environment import Environment
from stacks.domain.environment.model import Suppression
from stacks.domain.findings import Finding, Severity, has_errors
from stacks.domain.rules.rule import Facts, Problem, Rule

SOURCE = "`neuronkit schema`; docs/rules.md"
NOT_FROM_HERE = ("NK0", "NK1", "NK296", "NK297", "NK298")
"""Text, shape and the suppressions themselves."""


def accept(
    findings: Iterable[Finding], environment: Environment, rules: Mapping[str, Rule]
) -> tuple[Finding, ...]:
    """The same findings; those that the file accepts carry its reason."""
    return tuple(_accepted(finding, environment.suppress, rules) for finding in findings)


def _accepted(finding: Finding, suppressions: tuple[Suppression, ...], rules: Mapping[str, Rule]) -> Finding:
    rule = rules.get(finding.id)
    if rule is None or not rule.can_be_suppressed:
        return finding
    reason = next((s.reason for s in suppressions if covers(s, finding)), "")
    return replace(finding, accepted_because=reason) if reason else finding


def covers(suppression: Suppression, finding: Finding) -> bool:
    """Its rule, and its path or one below it."""
    if suppression.rule != finding.id:
        return False
    at = suppression.path
    return at is None or finding.path == at or finding.path.startswith((f"{at}.", f"{at}["))


Rules = Mapping[str, Rule]


def rules_about(others: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """They run last, over what the `others` found (`Facts.raised`)."""
    rules = {rule.id: rule for rule in others}
    known, possible, used = (
        partial(check, rules) for check in (_rule_is_known, _rule_can_be_suppressed, _suppression_is_used)
    )
    return (
        Rule("NK296", Severity.ERROR, "suppression of an unknown rule", "a typo would accept nothing, silently", SOURCE, known),
        Rule("NK297", Severity.ERROR, "suppression of what cannot be accepted", "AWS or the runtime would refuse it all the same", SOURCE, possible),
        Rule("NK298", Severity.WARNING, "suppression that accepts nothing", "it would hide the next finding of its kind", SOURCE, used),
    )  # fmt: skip


def _rule_is_known(rules: Rules, facts: Facts) -> Iterator[Problem]:
    for index, suppression in enumerate(facts.environment.suppress):
        if suppression.rule not in rules and not suppression.rule.startswith(NOT_FROM_HERE):
            near = min(rules, key=lambda id_: abs(_number(id_) - _number(suppression.rule)))
            yield Problem(
                ("suppress", index, "rule"),
                suppression.rule,
                "an id of docs/rules.md",
                "no rule of environment files has this id",
                f"did you mean {near} ({rules[near].title})?",
            )


def _number(rule_id: str) -> int:
    return int(rule_id.removeprefix("NK"))


def _rule_can_be_suppressed(rules: Rules, facts: Facts) -> Iterator[Problem]:
    for index, suppression in enumerate(facts.environment.suppress):
        rule = rules.get(suppression.rule)
        if suppression.rule.startswith(NOT_FROM_HERE):
            why = "text, shape and lock have to be right, and suppressions accept no suppressions"
        elif rule is not None and not rule.can_be_suppressed:
            why = f"{rule.title}: {rule.why}; accepting it would not make it work"
        else:
            continue
        yield Problem(
            ("suppress", index, "rule"),
            suppression.rule,
            "a warning, or an error that docs/rules.md says can be suppressed",
            why,
            "mend what it finds, and remove the entry",
        )


def _suppression_is_used(rules: Rules, facts: Facts) -> Iterator[Problem]:
    """Not while there are errors, because not every rule has run then; nor of rules that wait for AWS's answers."""
    if has_errors(facts.raised):
        return
    for index, suppression in enumerate(facts.environment.suppress):
        rule = rules.get(suppression.rule)
        if rule is None or not rule.can_be_suppressed or any(rule.not_checked(facts)):
            continue
        if not any(covers(suppression, finding) for finding in facts.raised):
            yield Problem(
                ("suppress", index),
                suppression.rule + (f" at {suppression.path}" if suppression.path else ""),
                message="nothing to accept: no such finding there",
                fix="remove the entry",
            )
