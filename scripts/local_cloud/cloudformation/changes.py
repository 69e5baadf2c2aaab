"""What a change set would do, in the words of DescribeChangeSet."""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.cloudformation.evaluation import Evaluation, NotYetMadeError
from scripts.local_cloud.cloudformation.resource_type import ResourceError
from scripts.local_cloud.cloudformation.resource_work import ResourceWork
from scripts.local_cloud.cloudformation.stack import Stack


def changes(stack: Stack, evaluation: Evaluation, work: ResourceWork) -> list[dict[str, Any]]:
    wanted = evaluation.wanted()
    found = []
    for name in wanted:
        if name not in stack.resources:
            found.append(_change("Add", name, evaluation.template["Resources"][name]["Type"]))
        else:
            modification = _modification(stack, name, evaluation, work)
            if modification:
                found.append(modification)
    for name, resource in stack.resources.items():
        if name not in wanted:
            found.append(_change("Remove", name, resource.type, PhysicalResourceId=resource.physical_id))
    return found


def _modification(
    stack: Stack, name: str, evaluation: Evaluation, work: ResourceWork
) -> dict[str, Any] | None:
    try:
        changed = sorted(work.changed(name, evaluation))
    except (NotYetMadeError, ResourceError):
        # It refers to something that this very change makes, so it will change as well.
        changed = ["Properties"]
    before = (stack.template.get("Resources") or {}).get(name, {})
    metadata = before.get("Metadata") != evaluation.template["Resources"][name].get("Metadata")
    if not changed and not metadata:
        return None
    scope = [
        *(["Properties"] if set(changed) - {"Tags"} else []),
        *(["Tags"] if "Tags" in changed else []),
        *(["Metadata"] if metadata else []),
    ]
    return _change(
        "Modify",
        name,
        stack.resources[name].type,
        PhysicalResourceId=stack.resources[name].physical_id,
        Replacement="Conditional" if changed else "False",
        Scope=scope,
        Details=[
            {
                "Target": {"Attribute": "Properties", "Name": item, "RequiresRecreation": "Conditionally"},
                "Evaluation": "Static",
                "ChangeSource": "DirectModification",
            }
            for item in changed
        ],
    )


def _change(action: str, name: str, resource_type: str, **details: Any) -> dict[str, Any]:
    return {
        "Type": "Resource",
        "ResourceChange": {
            "Action": action,
            "LogicalResourceId": name,
            "ResourceType": resource_type,
            "Scope": [],
            "Details": [],
            **details,
        },
    }
