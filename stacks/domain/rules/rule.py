"""What a rule is: an id, why it exists, where the fact comes from, and a function that yields problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from stacks.domain.catalog import Catalog, InstanceType, UltraServer
from stacks.domain.cost import Cost
from stacks.domain.environment import Environment, Path, Source, format_path
from stacks.domain.findings import Finding, NotChecked, Severity
from stacks.domain.live import CouldNotAsk, LiveFacts
from stacks.domain.plan import Plan
from stacks.domain.selection import Selection
from stacks.domain.unlisted_types import projected_chip, ultraserver_of, with_named_types


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
    raised: tuple[Finding, ...] = ()
    """What the other rules found: for the rules about suppressions, which run last."""

    def instance_type(self, cluster: str) -> InstanceType | None:
        """Also one that only the file names. None where it names no type of the catalog; another rule says so."""
        found = self.environment.clusters.get(cluster)
        catalog = with_named_types(self.environment, self.catalog)
        return catalog.get(found.instance_type) if found else None

    def ultraserver(self, cluster: str) -> UltraServer | None:
        """What the cluster's nodes are members of, where they are."""
        instance_type = self.instance_type(cluster)
        if instance_type is None:
            return None
        return ultraserver_of(instance_type, self.environment.clusters[cluster].shape, self.catalog)

    def is_projected(self, cluster: str) -> bool:
        """Its chip is only announced: there is no instance type to know anything of."""
        found = self.environment.clusters.get(cluster)
        return found is not None and projected_chip(found, self.catalog) is not None

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
    can_be_forced: bool = False
    """An error of judgement, which `suppress` may accept; what AWS or the runtime refuses anyway is not one."""
    unknown: Callable[[Facts], Iterator[str]] | None = None
    """Of what the file says, that on which no source speaks: never to be read as "fine"."""

    @property
    def can_be_suppressed(self) -> bool:
        return self.can_be_forced or self.severity is not Severity.ERROR

    def not_checked(self, facts: Facts) -> Iterator[NotChecked]:
        missing = self.needs.missing(facts) if self.needs is not None else ()
        unknown = self.unknown(facts) if self.unknown is not None else ()
        for why in dict.fromkeys((*missing, *unknown)):
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
