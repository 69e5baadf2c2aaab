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
    _findings: dict[Finding, None] = field(default_factory=dict)
    _not_checked: dict[NotChecked, None] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """In the order of the file."""
        return tuple(sorted(self._findings, key=lambda f: (f.line or 0, f.column or 0, f.id)))

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        return tuple(self._not_checked)

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
        self.keep(self.finding(id_, place, given=given, allowed=allowed, message=message, fix=fix))

    def keep(self, finding: Finding) -> None:
        """Once, however often it is found."""
        self._findings.setdefault(finding)

    def forget(self) -> None:
        """The file turned out to concern nobody here."""
        self._findings.clear()

    def skip(self, id_: str, place: Place, why: str) -> None:
        """A check that what the file says does not decide."""
        where = ":".join(str(part) for part in (self.file, place.line) if part is not None)
        self._not_checked.setdefault(NotChecked(id_, f"{where} {place.path}".rstrip() + f": {why}"))
