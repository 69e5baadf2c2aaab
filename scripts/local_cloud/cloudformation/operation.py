"""One operation on a stack: create, update or delete, with the rollback that CloudFormation would do.

An operation runs in its own thread and can be interrupted between two resources. Whatever happens, the stack ends in
a state that CloudFormation knows, and the events say which resource failed and why.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from botocore.exceptions import ClientError

from scripts.local_cloud.cloudformation.evaluation import Evaluation
from scripts.local_cloud.cloudformation.resource_type import ResourceError
from scripts.local_cloud.cloudformation.resource_work import ResourceFailedError, ResourceWork, reason_of
from scripts.local_cloud.cloudformation.stack import Proposal, Stack, StackResource, now
from scripts.local_cloud.cloudformation.template import TemplateError, creation_order


class OperationInterruptedError(Exception):
    """Another call (delete, cancel) wants the stack."""


class Operation(ABC):
    def __init__(self, stack: Stack, work: ResourceWork, token: str | None) -> None:
        self.stack = stack
        self.work = work
        self.token = token
        self.finished = threading.Event()
        self._interrupted = threading.Event()
        work.cancelled = self._interrupted.is_set
        self._thread = threading.Thread(
            target=self._run, name=f"{type(self).__name__} {stack.name}", daemon=True
        )

    def start(self) -> None:
        self.begin()
        self._thread.start()

    def interrupt(self) -> None:
        self._interrupted.set()

    @abstractmethod
    def begin(self) -> None:
        """Sets the stack's first state, before the call that started the operation answers."""

    @abstractmethod
    def run(self) -> None: ...

    @abstractmethod
    def broken(self, reason: str) -> None:
        """Sets the stack's state after a bug of the local cloud."""

    def status(self, status: str, reason: str | None = None) -> None:
        self.stack.set_status(status, reason, self.token)

    def checkpoint(self) -> None:
        if self._interrupted.is_set():
            raise OperationInterruptedError

    def _run(self) -> None:
        try:
            self.run()
        except OperationInterruptedError:
            pass
        except Exception as error:
            logging.getLogger(__name__).exception("stack %s", self.stack.name)
            self.broken(f"Internal failure of the local cloud: {type(error).__name__}: {error}")
        finally:
            self.finished.set()


def delete_resources(stack: Stack, work: ResourceWork, doomed: list[StackResource]) -> list[str]:
    """Deletes in the given order, passing over what something undeleted still needs. Returns the failed ids."""
    failed: list[str] = []
    needed: set[str] = set()
    for resource in doomed:
        if resource.logical_id in needed:
            needed |= resource.depends_on
            continue
        try:
            work.delete(resource)
            stack.drop(resource.logical_id)
        except ResourceFailedError:
            failed.append(resource.logical_id)
            needed |= resource.depends_on
    return failed


def deletion_order(resources: dict[str, StackResource]) -> list[StackResource]:
    graph = {name: resource.depends_on & resources.keys() for name, resource in resources.items()}
    return [resources[name] for name in reversed(creation_order(graph))]


class CreateOperation(Operation):
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

    def begin(self) -> None:
        self.status("CREATE_IN_PROGRESS", "User Initiated")

    def broken(self, reason: str) -> None:
        self.status("CREATE_FAILED", reason)

    def run(self) -> None:
        try:
            for logical_id in self.evaluation.wanted():
                self.checkpoint()
                self.work.create(logical_id, self.evaluation)
            self.stack.outputs = self.evaluation.outputs()
            self.stack.imports = self.evaluation.imports
            self.check_exports()
        except ResourceFailedError as failure:
            self._give_up(f"The following resource(s) failed to create: [{failure.logical_id}]. ")
        except (ResourceError, TemplateError, ClientError) as error:
            self._give_up(reason_of(error) + " ")
        else:
            self.checkpoint()
            self.status("CREATE_COMPLETE")

    def _give_up(self, reason: str) -> None:
        self.stack.outputs = {}
        if self.proposal.disable_rollback or self.proposal.on_failure == "DO_NOTHING":
            self.status("CREATE_FAILED", reason.strip())
            return
        deleting = self.proposal.on_failure == "DELETE"
        self.status(
            "DELETE_IN_PROGRESS" if deleting else "ROLLBACK_IN_PROGRESS",
            reason + ("Delete requested by user." if deleting else "Rollback requested by user."),
        )
        doomed = []
        for resource in deletion_order(self.stack.resources):
            if resource.deletion_policy == "Retain" and resource.physical_id:
                self.work.skip(resource)
                self.stack.drop(resource.logical_id)
            else:
                doomed.append(resource)
        self.checkpoint()
        failed = delete_resources(self.stack, self.work, doomed)
        prefix = "DELETE" if deleting else "ROLLBACK"
        if failed:
            self.status(
                f"{prefix}_FAILED", f"The following resource(s) failed to delete: [{', '.join(failed)}]. "
            )
        else:
            self.stack.deleted = now() if deleting else None
            self.status(f"{prefix}_COMPLETE")


class DeleteOperation(Operation):
    def __init__(
        self,
        stack: Stack,
        work: ResourceWork,
        token: str | None,
        retain: frozenset[str],
        force: bool,
        before: Operation | None,
        blocked: str | None,
    ) -> None:
        super().__init__(stack, work, token)
        self.retain = retain
        self.force = force
        self.before = before
        self.blocked = blocked

    def begin(self) -> None:
        self.status("DELETE_IN_PROGRESS", "User Initiated")

    def broken(self, reason: str) -> None:
        self.status("DELETE_FAILED", reason)

    def run(self) -> None:
        if self.before is not None:
            self.before.interrupt()
            self.before.finished.wait()
        if self.blocked:
            self.status("DELETE_FAILED", self.blocked)
            return
        doomed = []
        for resource in deletion_order(self.stack.resources):
            kept = (
                resource.deletion_policy in ("Retain", "RetainExceptOnCreate")
                or resource.logical_id in self.retain
            )
            if kept and resource.physical_id:
                self.work.skip(resource)
                self.stack.drop(resource.logical_id)
            else:
                doomed.append(resource)
        failed = delete_resources(self.stack, self.work, doomed)
        if failed and not self.force:
            self.status(
                "DELETE_FAILED", f"The following resource(s) failed to delete: [{', '.join(failed)}]. "
            )
            return
        self.stack.deleted = now()
        self.stack.outputs = {}
        self.status("DELETE_COMPLETE")
