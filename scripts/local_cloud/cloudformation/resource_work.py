"""Makes, changes and deletes one resource of a stack, and writes the events that CloudFormation would write."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from botocore.exceptions import BotoCoreError, ClientError

from scripts.local_cloud.cloudformation.evaluation import Evaluation
from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
)
from scripts.local_cloud.cloudformation.stack import Stack, StackResource
from scripts.local_cloud.cloudformation.template import TemplateError
from scripts.local_cloud.faults import Faults, PlantedFaultError

_GONE_WORDS = ("NotFound", "NoSuch", "DoesNotExist")


class ResourceFailedError(Exception):
    """A resource failed; its events are written."""

    def __init__(self, logical_id: str, reason: str) -> None:
        super().__init__(f"{logical_id}: {reason}")
        self.logical_id = logical_id
        self.reason = reason


class ResourceWork:
    def __init__(
        self,
        stack: Stack,
        client_for: Callable[[str], Any],
        types: Mapping[str, ResourceType],
        faults: Faults,
        token: str | None,
    ) -> None:
        self._stack = stack
        self._client_for = client_for
        self._types = types
        self._faults = faults
        self._token = token
        self.cancelled: Callable[[], bool] = lambda: False
        """Set by the operation that does the work."""

    def create(self, logical_id: str, evaluation: Evaluation) -> StackResource:
        """A new physical resource; it replaces the entry in the stack as soon as its id is known."""
        definition = evaluation.template["Resources"][logical_id]
        resource = StackResource(logical_id=logical_id, type=definition["Type"])
        self._take_definition(resource, evaluation)
        self._stack.resources[logical_id] = resource
        self._event(resource, "CREATE_IN_PROGRESS")
        try:
            kind = self._kind(resource.type)
            resource.properties = evaluation.properties(logical_id)
            kind.check(resource.properties)
            resource.tags = self._tags(kind, resource)
            self._strike(resource, "create")
            created = kind.create(self._request(resource))
        except Exception as error:  # noqa: BLE001  whatever it is, it is this resource's failure
            self._fail(resource, "CREATE_FAILED", error)
        _apply(resource, created)
        self._event(resource, "CREATE_COMPLETE")
        return resource

    def changed(self, logical_id: str, evaluation: Evaluation) -> set[str]:
        """The properties that differ from what the resource has; {"Type"} if it is to become another type."""
        current = self._stack.resources[logical_id]
        if evaluation.template["Resources"][logical_id]["Type"] != current.type:
            return {"Type"}
        properties = evaluation.properties(logical_id)
        names = {
            name
            for name in {*properties, *current.properties}
            if properties.get(name) != current.properties.get(name)
        }
        desired = replace(current, properties=properties)
        if self._tags(self._kind(current.type), desired) != current.tags:
            names.add("Tags")
        return names

    def update(self, logical_id: str, evaluation: Evaluation, changed: set[str]) -> bool:
        """Changes the resource in place; False if it has to be replaced."""
        current = self._stack.resources[logical_id]
        if changed == {"Type"}:
            return False
        desired = replace(current, properties=evaluation.properties(logical_id))
        self._take_definition(desired, evaluation)
        kind = self._kind(current.type)
        self._event(current, "UPDATE_IN_PROGRESS")
        try:
            kind.check(desired.properties)
            desired.tags = self._tags(kind, desired)
            self._strike(desired, "update")
            created = kind.update(self._request(desired), current.physical_id, changed, current.properties)
        except ReplacementNeededError:
            self._event(
                current,
                "UPDATE_IN_PROGRESS",
                "Requested update requires the creation of a new physical resource; hence creating one.",
            )
            return False
        except Exception as error:  # noqa: BLE001  whatever it is, it is this resource's failure
            self._fail(current, "UPDATE_FAILED", error)
        if created is not None:
            _apply(desired, created)
        self._stack.resources[logical_id] = desired
        self._event(desired, "UPDATE_COMPLETE")
        return True

    def revert(self, current: StackResource, previous: StackResource, changed: set[str]) -> None:
        """Gives a resource that was changed in place, wholly or in part, its previous properties again."""
        self._event(current, "UPDATE_IN_PROGRESS")
        try:
            request = self._request(previous)
            self._kind(current.type).update(request, previous.physical_id, changed, current.properties)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this resource's failure
            self._fail(current, "UPDATE_FAILED", error)
        self._event(previous, "UPDATE_COMPLETE")

    def delete(self, resource: StackResource) -> None:
        self._event(resource, "DELETE_IN_PROGRESS")
        try:
            self._strike(resource, "delete")
            if resource.physical_id:
                self._delete(resource)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this resource's failure
            self._fail(resource, "DELETE_FAILED", error)
        self._event(resource, "DELETE_COMPLETE")

    def skip(self, resource: StackResource) -> None:
        self._event(resource, "DELETE_SKIPPED")

    def _delete(self, resource: StackResource) -> None:
        try:
            self._kind(resource.type).delete(self._request(resource), resource.physical_id)
        except ClientError as error:
            if not is_gone(error):
                raise

    def _kind(self, resource_type: str) -> ResourceType:
        if resource_type not in self._types:
            raise ResourceError(f"{resource_type} is not emulated by the local cloud")
        return self._types[resource_type]

    def _take_definition(self, resource: StackResource, evaluation: Evaluation) -> None:
        definition = evaluation.template["Resources"][resource.logical_id]
        resource.depends_on = evaluation.depends_on[resource.logical_id]
        resource.deletion_policy = definition.get("DeletionPolicy", "Delete")
        resource.update_replace_policy = definition.get("UpdateReplacePolicy", "Delete")

    def _tags(self, kind: ResourceType, resource: StackResource) -> dict[str, str]:
        return {
            **self._stack.tags,
            **kind.own_tags(resource.properties),
            "aws:cloudformation:stack-name": self._stack.name,
            "aws:cloudformation:logical-id": resource.logical_id,
            "aws:cloudformation:stack-id": self._stack.id,
        }

    def _strike(self, resource: StackResource, verb: str) -> None:
        fault = self._faults.take_resource(resource.type, resource.logical_id, verb)
        if fault is None:
            return
        fault.wait()
        if fault.error_code or not (fault.hang or fault.delay_seconds):
            raise PlantedFaultError(fault.message)

    def _request(self, resource: StackResource) -> Request:
        def made(physical_id: str) -> None:
            resource.physical_id = physical_id

        return Request(
            type=resource.type,
            logical_id=resource.logical_id,
            properties=resource.properties,
            tags=resource.tags,
            stack_name=self._stack.name,
            stack_id=self._stack.id,
            account=self._stack.account,
            region=self._stack.region,
            partition=self._stack.partition,
            client_for=self._client_for,
            made=made,
            cancelled=self.cancelled,
        )

    def _event(self, resource: StackResource, status: str, reason: str | None = None) -> None:
        properties = json.dumps(resource.properties, default=str) if resource.properties else None
        self._stack.set_resource(resource, status, reason, self._token, properties)

    def _fail(self, resource: StackResource, status: str, error: Exception) -> NoReturn:
        reason = reason_of(error)
        self._event(resource, status, reason)
        raise ResourceFailedError(resource.logical_id, reason) from error


def is_gone(error: ClientError) -> bool:
    return any(word in error.response["Error"]["Code"] for word in _GONE_WORDS)


def reason_of(error: Exception) -> str:
    """A failure in CloudFormation's words."""
    if isinstance(error, ClientError):
        detail = error.response["Error"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return (
            f'Resource handler returned message: "{detail["Message"]} (Service: {error.operation_name}, '
            f'Status Code: {status}, Error Code: {detail["Code"]})" (HandlerErrorCode: {_handler_code(detail["Code"])})'
        )
    if isinstance(error, ReplacementNeededError):
        return "the local cloud cannot change this resource back in place"
    if isinstance(error, BotoCoreError):
        return f"Properties validation failed: {error}"
    if isinstance(error, (ResourceError, TemplateError, PlantedFaultError)):
        return str(error)
    logging.getLogger(__name__).error("a bug of the local cloud", exc_info=error)
    return f"Internal failure of the local cloud: {type(error).__name__}: {error}"


def _handler_code(code: str) -> str:
    if any(word in code for word in _GONE_WORDS):
        return "NotFound"
    if "AlreadyExist" in code or "Duplicate" in code:
        return "AlreadyExists"
    if "AccessDenied" in code or "Unauthorized" in code:
        return "AccessDenied"
    return "InvalidRequest" if code.startswith(("Invalid", "Validation")) else "GeneralServiceException"


def _apply(resource: StackResource, created: Created) -> None:
    resource.physical_id = created.physical_id
    resource.attributes = created.attributes
