"""`make docs`: docs/rules.md, the list of every id that `check`, `plan`, `deploy` and `lint` can report."""

from __future__ import annotations

from pathlib import Path

from scripts.markdown_table import table
from stacks.domain.environment.format_checks import FORMAT_CHECKS
from stacks.domain.lint.checks import OWN, RULES_SHARED
from stacks.domain.rules import ALL_RULES
from stacks.domain.rules.rule import Rule

DOCUMENT = Path(__file__).parent.parent / "docs" / "rules.md"
HEAD = """# Rules

Written by `make docs` from the rules themselves: do not edit.

An entry under `suppress` in the environment file (`rule`, `reason`, and `path` where it shall hold for one place only) accepts a warning, and
an error that the list calls suppressible: an error of judgement. What AWS or the runtime would refuse all the same cannot be accepted.
Without the facts that a rule needs, `check` says "not checked"; `--live` asks AWS. A source without a date is a page or an API of AWS as it
stood on 2026-11-30 at the latest.
"""


def rules_document() -> str:
    return "\n".join(
        (
            HEAD,
            "## Rules of environment files\n",
            table(
                ("id", "severity", "title", "why", "needs", "can be suppressed", "source"),
                (_rule_row(rule) for rule in ALL_RULES),
            ),
            "\n## Text and shape of files\n",
            "Errors of every input that the kit reads, NK014 apart; none can be suppressed.\n",
            table(("id", "title", "why"), ((c.id, c.title, c.why) for c in FORMAT_CHECKS)),
            "\n## `neuronkit lint`\n",
            f"Besides these, lint reports by the ids above what is the same fault: {', '.join(RULES_SHARED)}.\n",
            table(
                ("id", "severity", "title", "why", "source"),
                ((c.id, c.severity.value, c.title, c.why, c.source) for c in OWN if c.id >= "NK4"),
            ),
            "",
        )
    )


def _rule_row(rule: Rule) -> tuple[str, ...]:
    needs = (
        "AWS's answers"
        if rule.needs
        else "the file, and a source on its values"
        if rule.unknown
        else "the file"
    )
    return (
        rule.id,
        rule.severity.value,
        rule.title,
        rule.why,
        needs,
        "yes" if rule.can_be_suppressed else "no",
        rule.source,
    )


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(rules_document(), encoding="utf-8")
