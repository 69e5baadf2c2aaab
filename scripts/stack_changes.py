"""What a deploy would change: the synthesised templates beside those that are deployed. Compares words, changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.resource_changes import Change, resource_changes

_NOTHING_THERE = ("REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE")


@dataclass(frozen=True, slots=True)
class StackChange:
    """Logical ids with their types, such as "Bucket (AWS::S3::Bucket)"."""

    stack: str
    action: str
    """create, update or none."""
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        lines = [f"{self.stack}: {self.action}"]
        lines += [f"  + {name}" for name in self.added]
        lines += [f"  ~ {name}" for name in self.changed]
        lines += [f"  - {name}" for name in self.removed]
        return "\n".join(lines)


def compare(cloud: Cloud, stacks: tuple[str, ...], assembly: Path) -> tuple[StackChange, ...]:
    return tuple(_change(cloud, name, assembly / f"{name}.template.json") for name in stacks)


def difference(stack: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> StackChange:
    """Of two templates; `old` is None when there is no stack."""
    changes = resource_changes(old, new)
    added = tuple(c.name for c in changes if c.change is Change.ADDED)
    if old is None:
        return StackChange(stack, "create", added)
    removed = tuple(c.name for c in changes if c.change is Change.REMOVED)
    changed = tuple(c.name for c in changes if c.name not in {*added, *removed})
    action = "none" if dict(old) == dict(new) else "update"
    return StackChange(stack, action, added, changed, removed)


def deployed_template(cloud: Cloud, name: str) -> dict[str, Any] | None:
    """None: there is no such stack, or nothing of it was made or has stayed."""
    stack = cloudformation.find_stack(cloud, name)
    if stack is None or stack.status in _NOTHING_THERE:
        return None
    return cloudformation.template(cloud, name)


def _change(cloud: Cloud, name: str, template_file: Path) -> StackChange:
    new = json.loads(template_file.read_text(encoding="utf-8"))
    stack = cloudformation.find_stack(cloud, name)
    is_new = stack is None or stack.was_never_made
    return difference(name, None if is_new else cloudformation.template(cloud, name), new)
