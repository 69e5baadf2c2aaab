"""Updates a stack; rolls every change back if one fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from botocore.exceptions import ClientError

from scripts.local_cloud.cloudformation.evaluation import Evaluation
from scripts.local_cloud.cloudformation.operation import (
    Operation,
    OperationInterruptedError,
    delete_resources,
    deletion_order,
)
from scripts.local_cloud.cloudformation.resource_type import ResourceError
from scripts.local_cloud.cloudformation.resource_work import ResourceFailedError, ResourceWork, reason_of
from scripts.local_cloud.cloudformation.stack import Proposal, Stack, StackResource
from scripts.local_cloud.cloudformation.template import TemplateError


@dataclass(frozen=True)
class _Change:
    """`before` None: the resource is new. `replaced`: `before` still exists beside the new one."""

    logical_id: str
    before: StackResource | None = None
    replaced: bool = False
    properties: frozenset[str] = frozenset()


class UpdateOperation(Operation):
    def __init__(
        self,
        stack: Stack,
        proposal: Proposal,
        evaluation: Evaluation,
        work: ResourceWork,
        check_exports: Callable[[], None],
    ) -> None:
        super().__init__(stack, work, proposal.token)
        self.proposal = proposal
        self.evaluation = evaluation
        self.check_exports = check_exports
        self._old = replace(stack)
        self._old_resources = dict(stack.resources)
        self._changes: list[_Change] = []

    def begin(self) -> None:
        self.status("UPDATE_IN_PROGRESS", "User Initiated")
        adopt(self.stack, self.proposal)

    def broken(self, reason: str) -> None:
        self.status("UPDATE_ROLLBACK_FAILED", reason)

    def run(self) -> None:
        try:
            wanted = self.evaluation.wanted()
            for logical_id in wanted:
                self.checkpoint()
                self._bring_up(logical_id)
            self.stack.outputs = self.evaluation.outputs()
            self.stack.imports = self.evaluation.imports
            self.check_exports()
        except OperationInterruptedError:
            self._roll_back("User Initiated")
        except ResourceFailedError as failure:
            self._roll_back(f"The following resource(s) failed to update: [{failure.logical_id}]. ")
        except (ResourceError, TemplateError, ClientError) as error:
            self._roll_back(reason_of(error))
        else:
            self._clean_up(set(wanted))

    def _bring_up(self, logical_id: str) -> None:
        before = self.stack.resources.get(logical_id)
        if before is None:
            self._changes.append(_Change(logical_id))
            self.work.create(logical_id, self.evaluation)
            return
        changed = self.work.changed(logical_id, self.evaluation)
        if not changed:
            return
        self._changes.append(_Change(logical_id, replace(before), properties=frozenset(changed)))
        if not self.work.update(logical_id, self.evaluation, changed):
            self._changes[-1] = _Change(logical_id, replace(before), replaced=True)
            self.work.create(logical_id, self.evaluation)

    def _clean_up(self, wanted: set[str]) -> None:
        replaced = [
            change.before for change in self._changes if change.replaced and change.before is not None
        ]
        removed = [
            resource for resource in deletion_order(self._old_resources) if resource.logical_id not in wanted
        ]
        if replaced or removed:
            self.status("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        for resource in [*reversed(replaced), *removed]:
            self._drop(resource, keep_entry=resource in replaced)
        self.status("UPDATE_COMPLETE")

    def _drop(self, resource: StackResource, keep_entry: bool) -> None:
        policy = resource.update_replace_policy if keep_entry else resource.deletion_policy
        try:
            if policy == "Delete":
                self.work.delete(resource)
            else:
                self.work.skip(resource)
        except ResourceFailedError:
            # As in CloudFormation: the update stands, the event says that the resource was left behind.
            pass
        if not keep_entry:
            self.stack.resources.pop(resource.logical_id, None)

    def _roll_back(self, reason: str) -> None:
        if self.proposal.disable_rollback:
            self.status("UPDATE_FAILED", reason)
            return
        self.status("UPDATE_ROLLBACK_IN_PROGRESS", reason)
        failed = [change.logical_id for change in reversed(self._changes) if not self._undo(change)]
        old = self._old
        adopt(self.stack, Proposal(old.body, old.template, old.parameters, old.tags, old.capabilities))
        self.stack.outputs, self.stack.imports = old.outputs, old.imports
        if failed:
            self.status(
                "UPDATE_ROLLBACK_FAILED",
                f"The following resource(s) failed to update: [{', '.join(failed)}]. ",
            )
            return
        self.status("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
        self.status("UPDATE_ROLLBACK_COMPLETE")

    def _undo(self, change: _Change) -> bool:
        current = self.stack.resources.get(change.logical_id)
        try:
            if change.before is None or change.replaced:
                if current is not None and delete_resources(self.stack, self.work, [current]):
                    return False
            elif current is not None:
                self.work.revert(current, change.before, set(change.properties))
        except ResourceFailedError:
            return False
        if change.before is not None:
            self.stack.resources[change.logical_id] = change.before
        return True


def adopt(stack: Stack, proposal: Proposal) -> None:
    """The stack's description becomes the proposal's; its resources are somebody else's business."""
    stack.body, stack.template = proposal.body, proposal.template
    stack.parameters, stack.tags = proposal.parameters, proposal.tags
    stack.capabilities = proposal.capabilities or stack.capabilities
    stack.notification_arns = proposal.notification_arns
    stack.role_arn = proposal.role_arn or stack.role_arn
    stack.disable_rollback = proposal.disable_rollback
