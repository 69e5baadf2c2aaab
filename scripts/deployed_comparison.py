"""`plan --against deployed`: a plan beside what CloudFormation says is deployed. Reads and synthesises; changes nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.aws.session import open_cloud
from scripts.capacity import with_bought_capacity
from scripts.console import Console
from scripts.deployed_inventory import deployed_inventory
from scripts.loading import LoadedPlan
from scripts.resource_changes import ResourceChange, resource_changes
from scripts.stack_changes import deployed_template
from scripts.synthesis import default_directory, synthesize
from stacks.domain.buildable import refuse_unbuildable
from stacks.domain.catalog import load_catalog
from stacks.domain.cost import Cost, cost_of
from stacks.domain.cost_report import per_hour_words
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import Plan
from stacks.domain.unlisted_types import with_named_types

NOT_READ = "not read: what was changed beside CloudFormation, and what runs now"


@dataclass(frozen=True, slots=True)
class Comparison:
    deployed: tuple[str, ...]
    """Stacks whose templates were read."""
    missing: tuple[str, ...]
    """Stacks of the plan that are not deployed."""
    extra: tuple[str, ...]
    """Stacks with the environment's tag that the plan does not have: a deploy leaves them alone."""
    changes: tuple[tuple[str, ResourceChange], ...]
    """With their stacks; none for stacks that are not deployed or not planned."""
    deployed_cost: Cost | None
    """None when nothing is deployed."""
    planned_cost: Cost
    unread: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "deployed_stacks": list(self.deployed),
            "missing_stacks": list(self.missing),
            "extra_stacks": list(self.extra),
            "changes": [
                {
                    "stack": stack,
                    "change": change.change,
                    "logical_id": change.logical_id,
                    "type": change.type,
                    "properties": list(change.properties),
                    "because_of": change.because_of or None,
                }
                for stack, change in self.changes
            ],
            "cost_deployed": self.deployed_cost.as_dict() if self.deployed_cost else None,
            "not_read": [NOT_READ, *self.unread],
        }

    def text(self) -> str:
        if self.deployed_cost is None:
            return "deployed nothing: no stack of this environment is there"
        lines = [f"deployed {name}" for name in self.deployed]
        lines += [f"missing  {name}: a deploy makes it" for name in self.missing]
        lines += [f"extra    {name}: not in the file; a deploy leaves it alone" for name in self.extra]
        lines += [f"change   {row}" for row in _table(self.changes)] or ["change   none"]
        lines += [
            f"cost     deployed, every node running: {per_hour_words(self.deployed_cost)}",
            f"cost     planned, every node running: {per_hour_words(self.planned_cost)}",
        ]
        lines += [f"unread   {text}" for text in (NOT_READ, *self.unread)]
        return "\n".join(lines)


def compare_with_deployed(console: Console, loaded: LoadedPlan) -> Comparison:
    """Raises KitError when AWS cannot be asked, or when no stacks can be made of the plan."""
    refuse_unbuildable(loaded.plan)
    cloud = open_cloud(console, loaded.plan.region, loaded.plan.account, account_required=False)
    plan = replace(loaded.plan, account=cloud.account)
    if cloud.is_local:
        plan = with_bought_capacity(console, cloud, plan, dry_run=True)
    templates = {name: deployed_template(cloud, name) for name in plan.stacks.all}
    extra = _extra_stacks(cloud, plan)
    found = {name: template for name, template in templates.items() if template is not None}
    found |= {name: cloudformation.template(cloud, name) for name in extra}
    if not found:
        return Comparison((), plan.stacks.all, (), (), None, loaded.cost, ())
    catalog = with_named_types(loaded.loaded.environment, load_catalog())
    deployed = deployed_inventory(found, plan, catalog)
    return Comparison(
        deployed=tuple(found),
        missing=tuple(name for name in templates if name not in found),
        extra=extra,
        changes=_changes(plan, templates, local=cloud.is_local),
        deployed_cost=cost_of(deployed.inventory, plan.lifetime_days, catalog, loaded.basis),
        planned_cost=loaded.cost,
        unread=deployed.unread,
    )


def _extra_stacks(cloud: Cloud, plan: Plan) -> tuple[str, ...]:
    ours = (s for s in cloudformation.all_stacks(cloud) if s.tags.get(ENVIRONMENT_TAG) == plan.name)
    return tuple(stack.name for stack in ours if stack.name not in plan.stacks.all)


def _changes(
    plan: Plan, templates: dict[str, dict[str, Any] | None], *, local: bool
) -> tuple[tuple[str, ResourceChange], ...]:
    assembly = synthesize(plan, default_directory(plan, local=local))
    changes: list[tuple[str, ResourceChange]] = []
    for file in assembly.templates:
        name = file.name.removesuffix(".template.json")
        deployed = templates[name]
        if deployed is not None:
            planned = json.loads(file.read_text(encoding="utf-8"))
            changes += [(name, change) for change in resource_changes(deployed, planned)]
    return tuple(changes)


def _table(changes: tuple[tuple[str, ResourceChange], ...]) -> list[str]:
    rows = [
        (change.change.value, stack, change.name, ", ".join(change.properties) + _because(change))
        for stack, change in changes
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return ["  ".join((*map(str.ljust, row[:3], widths), row[3])).rstrip() for row in rows]


def _because(change: ResourceChange) -> str:
    return f" with {change.because_of}" if change.because_of else ""
