"""Stacks: what there is, why one failed, and how to be rid of one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE = "cloudformation"
# Reasons that only repeat another resource's failure.
_ECHOES = (
    "Resource creation cancelled",
    "Resource update cancelled",
    "Resource deletion cancelled",
    "The following resource",
)


@dataclass(frozen=True, slots=True)
class Stack:
    name: str
    id: str
    status: str
    reason: str
    tags: dict[str, str]
    outputs: dict[str, str]
    is_protected: bool
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        """An operation runs. REVIEW_IN_PROGRESS is none: it only waits for somebody's change set."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    @property
    def was_never_made(self) -> bool:
        """It only waits for somebody's change set, or its creation or deletion failed: it cannot be updated, and there is nothing
        in it that is worth keeping."""
        return self.status == "REVIEW_IN_PROGRESS" or self.has_to_go

    @property
    def has_to_go(self) -> bool:
        """Nothing is made under its name before it is deleted."""
        return self.status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED")

    @property
    def is_good(self) -> bool:
        """Its last operation was a creation or an update, and worked."""
        return self.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


@dataclass(frozen=True, slots=True)
class StackResource:
    logical_id: str
    physical_id: str
    type: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class StackEvent:
    logical_id: str
    physical_id: str
    type: str
    status: str
    reason: str

    @property
    def is_failure(self) -> bool:
        return self.status.endswith("_FAILED") and not self.reason.startswith(_ECHOES)


def find_stack(cloud: Cloud, name_or_id: str) -> Stack | None:
    """A deleted stack is found by its id only."""
    try:
        answer = cloud.call(_SERVICE, "describe_stacks", StackName=name_or_id)
    except AwsError as error:
        if _does_not_exist(error):
            return None
        raise
    stacks = [_stack(raw) for raw in answer["Stacks"]]
    return stacks[0] if stacks else None


def all_stacks(cloud: Cloud) -> tuple[Stack, ...]:
    """Every stack of the account and region that is not deleted."""
    raw_stacks = cloud.pages(_SERVICE, "describe_stacks", "Stacks")
    return tuple(stack for raw in raw_stacks if (stack := _stack(raw)).status != "DELETE_COMPLETE")


def deleted_stack_ids(cloud: Cloud, names: Iterable[str]) -> tuple[str, ...]:
    """CloudFormation remembers deleted stacks for 90 days."""
    wanted = frozenset(names)
    summaries = cloud.pages(_SERVICE, "list_stacks", "StackSummaries", StackStatusFilter=["DELETE_COMPLETE"])
    return tuple(raw["StackId"] for raw in summaries if raw["StackName"] in wanted)


def change_set_tags(cloud: Cloud, stack_name: str) -> dict[str, str]:
    """Of a stack that was never created (REVIEW_IN_PROGRESS): only its change sets know its tags."""
    tags: dict[str, str] = {}
    for summary in cloud.pages(_SERVICE, "list_change_sets", "Summaries", StackName=stack_name):
        answer = cloud.call(
            _SERVICE, "describe_change_set", StackName=stack_name, ChangeSetName=summary["ChangeSetName"]
        )
        tags |= _tags(answer)
    return tags


def resources(cloud: Cloud, stack_name_or_id: str) -> tuple[StackResource, ...]:
    try:
        raw_resources = list(
            cloud.pages(
                _SERVICE, "list_stack_resources", "StackResourceSummaries", StackName=stack_name_or_id
            )
        )
    except AwsError as error:
        if _does_not_exist(error):
            return ()
        raise
    return tuple(
        StackResource(
            logical_id=raw["LogicalResourceId"],
            physical_id=raw.get("PhysicalResourceId", ""),
            type=raw["ResourceType"],
            status=raw["ResourceStatus"],
            reason=raw.get("ResourceStatusReason", ""),
        )
        for raw in raw_resources
    )


def first_failure(cloud: Cloud, stack: Stack) -> StackEvent | None:
    """The resource that made the last operation fail; the ones after it only follow."""
    failure = None
    for event in cloud.pages(_SERVICE, "describe_stack_events", "StackEvents", StackName=stack.id):
        current = _event(event)
        if current.is_failure and current.physical_id != stack.id:
            failure = current
        if _begins_operation(current, stack):
            break
    return failure


def _begins_operation(event: StackEvent, stack: Stack) -> bool:
    """Events come newest first."""
    starts = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "REVIEW_IN_PROGRESS")
    return event.physical_id == stack.id and event.status in starts


def template(cloud: Cloud, stack_name: str) -> dict[str, Any]:
    body = cloud.call(_SERVICE, "get_template", StackName=stack_name, TemplateStage="Original")[
        "TemplateBody"
    ]
    parsed: dict[str, Any] = json.loads(body) if isinstance(body, str) else dict(body)
    return parsed


def delete_stack(cloud: Cloud, stack_id: str) -> None:
    """Starts the deletion; `find_stack` tells how it goes."""
    cloud.call(_SERVICE, "delete_stack", StackName=stack_id)


def _does_not_exist(error: AwsError) -> bool:
    return error.code == "ValidationError" and "does not exist" in error.reason


def _stack(raw: dict[str, Any]) -> Stack:
    return Stack(
        name=raw["StackName"],
        id=raw["StackId"],
        status=raw["StackStatus"],
        reason=raw.get("StackStatusReason", ""),
        tags=_tags(raw),
        outputs={output["OutputKey"]: output["OutputValue"] for output in raw.get("Outputs", ())},
        is_protected=bool(raw.get("EnableTerminationProtection")),
        parameters={one["ParameterKey"]: one["ParameterValue"] for one in raw.get("Parameters", ())},
    )


def _event(raw: dict[str, Any]) -> StackEvent:
    return StackEvent(
        logical_id=raw["LogicalResourceId"],
        physical_id=raw.get("PhysicalResourceId", ""),
        type=raw.get("ResourceType", ""),
        status=raw.get("ResourceStatus", ""),
        reason=raw.get("ResourceStatusReason", ""),
    )


def _tags(raw: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()}
