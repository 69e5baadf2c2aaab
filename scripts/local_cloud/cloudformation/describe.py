"""Stacks, resources, events and change sets in the shapes of CloudFormation's answers."""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.cloudformation.stack import ChangeSet, Stack, StackEvent, StackResource


def stack(item: Stack) -> dict[str, Any]:
    return {
        "StackId": item.id,
        "StackName": item.name,
        "ChangeSetId": item.change_set_id,
        "Description": item.template.get("Description"),
        "Parameters": _parameters(item.parameters, item.template),
        "CreationTime": item.created,
        "LastUpdatedTime": item.updated,
        "DeletionTime": item.deleted,
        "StackStatus": item.status,
        "StackStatusReason": item.reason,
        "DisableRollback": item.disable_rollback,
        "NotificationARNs": item.notification_arns,
        "Capabilities": item.capabilities,
        "Outputs": list(item.outputs.values()),
        "RoleARN": item.role_arn,
        "Tags": _tags(item.tags),
        "EnableTerminationProtection": item.termination_protection,
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
    }


def stack_summary(item: Stack) -> dict[str, Any]:
    return {
        "StackId": item.id,
        "StackName": item.name,
        "TemplateDescription": item.template.get("Description"),
        "CreationTime": item.created,
        "LastUpdatedTime": item.updated,
        "DeletionTime": item.deleted,
        "StackStatus": item.status,
        "StackStatusReason": item.reason,
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
    }


def event(item: StackEvent) -> dict[str, Any]:
    return {
        "StackId": item.stack_id,
        "EventId": item.event_id,
        "StackName": item.stack_name,
        "LogicalResourceId": item.logical_id,
        "PhysicalResourceId": item.physical_id,
        "ResourceType": item.resource_type,
        "Timestamp": item.timestamp,
        "ResourceStatus": item.status,
        "ResourceStatusReason": item.reason,
        "ResourceProperties": item.properties,
        "ClientRequestToken": item.token,
    }


def resource_summary(item: StackResource) -> dict[str, Any]:
    return {
        "LogicalResourceId": item.logical_id,
        "PhysicalResourceId": item.physical_id,
        "ResourceType": item.type,
        "LastUpdatedTimestamp": item.updated,
        "ResourceStatus": item.status,
        "ResourceStatusReason": item.reason,
        "DriftInformation": {"StackResourceDriftStatus": "NOT_CHECKED"},
    }


def resource(owner: Stack, item: StackResource) -> dict[str, Any]:
    summary = resource_summary(item)
    return {
        **summary,
        "Timestamp": summary.pop("LastUpdatedTimestamp"),
        "StackId": owner.id,
        "StackName": owner.name,
    }


def resource_detail(owner: Stack, item: StackResource) -> dict[str, Any]:
    return {**resource_summary(item), "StackId": owner.id, "StackName": owner.name}


def change_set_summary(item: ChangeSet) -> dict[str, Any]:
    return {
        "StackId": item.stack.id,
        "StackName": item.stack.name,
        "ChangeSetId": item.id,
        "ChangeSetName": item.name,
        "ExecutionStatus": item.execution_status,
        "Status": item.status,
        "StatusReason": item.reason,
        "CreationTime": item.created,
        "Description": item.description,
    }


def change_set(item: ChangeSet) -> dict[str, Any]:
    return {
        **change_set_summary(item),
        "Parameters": _parameters(item.proposal.parameters, item.proposal.template),
        "NotificationARNs": item.proposal.notification_arns,
        "Capabilities": item.proposal.capabilities,
        "Tags": _tags(item.proposal.tags),
        "Changes": item.changes,
        "IncludeNestedStacks": False,
    }


def parameter_declarations(template: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "ParameterKey": name,
            "DefaultValue": spec.get("Default"),
            "ParameterType": spec["Type"],
            "NoEcho": bool(spec.get("NoEcho")),
            "Description": spec.get("Description"),
        }
        for name, spec in (template.get("Parameters") or {}).items()
    ]


def _parameters(values: dict[str, Any], template: dict[str, Any]) -> list[dict[str, str]]:
    declared = template.get("Parameters") or {}
    return [
        {
            "ParameterKey": name,
            "ParameterValue": "****" if declared.get(name, {}).get("NoEcho") else str(value),
        }
        for name, value in values.items()
    ]


def _tags(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
