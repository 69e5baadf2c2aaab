"""All stacks and change sets of one account and region, and the rules for which operation may start when."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.exceptions import ServiceException
from moto.core.resource_tagging import TaggableResourcesMixin, TaggedResource

from scripts.local_cloud import runtime
from scripts.local_cloud.cloudformation.changes import changes
from scripts.local_cloud.cloudformation.evaluation import Evaluation
from scripts.local_cloud.cloudformation.operation import CreateOperation, DeleteOperation, Operation
from scripts.local_cloud.cloudformation.resource_type import ResourceError
from scripts.local_cloud.cloudformation.resource_work import ResourceWork
from scripts.local_cloud.cloudformation.stack import ChangeSet, Proposal, Stack, now
from scripts.local_cloud.cloudformation.template import needed_capabilities
from scripts.local_cloud.cloudformation.types.registry import TYPES
from scripts.local_cloud.cloudformation.update_operation import UpdateOperation, adopt

_UPDATABLE = frozenset(
    [
        "CREATE_COMPLETE",
        "UPDATE_COMPLETE",
        "UPDATE_ROLLBACK_COMPLETE",
        "IMPORT_COMPLETE",
        "IMPORT_ROLLBACK_COMPLETE",
        "UPDATE_FAILED",
    ]
)
_NO_CHANGES = (
    "The submitted information didn't contain changes. Submit different information to create a change set."
)


class CloudFormationError(ServiceException):
    """Of this module: moto looks the error up in the model of the service that the class's module belongs to."""


class ValidationError(CloudFormationError):
    code = "ValidationError"


