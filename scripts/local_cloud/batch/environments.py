"""Compute environments and job queues: kept as they were given, valid only if what they refer to exists."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from moto.ec2.models.instance_types import INSTANCE_FAMILIES, INSTANCE_TYPES

from scripts.local_cloud.batch.errors import ClientException


@dataclass
class ComputeEnvironment:
    name: str
    arn: str
    ecs_cluster_arn: str
    type: str
    state: str
    resources: dict[str, Any]
    service_role: str
    update_policy: dict[str, Any] | None
    context: str | None
    tags: dict[str, str]
    status: str = "VALID"
    status_reason: str = "ComputeEnvironment Healthy"
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))

    def describe(self) -> dict[str, Any]:
        return {
            "computeEnvironmentName": self.name,
            "computeEnvironmentArn": self.arn,
            "ecsClusterArn": self.ecs_cluster_arn,
            "tags": dict(self.tags),
            "type": self.type,
            "state": self.state,
            "status": self.status,
            "statusReason": self.status_reason,
            "computeResources": deepcopy(self.resources) or None,
            "serviceRole": self.service_role,
            "updatePolicy": self.update_policy,
            "containerOrchestrationType": "ECS",
            "uuid": self.uuid,
            "context": self.context,
        }


@dataclass
class JobQueue:
    name: str
    arn: str
    state: str
    priority: int
    environment_order: list[dict[str, Any]]
    time_limit_actions: list[dict[str, Any]]
    scheduling_policy_arn: str | None
    tags: dict[str, str]
    status: str = "VALID"

    def describe(self) -> dict[str, Any]:
        return {
            "jobQueueName": self.name,
            "jobQueueArn": self.arn,
            "state": self.state,
            "status": self.status,
            "statusReason": "JobQueue Healthy",
            "priority": self.priority,
            "computeEnvironmentOrder": deepcopy(self.environment_order),
            "jobStateTimeLimitActions": deepcopy(self.time_limit_actions),
            "schedulingPolicyArn": self.scheduling_policy_arn,
            "jobQueueType": "ECS",
            "tags": dict(self.tags),
        }

    def environments(self) -> list[str]:
        """ARNs, in the order in which they are tried."""
        return [
            item["computeEnvironment"]
            for item in sorted(self.environment_order, key=lambda item: item["order"])
        ]


def check_environment_request(kind: str, resources: Mapping[str, Any]) -> None:
    """What CreateComputeEnvironment refuses at once."""
    if kind not in ("MANAGED", "UNMANAGED"):
        raise ClientException(f"type must be one of [MANAGED, UNMANAGED], {kind} given")
    if kind == "UNMANAGED":
        return
    if not resources:
        raise ClientException("computeResources must be provided for a MANAGED compute environment")
    if resources["type"] not in ("EC2", "SPOT"):
        raise ClientException(
            f"computeResources of type {resources['type']} are not emulated by the local cloud"
        )
    for member in ("maxvCpus", "subnets", "instanceRole", "instanceTypes"):
        if resources.get(member) in (None, [], ""):
            raise ClientException(f"computeResources.{member} must be provided")
    if int(resources.get("minvCpus", 0)) > int(resources["maxvCpus"]):
        raise ClientException("minvCpus must not exceed maxvCpus")
    families = {*INSTANCE_FAMILIES, "optimal", "default_x86_64", "default_arm64"}
    for name in resources["instanceTypes"]:
        if name not in INSTANCE_TYPES and name not in families:
            raise ClientException(
                f"Instance type can only be one of [types and families that EC2 knows], {name} given"
            )


def problem(resources: Mapping[str, Any], client: Callable[[str], Any]) -> str | None:
    """Why an environment with these resources is INVALID: something that it names does not exist."""
    if not resources:
        return None
    ec2, iam = client("ec2"), client("iam")
    checks: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (ec2.describe_subnets, {"SubnetIds": list(resources["subnets"])}),
        (iam.get_instance_profile, {"InstanceProfileName": resources["instanceRole"].rsplit("/", 1)[-1]}),
    ]
    if resources.get("securityGroupIds"):
        checks.append((ec2.describe_security_groups, {"GroupIds": list(resources["securityGroupIds"])}))
    if resources.get("placementGroup"):
        checks.append((ec2.describe_placement_groups, {"GroupNames": [resources["placementGroup"]]}))
    template = resources.get("launchTemplate") or {}
    if template:
        by_id = "launchTemplateId" in template
        wanted = {"LaunchTemplateIds": [template["launchTemplateId"]]} if by_id else {}
        if not by_id:
            wanted = {"LaunchTemplateNames": [template.get("launchTemplateName", "")]}
        checks.append((ec2.describe_launch_templates, wanted))
    for call, parameters in checks:
        try:
            call(**parameters)
        except ClientError as error:
            return f"CLIENT_ERROR - {error.response['Error']['Message']}"
    return None
