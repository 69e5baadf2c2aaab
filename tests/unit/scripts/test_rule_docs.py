"""docs/rules.md is what the rules say, and no id that the code can report is missing from it."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.rule_docs import DOCUMENT, rules_document
from stacks.domain.environment.format_checks import FORMAT_CHECKS
from stacks.domain.lint.checks import OWN
from stacks.domain.rules import ALL_RULES

ROOT = Path(__file__).parents[3]


def rows() -> dict[str, list[str]]:
    cells = [
        line.strip("| ").split(" | ") for line in rules_document().splitlines() if line.startswith("| NK")
    ]
    return {row[0]: row for row in cells}


def test_the_file_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == rules_document(), "run `make docs`"


def test_every_id_that_the_code_can_report_is_listed() -> None:
    used = {
        id_
        for directory in ("stacks", "scripts")
        for path in (ROOT / directory).rglob("*.py")
        for id_ in re.findall(r'"(NK\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert used - set(rows()) == set()


def test_every_id_stands_for_one_thing() -> None:
    own = [check.id for check in OWN if check.id >= "NK4"]
    ids = [*(rule.id for rule in ALL_RULES), *(check.id for check in FORMAT_CHECKS), *own]
    assert len(ids) == len(set(ids))


def test_a_row_says_what_a_rule_needs_and_whether_it_can_be_suppressed() -> None:
    found = rows()
    assert found["NK240"][5] == "no"  # no image: nothing to start
    assert found["NK264"][5] == "yes"  # a warning
    assert found["NK206"][5] == "yes"  # an error of judgement: a capture of offerings is as old as its date
    assert found["NK310"][4] == "AWS's answers"
    assert found["NK231"][4] == "the file"
    assert all(len(found[rule.id]) == 7 and rule.source for rule in ALL_RULES)