class CloudFormationBackend(BaseBackend, TaggableResourcesMixin):
    SERVICE_NAMESPACE = "cloudformation"

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.stacks: dict[str, Stack] = {}
        self.change_sets: dict[str, ChangeSet] = {}
        self._operations: dict[str, Operation] = {}
        self._lock = threading.RLock()

    # ---- looking up

    def live(self, name: str) -> Stack | None:
        """The stack of this name (or id) that is not deleted."""
        for stack in self.stacks.values():
            if stack.deleted is None and name in (stack.name, stack.id):
                return stack
        return None

    def get(self, name: str, allow_deleted: bool = True) -> Stack:
        """By name: only what exists. By id: also a deleted one."""
        stack = self.live(name) or (self.stacks.get(name) if allow_deleted else None)
        if stack is None:
            raise ValidationError(f"Stack with id {name} does not exist")
        return stack

    def change_set(self, name: str, stack_name: str | None) -> ChangeSet:
        for change_set in self.change_sets.values():
            if name == change_set.id:
                return change_set
            owner = change_set.stack
            if name == change_set.name and stack_name in (owner.name, owner.id) and owner.deleted is None:
                return change_set
        raise CloudFormationError("ChangeSetNotFoundException", f"ChangeSet [{name}] does not exist")

    def exported(self, name: str) -> str | None:
        for stack in self.stacks.values():
            if stack.deleted is None and name in stack.exports:
                return stack.exports[name]
        return None

    def importers(self, name: str, but: Stack | None = None) -> list[str]:
        return sorted(
            stack.name
            for stack in self.stacks.values()
            if stack.deleted is None and stack is not but and name in stack.imports
        )

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        for stack in list(self.stacks.values()):
            if stack.deleted is None:
                yield TaggedResource(stack.id, dict(stack.tags), "cloudformation:stack")

    # ---- operations

    def new_stack(self, name: str) -> Stack:
        if self.live(name) is not None:
            raise CloudFormationError("AlreadyExistsException", f"Stack [{name}] already exists")
        stack_id = f"arn:{self.partition}:cloudformation:{self.region_name}:{self.account_id}:stack/{name}/{uuid.uuid4()}"
        stack = Stack(name, stack_id, self.account_id, self.region_name, self.partition)
        self.stacks[stack_id] = stack
        return stack

    def create(self, name: str, proposal: Proposal) -> Stack:
        self.check_capabilities(proposal)
        with self._lock:
            stack = self.new_stack(name)
            try:
                evaluation = self._evaluation(stack, proposal)
            except Exception:
                del self.stacks[stack.id]
                raise
            self._start_create(stack, proposal, evaluation)
        return stack

    def update(self, stack: Stack, proposal: Proposal) -> None:
        self.check_capabilities(proposal)
        with self._lock:
            self.check_updatable(stack)
            evaluation = self._evaluation(stack, proposal)
            if not changes(stack, evaluation, self._work(stack, None)) and self._same(stack, proposal):
                raise ValidationError("No updates are to be performed.")
            self._start_update(stack, proposal, evaluation)

    def create_change_set(
        self, name: str, stack: Stack, kind: str, proposal: Proposal, description: str | None
    ) -> ChangeSet:
        self.check_capabilities(proposal)
        evaluation = self._evaluation(stack, proposal)
        found = changes(stack, evaluation, self._work(stack, None))
        arn = f"arn:{self.partition}:cloudformation:{self.region_name}:{self.account_id}:changeSet/{name}/{uuid.uuid4()}"
        change_set = ChangeSet(arn, name, kind, stack, proposal, found, description)
        if kind == "UPDATE" and not found and self._same(stack, proposal):
            change_set.status, change_set.reason = "FAILED", _NO_CHANGES
            change_set.execution_status = "UNAVAILABLE"
        with self._lock:
            self.change_sets[arn] = change_set
        return change_set

    def execute(self, change_set: ChangeSet) -> None:
        stack, proposal = change_set.stack, change_set.proposal
        with self._lock:
            if change_set.execution_status != "AVAILABLE":
                raise CloudFormationError(
                    "InvalidChangeSetStatus",
                    f"ChangeSet [{change_set.id}] cannot be executed in its current status of [{change_set.status}]",
                )
            if change_set.type == "UPDATE":
                self.check_updatable(stack)
            elif stack.status != "REVIEW_IN_PROGRESS":
                raise ValidationError(
                    f"Stack [{stack.name}] is in {stack.status} state and cannot be created again"
                )
            evaluation = self._evaluation(stack, proposal)
            change_set.execution_status = "EXECUTE_COMPLETE"
            stack.change_set_id = change_set.id
            for name in [other.id for other in self.change_sets.values() if other.stack is stack]:
                del self.change_sets[name]
            if change_set.type == "UPDATE":
                self._start_update(stack, proposal, evaluation)
            else:
                self._start_create(stack, proposal, evaluation)

    def delete(self, stack: Stack, retain: frozenset[str], force: bool, token: str | None) -> None:
        with self._lock:
            if stack.deleted is not None:
                return
            if stack.termination_protection:
                raise ValidationError(
                    f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
                )
            running = self._running(stack)
            if isinstance(running, DeleteOperation):
                return
            if stack.status.endswith("_IN_PROGRESS") and stack.status not in (
                "REVIEW_IN_PROGRESS",
                "CREATE_IN_PROGRESS",
            ):
                raise ValidationError(f"Stack [{stack.id}] cannot be deleted while in status {stack.status}")
            if retain and stack.status != "DELETE_FAILED":
                raise ValidationError(
                    "Retain resources can be specified only for a stack in DELETE_FAILED state"
                )
            for name in [other.id for other in self.change_sets.values() if other.stack is stack]:
                del self.change_sets[name]
            work = self._work(stack, token)
            blocked = self._blocked(stack)
            self._start(DeleteOperation(stack, work, token, retain, force, running, blocked))

    def cancel_update(self, stack: Stack) -> None:
        running = self._running(stack)
        if not isinstance(running, UpdateOperation) or stack.status != "UPDATE_IN_PROGRESS":
            raise ValidationError(
                f"CancelUpdateStack cannot be called from current stack status {stack.status}"
            )
        running.interrupt()

    def settle(self, stack: Stack, seconds: float) -> None:
        operation = self._operations.get(stack.id)
        if operation is not None:
            operation.finished.wait(seconds)

    # ---- checks

    def check_capabilities(self, proposal: Proposal) -> None:
        needed = needed_capabilities(proposal.template)
        enough = {needed, "CAPABILITY_NAMED_IAM"}
        if needed and not enough & set(proposal.capabilities):
            raise CloudFormationError(
                "InsufficientCapabilitiesException", f"Requires capabilities : [{needed}]"
            )

    def check_updatable(self, stack: Stack) -> None:
        if stack.status not in _UPDATABLE:
            raise ValidationError(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")

    def _check_exports(self, stack: Stack) -> None:
        for name in stack.exports:
            for other in self.stacks.values():
                if other is not stack and other.deleted is None and name in other.exports:
                    raise ResourceError(f"Export with name {name} is already exported by stack {other.name}.")

    def _blocked(self, stack: Stack) -> str | None:
        for name in stack.exports:
            users = self.importers(name, but=stack)
            if users:
                return f"Export {name} cannot be deleted as it is in use by {', '.join(users)}"
        return None

    def _same(self, stack: Stack, proposal: Proposal) -> bool:
        return (stack.template, stack.parameters, stack.tags) == (
            proposal.template,
            proposal.parameters,
            proposal.tags,
        )

    # ---- starting

    def _evaluation(self, stack: Stack, proposal: Proposal) -> Evaluation:
        evaluation = Evaluation(stack, proposal, self._client_for, self.exported)
        evaluation.check_rules()
        return evaluation

    def _client_for(self, service: str) -> Any:
        return runtime.current().clients.client(service, self.account_id, self.region_name)

    def _work(self, stack: Stack, token: str | None) -> ResourceWork:
        return ResourceWork(stack, self._client_for, TYPES, runtime.current().faults, token)

    def _running(self, stack: Stack) -> Operation | None:
        operation = self._operations.get(stack.id)
        return operation if operation is not None and not operation.finished.is_set() else None

    def _start_create(self, stack: Stack, proposal: Proposal, evaluation: Evaluation) -> None:
        adopt(stack, proposal)
        work = self._work(stack, proposal.token)
        self._start(CreateOperation(stack, proposal, evaluation, work, lambda: self._check_exports(stack)))

    def _start_update(self, stack: Stack, proposal: Proposal, evaluation: Evaluation) -> None:
        work = self._work(stack, proposal.token)
        operation = UpdateOperation(stack, proposal, evaluation, work, lambda: self._check_exports(stack))
        stack.updated = now()
        self._start(operation)

    def _start(self, operation: Operation) -> None:
        self._operations[operation.stack.id] = operation
        operation.start()


cloudformation_backends = BackendDict(CloudFormationBackend, "cloudformation")
