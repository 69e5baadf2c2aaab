"""`neuronkit deploy`, from the file to stacks that are complete.

load and check the file -> resolve what has no lock yet -> refuse what is not pinned or not bought -> ask the account
what stands in the way -> say what it costs and ask -> synthesise -> `cdk deploy` -> look whether the stacks are complete
-> start the fleets

Nothing is remembered here between runs. Interrupted anywhere, the same command continues: it waits for what runs,
deletes what can only be deleted, and CloudFormation makes what is missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.session import open_cloud
from scripts.capacity import with_bought_capacity, without_stand_ins
from scripts.cdk_cli import run_cdk
from scripts.confirmation import confirm
from scripts.console import Console
from scripts.loading import LoadedPlan, load_plan
from scripts.locking import lock_file
from scripts.pcs_watch import PcsWatch
from scripts.preflight import check_account, make_way, refuse_unresolved
from scripts.serving_fleets.first_deploy import begins_without_a_task, is_first_deploy
from scripts.serving_fleets.fleet_outputs import fleet_outputs
from scripts.serving_fleets.fleet_start import start_fleets
from scripts.stack_changes import StackChange, compare
from scripts.synthesis import Assembly, default_directory, synthesize
from stacks.domain.buildable import refuse_unbuildable
from stacks.domain.capacity_market.paid_fees import paid_fees
from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Basis, Cost, estimate
from stacks.domain.cost_report import totals
from stacks.domain.errors import WorldError
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import PARAMETER_FIRST_DEPLOY
from stacks.domain.plan import Plan
from stacks.domain.prices import Prices

WAYS_OUT = "when the cause is gone, `neuronkit deploy FILE` continues; `neuronkit destroy FILE` cleans up"
_LINES_KEPT = 20
_STACKS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Deployed:
    """`changes` only after a dry run, `stacks` only after a real one."""

    plan: Plan
    changes: tuple[StackChange, ...] = ()
    stacks: tuple[Stack, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "environment": self.plan.name,
            "account": self.plan.account,
            "region": self.plan.region,
            "dry_run": not self.stacks,
            "changes": [change.as_dict() for change in self.changes],
            "stacks": [{"name": s.name, "status": s.status, "outputs": s.outputs} for s in self.stacks],
        }


def deploy(console: Console, file: Path, *, yes: bool, dry_run: bool) -> Deployed:
    loaded = load_plan(file, local=console.local)
    refuse_unbuildable(loaded.plan)
    cloud = open_cloud(console, loaded.plan.region, loaded.plan.account)
    console.findings(loaded.findings)
    loaded = _with_lock(console, cloud, loaded)
    refuse_unresolved(loaded.plan, loaded.lock, is_local=cloud.is_local)
    plan = replace(loaded.plan, account=cloud.account)
    plan = with_bought_capacity(console, cloud, plan, dry_run=dry_run)
    live = check_account(console, cloud, replace(loaded, plan=without_stand_ins(plan)))
    basis = Basis(Prices(live=paid_fees(plan, live)))
    console.progress(_summary(cloud, plan, estimate(plan, load_catalog(), basis)))
    if dry_run:
        assembly = _synthesize(console, cloud, plan)
        return Deployed(plan, changes=compare(cloud, plan.stacks.all, assembly.directory))
    confirm(console, f"Make this in account {cloud.account}, {cloud.region}?", yes=yes)
    stacks = make_stacks(console, cloud, plan, WAYS_OUT)
    if plan.fleets:
        _start(console, cloud, plan, {stack.name: stack for stack in stacks})
    return Deployed(plan, stacks=stacks)


def _start(console: Console, cloud: Cloud, plan: Plan, stacks: Mapping[str, Stack]) -> None:
    """A stack whose fleet has started is told so, even if another fleet has not: idle it could be scaled to no task, and an
    update that fails would return to none."""
    starts = start_fleets(cloud, plan, stacks, console.progress)
    names = [plan.stacks.of_fleet(name) for name in starts.started]
    if first := [name for name in names if begins_without_a_task(stacks[name])]:
        make_stacks(console, cloud, plan, WAYS_OUT, first, have_started=True)
    starts.raise_failures()


def make_stacks(
    console: Console,
    cloud: Cloud,
    plan: Plan,
    ways_out: str,
    names: Sequence[str] = (),
    *,
    have_started: bool = False,
) -> tuple[Stack, ...]:
    """Those of `names`, or all of the plan, complete. Raises WorldError with the reason and the ways out.

    `have_started`: the fleets among them.
    """
    assembly = _synthesize(console, cloud, plan)
    make_way(console, cloud, plan, names=names)
    _run_cdk(console, cloud, plan, assembly, ways_out, names, have_started=have_started)
    return _complete_stacks(cloud, names or plan.stacks.all, ways_out)


def next_words(deployed: Deployed, *, local: bool) -> str:
    """Outputs, and what to do next."""
    if not deployed.stacks:
        return "\n".join(
            (
                *(change.text() for change in deployed.changes),
                "nothing was changed in the account (--dry-run)",
            )
        )
    lines = [f"stack {stack.name}: {stack.status}" for stack in deployed.stacks]
    lines += [
        f"  {name}: {value}"
        for stack in deployed.stacks
        for name, value in sorted(stack.outputs.items())
        if not _is_export(name)
    ]
    lines += [line for fleet in deployed.plan.fleets for line in _fleet_words(deployed, fleet, local=local)]
    jobs = [job.name for job in deployed.plan.jobs]
    lines += [f"next: neuronkit launch FILE {job} --follow" for job in jobs[:1]]
    lines += ["and in the end: neuronkit destroy FILE"]
    return "\n".join(lines)


def _fleet_words(deployed: Deployed, fleet: FleetPlan, *, local: bool) -> list[str]:
    stacks = {stack.name: stack for stack in deployed.stacks}
    url = fleet_outputs(stacks[deployed.plan.stacks.of_fleet(fleet.name)]).url(fleet)
    where = "from the internet" if fleet.settings.listener.public else "inside the VPC"
    sleep = fleet.settings.scale_to_zero
    sleeps = f"; sleeps after {sleep.idle_minutes} minutes without a request" if sleep else ""
    words = [f"fleet {fleet.name}: {url} {where}{sleeps}"]
    if local:
        return [*words, "  an address that nothing answers: the local cloud runs no containers"]
    return [*words, f"next: neuronkit bench-serving {url} --model {fleet.settings.model.name}"]


def _is_export(name: str) -> bool:
    """The CDK's own outputs for references between stacks."""
    return name.startswith("ExportsOutput")


