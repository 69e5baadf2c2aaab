"""What a rule is: an id, why it exists, where the fact comes from, and a function that yields problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from stacks.domain.catalog import Catalog, InstanceType
from stacks.domain.cost import Cost
from stacks.domain.environment import Environment, Path, Source, format_path
from stacks.domain.findings import Finding, NotChecked, Severity
from stacks.domain.live import CouldNotAsk, LiveFacts
from stacks.domain.plan import Plan
from stacks.domain.selection import Selection


@dataclass(frozen=True, slots=True)
class Problem:
    """`path` is where the user has to change something; `at_key` points to the key, not to its value."""

    path: Path
    given: str = ""
    allowed: str = ""
    message: str = ""
    fix: str = ""
    at_key: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a rule may look at."""

    environment: Environment
    catalog: Catalog
    selection: Selection
    directory: FilePath
    """Of the environment file: relative source directories start there."""
    plan: Plan | None = None
    """None while the environment has errors."""
    cost: Cost | None = None
    """Of `plan`."""
    live: LiveFacts = field(default_factory=LiveFacts)
    """Without answers where AWS was not asked."""

    def instance_type(self, cluster: str) -> InstanceType | None:
        """None where the file names no type of the catalog; another rule says so."""
        found = self.environment.clusters.get(cluster)
        return self.catalog.get(found.instance_type) if found else None

    def capacity_kind(self, cluster: str) -> str | None:
        capacity = self.environment.capacity.get(self.environment.clusters[cluster].capacity)
        return capacity.kind if capacity else None


Check = Callable[[Facts], Iterator[Problem]]


@dataclass(frozen=True, slots=True)
class Need:
    """The answers of AWS that a rule needs. None of them: the file gives nothing to ask about."""

    what: str
    answers: Callable[[Facts], Iterator[object]]

    def missing(self, facts: Facts) -> Iterator[str]:
        """Why, for each answer that is not there."""
        for answer in self.answers(facts):
            if isinstance(answer, CouldNotAsk):
                yield f"{self.what}: {answer.why}"


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    severity: Severity
    title: str
    why: str
    source: str
    check: Check
    needs: Need | None = None
    """None: the file and the bundled data are enough. Else `check` passes over what was not answered."""

    def not_checked(self, facts: Facts) -> Iterator[NotChecked]:
        if self.needs is not None:
            for why in dict.fromkeys(self.needs.missing(facts)):
                yield NotChecked(self.id, why)

    def findings(self, facts: Facts, source: Source) -> Iterator[Finding]:
        for problem in self.check(facts):
            yield self._finding(problem, source)

    def _finding(self, problem: Problem, source: Source) -> Finding:
        position = source.key_position(problem.path) if problem.at_key else source.position(problem.path)
        return Finding(
            id=self.id,
            severity=self.severity,
            file=source.file,
            line=position.line if position else None,
            column=position.column if position else None,
            path=format_path(problem.path),
            given=problem.given,
            allowed=f"allowed: {problem.allowed}" if problem.allowed else "",
            message=problem.message or self.title,
            fix=problem.fix,
            source=self.source,
        )
