"""Collecting what a file gets: findings, and checks that could not be made."""

from __future__ import annotations

from dataclasses import dataclass, field

from stacks.domain.findings import Finding, NotChecked
from stacks.domain.lint.checks import CHECKS


@dataclass(frozen=True, slots=True)
class Place:
    """Both start at 1; `path` is empty in a script."""

    line: int | None = None
    column: int | None = None
    path: str = ""


NOWHERE = Place()


@dataclass(slots=True)
class Report:
    """Of one file."""

    file: str
    findings: list[Finding] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)

    def finding(
        self,
        id_: str,
        place: Place = NOWHERE,
        *,
        given: str = "",
        allowed: str = "",
        message: str = "",
        fix: str = "",
    ) -> Finding:
        check = CHECKS[id_]
        return Finding(
            id_,
            check.severity,
            self.file,
            place.line,
            place.column,
            place.path,
            given,
            f"allowed: {allowed}" if allowed else "",
            message or check.title,
            fix,
            check.source,
        )

    def add(
        self, id_: str, place: Place, *, given: str = "", allowed: str = "", message: str = "", fix: str = ""
    ) -> None:
        found = self.finding(id_, place, given=given, allowed=allowed, message=message, fix=fix)
        if found not in self.findings:
            self.findings.append(found)

    def skip(self, id_: str, place: Place, why: str) -> None:
        """A check that what the file says does not decide."""
        where = ":".join(str(part) for part in (self.file, place.line) if part is not None)
        note = NotChecked(id_, f"{where} {place.path}".rstrip() + f": {why}")
        if note not in self.not_checked:
            self.not_checked.append(note)