def _with_lock(console: Console, cloud: Cloud, loaded: LoadedPlan) -> LoadedPlan:
    if loaded.lock is not None:
        return loaded
    locked = lock_file(cloud, loaded.loaded.environment, loaded.path, update=False)
    for line in (*locked.changes, *locked.notes):
        console.progress(f"lock: {line}")
    console.progress(f"lock: {locked.path} written" + ("" if cloud.is_local else "; commit it"))
    return load_plan(loaded.path, local=console.local)


def _summary(cloud: Cloud, plan: Plan, cost: Cost) -> str:
    return "\n".join(
        (
            f"{plan.name} in {cloud.name}, account {cloud.account}, {plan.region}: stacks {', '.join(plan.stacks.all)}",
            *(
                f"  {words}"
                for words in totals(cost, lifetime_days=plan.lifetime_days, budget_usd=plan.budget_usd)
            ),
            f"  `neuronkit destroy` is meant for {plan.lifetime_days} days from now; owner {plan.owner}",
        )
    )


def _synthesize(console: Console, cloud: Cloud, plan: Plan) -> Assembly:
    """Against AWS, the CDK checks the templates as well: seconds that may save half an hour."""
    directory = default_directory(plan, local=cloud.is_local)
    console.progress(f"synthesising {directory}")
    return synthesize(plan, directory, validate=not cloud.is_local)


def _run_cdk(
    console: Console,
    cloud: Cloud,
    plan: Plan,
    assembly: Assembly,
    ways_out: str,
    names: Sequence[str],
    *,
    have_started: bool,
) -> None:
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        if line.strip():
            console.progress(f"  cdk: {line}")

    chosen = ["--exclusively", *names] if names else ["--all"]
    arguments = ["deploy", "--app", str(assembly.directory), *chosen, "--require-approval", "never"]
    arguments += _first_deploy_parameters(cloud, plan, names, have_started=have_started)
    arguments += ["--progress", "events", "--concurrency", str(_stacks_at_once(plan)), "--no-color"]
    with PcsWatch(cloud, _slurm_stacks(plan), console.progress) as watch:
        code = run_cdk(arguments, environment=cloud.child_environment(os.environ), on_line=on_line)
    if code != 0:
        raise _deploy_failed(cloud, names or plan.stacks.all, ways_out, lines, watch.errors)


def _first_deploy_parameters(
    cloud: Cloud, plan: Plan, names: Sequence[str], *, have_started: bool
) -> list[str]:
    """Of the fleets' stacks, as they are after `make_way`."""
    words: list[str] = []
    for stack in (stack for _, stack in plan.stacks.fleets if not names or stack in names):
        is_first = not have_started and is_first_deploy(cloud, stack)
        words += ["--parameters", f"{stack}:{PARAMETER_FIRST_DEPLOY}={str(is_first).lower()}"]
    return words


def _slurm_stacks(plan: Plan) -> tuple[str, ...]:
    return tuple(plan.stacks.of_cluster(cluster.name) for cluster in plan.clusters if cluster.slurm)


def _stacks_at_once(plan: Plan) -> int:
    """AWS PCS makes one cluster at a time in a region, and refuses the second (a quota that is not adjustable)."""
    return 1 if len(_slurm_stacks(plan)) > 1 else _STACKS_AT_ONCE


def _deploy_failed(
    cloud: Cloud, names: Sequence[str], ways_out: str, lines: list[str], pcs_errors: tuple[str, ...]
) -> WorldError:
    """Which resource, why, and how to go on. Without a failed resource, what the CDK said."""
    reasons = [f"AWS PCS said of {error}" for error in pcs_errors]
    for name in names:
        stack = cloudformation.find_stack(cloud, name)
        if stack is None or stack.is_good:
            continue
        failure = cloudformation.first_failure(cloud, stack)
        if failure is not None:
            reasons.append(
                f"stack {name} ({stack.status}): {failure.type} {failure.logical_id}: {failure.reason}"
            )
        elif stack.reason:
            reasons.append(f"stack {name} ({stack.status}): {stack.reason}")
    said = "\n".join(lines[-_LINES_KEPT:])
    return WorldError("\n".join(("the deploy failed", *(reasons or [said]))), ways_out)


def _complete_stacks(cloud: Cloud, names: Sequence[str], ways_out: str) -> tuple[Stack, ...]:
    found = {name: cloudformation.find_stack(cloud, name) for name in names}
    bad = [
        f"stack {name}: {stack.status if stack else 'not there'}"
        for name, stack in found.items()
        if not (stack and stack.is_good)
    ]
    if bad:
        raise WorldError("\n".join(("`cdk deploy` said nothing wrong, but", *bad)), ways_out)
    return tuple(stack for stack in found.values() if stack is not None)
