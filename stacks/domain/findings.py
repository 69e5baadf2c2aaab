"""A finding: one thing that is wrong with an input, where, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from stacks.domain.errors import InputError, WorldError
from stacks.domain.secret_words import without_secrets

GIVEN_CHARACTERS_MAX = 120


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """`line` and `column` start at 1; they are None where no place in the file is to blame."""

    id: str
    severity: Severity
    file: str
    line: int | None
    column: int | None
    path: str
    given: str
    allowed: str
    message: str
    fix: str
    source: str
    accepted_because: str = ""
    """The reason of the file's `suppress` entry that accepts it: then it counts for nothing and is not shown."""

    def text(self) -> str:
        """`FILE:LINE:COLUMN PATH: given; message; allowed; fix [ID]` on one line, whatever the file holds."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        subject = f"{place} {self.path}".rstrip()
        given = f"{_shortened(self.given)} given" if self.given else ""
        parts = [part for part in (given, self.message, self.allowed, self.fix) if part]
        return printable(without_secrets(f"{subject}: {'; '.join(parts)} [{self.id}]"))

    def as_dict(self) -> dict[str, object]:
        shown = {k: v for k, v in asdict(self).items() if k != "accepted_because"}
        return {k: without_secrets(v) if isinstance(v, str) else v for k, v in shown.items()}

    def suppression_dict(self) -> dict[str, object]:
        return {"id": self.id, "path": self.path, "reason": without_secrets(self.accepted_because)}


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that could not be asked, and why: never to be read as "fine"."""

    id: str
    why: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def in_words(not_checked: Iterable[NotChecked]) -> list[str]:
    """One line for each reason, with the ids of all the rules that it stops."""
    ids: dict[str, list[str]] = {}
    for item in not_checked:
        ids.setdefault(item.why, []).append(item.id)
    return [printable(f"not checked: {why} [{' '.join(dict.fromkeys(rules))}]") for why, rules in ids.items()]


class WorldFindingsError(WorldError):
    """Stops a command because AWS says no to a file that is right; carries all findings."""

    def __init__(self, findings: Iterable[Finding], hint: str = "") -> None:
        self.findings = tuple(findings)
        errors = sum(f.severity is Severity.ERROR for f in not_accepted(self.findings))
        super().__init__(f"AWS says no: {errors} finding{'s' if errors != 1 else ''}", hint)


class FindingsError(InputError):
    """Stops a command because the input has errors; carries all findings, warnings too."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        errors = sum(f.severity is Severity.ERROR for f in not_accepted(self.findings))
        super().__init__(f"{errors} error{'s' if errors != 1 else ''} in the input")


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(f.severity is Severity.ERROR for f in not_accepted(findings))


def not_accepted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that count."""
    return tuple(f for f in findings if not f.accepted_because)


def accepted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that the file's `suppress` takes out."""
    return tuple(f for f in findings if f.accepted_because)


def closest(given: str, allowed: Iterable[str]) -> str | None:
    """The allowed word nearest to a misspelt one, or None when nothing is near."""
    matches = difflib.get_close_matches(given.lower(), list(allowed), n=1, cutoff=0.6)
    return matches[0] if matches else None


def one_of(words: Iterable[str]) -> str:
    """ "a, b or c": for the `allowed` part of a finding; "" of nothing."""
    items = list(words)
    return f"{', '.join(items[:-1])} or {items[-1]}" if len(items) > 1 else "".join(items)


def count_of(number: int, noun: str) -> str:
    """ "1 node", "2 nodes", "2 processes"."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def printable(text: str) -> str:
    """Line ends, terminal controls and what no encoding can print become escapes: one finding, one line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _shortened(text: str) -> str:
    return (
        text
        if len(text) <= GIVEN_CHARACTERS_MAX
        else f"{text[:GIVEN_CHARACTERS_MAX]}… ({len(text):,} characters)"
    )
