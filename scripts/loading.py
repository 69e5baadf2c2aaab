"""From a file on disk to a plan: the one way in for every verb."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Basis, Cost, estimate
from stacks.domain.environment import Loaded, Source, read, read_source, well_shaped_part
from stacks.domain.findings import Finding, FindingsError, NotChecked, Severity, has_errors
from stacks.domain.live import LiveFacts
from stacks.domain.lock import Lock, lock_path, read_lock
from stacks.domain.plan import Plan, make_plan
from stacks.domain.rules import in_file_order, not_checked, run_live_rules, run_rules, with_cost_judged
from stacks.domain.rules.fleets import NOTHING_TO_MAKE


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that has the right shape, with what the rules found in it."""

    loaded: Loaded
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """An environment without errors, worked out. `findings` are warnings; `lock` is what FILE.lock says, used or not."""

    loaded: Loaded
    findings: tuple[Finding, ...]
    lock: Lock | None
    plan: Plan
    basis: Basis = field(default_factory=Basis)

    @property
    def path(self) -> Path:
        return self.loaded.path

    @property
    def cost(self) -> Cost:
        return estimate(self.plan, load_catalog(), self.basis)

    def with_basis(self, basis: Basis) -> LoadedPlan:
        """With better prices; the findings about money are made anew."""
        catalog = load_catalog()
        cost = estimate(self.plan, catalog, basis)
        findings = with_cost_judged(self.findings, self.loaded, self.plan, catalog, cost)
        return replace(self, basis=basis, findings=findings)


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan against live facts. An error among `findings` is the world's no."""

    live: LiveFacts
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]


def check(file: Path, basis: Basis | None = None) -> Checked:
    """Raises FindingsError, with everything that can be found at once, when the file has not the right shape."""
    source = read_source(file)
    try:
        loaded = Loaded(read(source), source, file)
    except FindingsError as error:
        raise FindingsError(in_file_order((*error.findings, *_errors_in_the_rest(source, file)))) from None
    findings = run_rules(loaded, load_catalog(), basis)
    return Checked(loaded, findings, _not_asked(loaded, findings))


def _not_asked(loaded: Loaded, findings: tuple[Finding, ...]) -> tuple[NotChecked, ...]:
    catalog = load_catalog()
    plan = None if has_errors(findings) else make_plan(loaded.environment, None, catalog)
    return not_checked(loaded, plan, catalog, LiveFacts())


def judge(loaded: LoadedPlan, live: LiveFacts) -> Judged:
    """What AWS's answers say against the plan, and what they leave open."""
    catalog = load_catalog()
    return Judged(
        live,
        run_live_rules(loaded.loaded, loaded.plan, catalog, live),
        not_checked(loaded.loaded, loaded.plan, catalog, live),
    )


def _errors_in_the_rest(source: Source, file: Path) -> list[Finding]:
    rest = well_shaped_part(source)
    if rest is None:
        return []
    found = run_rules(Loaded(rest, source, file), load_catalog())
    # What was taken out may be all that there was to make.
    return [f for f in found if f.severity is Severity.ERROR and f.id != NOTHING_TO_MAKE]


def load_plan(file: Path, *, local: bool = False, basis: Basis | None = None) -> LoadedPlan:
    """Raises FindingsError with every finding when there is an error among them. `basis` is of the cost."""
    return replace(plan_of(check(file, basis), local=local), basis=basis or Basis())


def plan_of(checked: Checked, *, local: bool) -> LoadedPlan:
    """Raises FindingsError when the file has errors."""
    if has_errors(checked.findings):
        raise FindingsError(checked.findings)
    path = lock_path(checked.loaded.path, local=local)
    lock = read_lock(path)
    unusable = _unusable(lock, str(path), checked.loaded.environment.region, local=local) if lock else ()
    plan = make_plan(checked.loaded.environment, None if unusable else lock, load_catalog())
    return LoadedPlan(checked.loaded, (*unusable, *checked.findings), lock, plan)


def _unusable(lock: Lock, file: str, region: str, *, local: bool) -> tuple[Finding, ...]:
    """Ids of elsewhere must not get into a template that only names them: without the lock, placeholders do."""
    if lock.region != region:
        given, allowed = (
            f"a lock of region {lock.region}",
            f"allowed: a lock of {region}, as the environment file says",
        )
    elif not local and lock.resolved_by != "aws":
        given, allowed = f"a lock resolved by the {lock.resolved_by}", "allowed: a lock resolved by aws"
    else:
        return ()
    fix = "run `neuronkit lock` again"
    return (
        Finding(
            "NK014",
            Severity.WARNING,
            file,
            None,
            None,
            "",
            given,
            allowed,
            "not used: nothing is resolved",
            fix,
            "`neuronkit lock`",
        ),
    )
