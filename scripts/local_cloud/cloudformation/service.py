"""CloudFormation's API, as far as boto3, the AWS CLI and the CDK CLI use it for stacks and change sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from scripts.local_cloud import runtime
from scripts.local_cloud.cloudformation import describe, parameters, template_source
from scripts.local_cloud.cloudformation.backend import (
    CloudFormationBackend,
    ValidationError,
    cloudformation_backends,
)
from scripts.local_cloud.cloudformation.resource_type import ResourceError, tag_map
from scripts.local_cloud.cloudformation.stack import Proposal, Stack
from scripts.local_cloud.cloudformation.template import TemplateError, needed_capabilities, parse
from scripts.local_cloud.own_service import ActionResult, EmptyResult, OwnService, ServiceException

_PAGE = 100


def _reporting(method: Callable[[Any], ActionResult]) -> Callable[[Any], ActionResult]:
    """A template that cannot be read or resolved is a ValidationError, as in CloudFormation."""

    @wraps(method)
    def answer(self: Any) -> ActionResult:
        try:
            return method(self)
        except (TemplateError, ResourceError) as error:
            raise ValidationError(str(error)) from error

    return answer


class CloudFormation(OwnService):
    service = "cloudformation"

    @property
    def backend(self) -> CloudFormationBackend:
        return cloudformation_backends[self.current_account][self.region]

    # ---- stacks

    @_reporting
    def create_stack(self) -> ActionResult:
        arguments = self.arguments()
        stack = self.backend.create(arguments["StackName"], self._proposal(None))
        stack.termination_protection = bool(arguments.get("EnableTerminationProtection"))
        return self._settled(stack, {"StackId": stack.id})

    @_reporting
    def update_stack(self) -> ActionResult:
        stack = self._stack(allow_deleted=False)
        self.backend.update(stack, self._proposal(stack))
        return self._settled(stack, {"StackId": stack.id})

    def delete_stack(self) -> ActionResult:
        arguments = self.arguments()
        stack = self.backend.live(arguments["StackName"])
        if stack is None:
            return EmptyResult()
        self.backend.delete(
            stack,
            retain=frozenset(arguments.get("RetainResources") or ()),
            force=arguments.get("DeletionMode") == "FORCE_DELETE_STACK",
            token=arguments.get("ClientRequestToken"),
        )
        return self._settled(stack, None)

    def cancel_update_stack(self) -> ActionResult:
        stack = self._stack(allow_deleted=False)
        self.backend.cancel_update(stack)
        return self._settled(stack, None)

    def update_termination_protection(self) -> ActionResult:
        stack = self._stack(allow_deleted=False)
        stack.termination_protection = bool(self.arguments()["EnableTerminationProtection"])
        return ActionResult({"StackId": stack.id})

    def describe_stacks(self) -> ActionResult:
        name = self.arguments().get("StackName")
        stacks = (
            [self.backend.get(name)]
            if name
            else [s for s in self.backend.stacks.values() if s.deleted is None]
        )
        return self._page("Stacks", [describe.stack(item) for item in stacks])

    def list_stacks(self) -> ActionResult:
        wanted = self.arguments().get("StackStatusFilter")
        stacks = [stack for stack in self.backend.stacks.values() if not wanted or stack.status in wanted]
        return self._page("StackSummaries", [describe.stack_summary(item) for item in stacks])

    def describe_stack_events(self) -> ActionResult:
        events = self._stack().events
        return self._page("StackEvents", [describe.event(item) for item in reversed(events)])

    def describe_stack_resources(self) -> ActionResult:
        arguments = self.arguments()
        if "StackName" not in arguments:
            raise ValidationError("StackName is required by the local cloud")
        stack = self._stack()
        wanted = arguments.get("LogicalResourceId")
        resources = [item for item in stack.listed_resources if wanted in (None, item.logical_id)]
        return ActionResult({"StackResources": [describe.resource(stack, item) for item in resources]})

    def describe_stack_resource(self) -> ActionResult:
        stack, name = self._stack(), self.arguments()["LogicalResourceId"]
        if name not in stack.resources:
            raise ValidationError(f"Resource {name} does not exist for stack {stack.name}")
        return ActionResult({"StackResourceDetail": describe.resource_detail(stack, stack.resources[name])})

    def list_stack_resources(self) -> ActionResult:
        resources = self._stack().listed_resources
        return self._page("StackResourceSummaries", [describe.resource_summary(item) for item in resources])

    def get_template(self) -> ActionResult:
        arguments = self.arguments()
        proposed = "ChangeSetName" in arguments
        body = self._change_set().proposal.body if proposed else self._stack().body
        return ActionResult({"TemplateBody": body, "StagesAvailable": ["Original", "Processed"]})

    @_reporting
    def get_template_summary(self) -> ActionResult:
        name = self.arguments().get("StackName")
        body = self.backend.get(name).body if name else self._body(None)
        template = parse(body)
        capability = needed_capabilities(template)
        return ActionResult(
            {
                "Parameters": describe.parameter_declarations(template),
                "Capabilities": [capability] if capability else [],
                "ResourceTypes": sorted({item["Type"] for item in template["Resources"].values()}),
                "Description": template.get("Description"),
                "Metadata": json.dumps(template["Metadata"]) if "Metadata" in template else None,
            }
        )

    @_reporting
    def validate_template(self) -> ActionResult:
        template = parse(self._body(None))
        capability = needed_capabilities(template)
        return ActionResult(
            {
                "Parameters": describe.parameter_declarations(template),
                "Description": template.get("Description"),
                "Capabilities": [capability] if capability else [],
            }
        )

    def list_exports(self) -> ActionResult:
        stacks = [stack for stack in self.backend.stacks.values() if stack.deleted is None]
        exports = [
            {"ExportingStackId": stack.id, "Name": name, "Value": value}
            for stack in stacks
            for name, value in stack.exports.items()
        ]
        return self._page("Exports", exports)

    def list_imports(self) -> ActionResult:
        name = self.arguments()["ExportName"]
        importers = self.backend.importers(name)
        if not importers:
            raise ValidationError(f"Export '{name}' is not imported by any stack.")
        return self._page("Imports", importers)

    # ---- change sets

    @_reporting
    def create_change_set(self) -> ActionResult:
        arguments = self.arguments()
        kind = arguments.get("ChangeSetType", "UPDATE")
        name = arguments["StackName"]
        if kind not in ("CREATE", "UPDATE"):
            raise ValidationError(f"Change sets of type {kind} are not emulated by the local cloud")
        stack = self.backend.live(name)
        if kind == "UPDATE":
            if stack is None:
                raise ValidationError(f"Stack [{name}] does not exist")
            self.backend.check_updatable(stack)
        elif stack is not None and stack.status != "REVIEW_IN_PROGRESS":
            raise ValidationError(
                f"Stack [{name}] already exists and cannot be created again with the changeSet "
                f"[{arguments['ChangeSetName']}]."
            )
        proposal = self._proposal(stack if kind == "UPDATE" else None)
        if stack is None:
            stack = self.backend.new_stack(name)
            stack.set_status("REVIEW_IN_PROGRESS", "User Initiated", proposal.token)
        change_set = self.backend.create_change_set(
            arguments["ChangeSetName"], stack, kind, proposal, arguments.get("Description")
        )
        return ActionResult({"Id": change_set.id, "StackId": stack.id})

    def describe_change_set(self) -> ActionResult:
        return ActionResult(describe.change_set(self._change_set()))

    def list_change_sets(self) -> ActionResult:
        stack = self._stack()
        found = [item for item in self.backend.change_sets.values() if item.stack is stack]
        return self._page("Summaries", [describe.change_set_summary(item) for item in found])

    def delete_change_set(self) -> ActionResult:
        try:
            change_set = self._change_set()
        except ServiceException:
            return EmptyResult()
        self.backend.change_sets.pop(change_set.id, None)
        return ActionResult({})

    @_reporting
    def execute_change_set(self) -> ActionResult:
        arguments = self.arguments()
        change_set = self._change_set()
        proposal = change_set.proposal
        proposal.token = arguments.get("ClientRequestToken", proposal.token)
        proposal.disable_rollback = bool(arguments.get("DisableRollback", proposal.disable_rollback))
        self.backend.execute(change_set)
        return self._settled(change_set.stack, {})

    # ---- shared

    def _stack(self, allow_deleted: bool = True) -> Stack:
        return self.backend.get(self.arguments()["StackName"], allow_deleted)

    def _change_set(self) -> Any:
        arguments = self.arguments()
        return self.backend.change_set(arguments["ChangeSetName"], arguments.get("StackName"))

    def _proposal(self, stack: Stack | None) -> Proposal:
        arguments = self.arguments()
        body = self._body(stack)
        template = parse(body)
        given = parameters.given_values(arguments.get("Parameters") or [], stack.parameters if stack else {})
        tags = tag_map(arguments["Tags"]) if "Tags" in arguments else dict(stack.tags) if stack else {}
        return Proposal(
            body=body,
            template=template,
            parameters=parameters.with_defaults(template, given),
            tags=tags,
            capabilities=list(arguments.get("Capabilities") or ()),
            notification_arns=list(arguments.get("NotificationARNs") or ()),
            role_arn=arguments.get("RoleARN"),
            disable_rollback=bool(arguments.get("DisableRollback")),
            on_failure=arguments.get("OnFailure") or arguments.get("OnStackFailure") or "ROLLBACK",
            token=arguments.get("ClientToken") or arguments.get("ClientRequestToken"),
        )

    def _body(self, stack: Stack | None) -> str:
        arguments = self.arguments()
        if arguments.get("TemplateBody"):
            return str(arguments["TemplateBody"])
        if arguments.get("TemplateURL"):
            s3 = runtime.current().clients.client("s3", self.current_account, self.region)
            return template_source.fetch(arguments["TemplateURL"], s3)
        if arguments.get("UsePreviousTemplate") and stack is not None:
            return stack.body
        raise ValidationError("Either Template URL or Template Body must be specified.")

    def _settled(self, stack: Stack, answer: dict[str, Any] | None) -> ActionResult:
        self.backend.settle(stack, runtime.current().settings.settle_seconds)
        return EmptyResult() if answer is None else ActionResult(answer)

    def _page(self, key: str, items: list[Any]) -> ActionResult:
        start = int(self.arguments().get("NextToken") or 0)
        answer: dict[str, Any] = {key: items[start : start + _PAGE]}
        if start + _PAGE < len(items):
            answer["NextToken"] = str(start + _PAGE)
        return ActionResult(answer)
