"""What the local cloud remembers of a stack: resources, events, change sets."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class StackResource:
    """One resource as it really is. `tags` are all it carries, the stack's included."""

    logical_id: str
    type: str
    physical_id: str = ""
    status: str = "CREATE_IN_PROGRESS"
    reason: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    depends_on: set[str] = field(default_factory=set)
    deletion_policy: str = "Delete"
    update_replace_policy: str = "Delete"
    updated: datetime = field(default_factory=now)


@dataclass(frozen=True)
class StackEvent:
    stack_id: str
    stack_name: str
    logical_id: str
    physical_id: str
    resource_type: str
    status: str
    reason: str | None
    properties: str | None
    token: str | None
    event_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    timestamp: datetime = field(default_factory=now)


@dataclass
class Stack:
    name: str
    id: str
    account: str
    region: str
    partition: str
    status: str = "REVIEW_IN_PROGRESS"
    reason: str | None = None
    body: str = ""
    template: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    capabilities: list[str] = field(default_factory=list)
    notification_arns: list[str] = field(default_factory=list)
    role_arn: str | None = None
    change_set_id: str | None = None
    disable_rollback: bool = False
    termination_protection: bool = False
    resources: dict[str, StackResource] = field(default_factory=dict)
    let_go: dict[str, StackResource] = field(default_factory=dict)
    """Deleted or retained by a deletion or a rollback: CloudFormation lists them for 90 days."""
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    events: list[StackEvent] = field(default_factory=list)
    created: datetime = field(default_factory=now)
    updated: datetime | None = None
    deleted: datetime | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def exports(self) -> dict[str, str]:
        """Export name → value."""
        return {
            output["ExportName"]: output["OutputValue"]
            for output in self.outputs.values()
            if "ExportName" in output
        }

    @property
    def listed_resources(self) -> list[StackResource]:
        is_going = self.status.startswith(("DELETE", "ROLLBACK"))
        former = [item for name, item in self.let_go.items() if is_going and name not in self.resources]
        return [*self.resources.values(), *former]

    def drop(self, logical_id: str) -> None:
        resource = self.resources.pop(logical_id, None)
        if resource is not None:
            self.let_go[logical_id] = resource

    def set_status(self, status: str, reason: str | None = None, token: str | None = None) -> None:
        self.status, self.reason = status, reason
        self._record(self.name, self.id, "AWS::CloudFormation::Stack", status, reason, None, token)

    def set_resource(
        self,
        resource: StackResource,
        status: str,
        reason: str | None = None,
        token: str | None = None,
        properties: str | None = None,
    ) -> None:
        resource.status, resource.reason, resource.updated = status, reason, now()
        self._record(
            resource.logical_id, resource.physical_id, resource.type, status, reason, properties, token
        )

    def _record(
        self,
        logical_id: str,
        physical_id: str,
        resource_type: str,
        status: str,
        reason: str | None,
        properties: str | None,
        token: str | None,
    ) -> None:
        event = StackEvent(
            self.id, self.name, logical_id, physical_id, resource_type, status, reason, properties, token
        )
        with self.lock:
            self.events.append(event)


@dataclass
class Proposal:
    """What a stack is to become: template, parameters, tags, and how to go about it."""

    body: str
    template: dict[str, Any]
    parameters: dict[str, Any]
    tags: dict[str, str]
    capabilities: list[str] = field(default_factory=list)
    notification_arns: list[str] = field(default_factory=list)
    role_arn: str | None = None
    disable_rollback: bool = False
    on_failure: str = "ROLLBACK"
    token: str | None = None


@dataclass
class ChangeSet:
    id: str
    name: str
    type: str
    stack: Stack
    proposal: Proposal
    changes: list[dict[str, Any]]
    description: str | None = None
    status: str = "CREATE_COMPLETE"
    reason: str | None = None
    execution_status: str = "AVAILABLE"
    created: datetime = field(default_factory=now)
