"""From a file on disk to a plan: the one way in for every verb."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Cost, estimate
from stacks.domain.environment import Loaded, Source, read, read_source, well_shaped_part
from stacks.domain.findings import Finding, FindingsError, NotChecked, Severity, has_errors
from stacks.domain.lock import Lock, lock_path, read_lock
from stacks.domain.plan import Plan, make_plan
from stacks.domain.rules import in_file_order, not_checked, run_rules


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that has the right shape, with what the rules found in it."""

    loaded: Loaded
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """An environment without errors, worked out. `findings` are warnings."""

    loaded: Loaded
    findings: tuple[Finding, ...]
    lock: Lock | None
    plan: Plan

    @property
    def path(self) -> Path:
        return self.loaded.path

    @property
    def cost(self) -> Cost:
        return estimate(self.plan, load_catalog())


def check(file: Path) -> Checked:
    """Raises FindingsError, with everything that can be found at once, when the file has not the right shape."""
    source = read_source(file)
    try:
        loaded = Loaded(read(source), source, file)
    except FindingsError as error:
        raise FindingsError(in_file_order((*error.findings, *_errors_in_the_rest(source, file)))) from None
    return Checked(loaded, run_rules(loaded, load_catalog()), not_checked(loaded))


def _errors_in_the_rest(source: Source, file: Path) -> list[Finding]:
    rest = well_shaped_part(source)
    if rest is None:
        return []
    found = run_rules(Loaded(rest, source, file), load_catalog())
    return [finding for finding in found if finding.severity is Severity.ERROR]


def load_plan(file: Path, *, local: bool = False) -> LoadedPlan:
    """Raises FindingsError with every finding when there is an error among them."""
    checked = check(file)
    if has_errors(checked.findings):
        raise FindingsError(checked.findings)
    lock = read_lock(lock_path(file, local=local))
    plan = make_plan(checked.loaded.environment, lock, load_catalog())
    return LoadedPlan(checked.loaded, checked.findings, lock, plan)
