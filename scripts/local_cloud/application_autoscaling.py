"""Application Auto Scaling for ECS services: targets, policies and scheduled actions are kept and checked.

Registering a target, or registering it again, brings the count of its service into its range. Otherwise nothing scales by
itself: no alarm is made and no scheduled action fires.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

from moto.core.base_backend import BackendDict, BaseBackend
from moto.scheduler.exceptions import ValidationException as ScheduleException

from scripts.local_cloud.aws_scheduler import check_expression
from scripts.local_cloud.ecs.backend import EcsBackend, ecs_backends
from scripts.local_cloud.ecs.resources import Service
from scripts.local_cloud.own_service import ActionResult, OwnService, ServiceException

_DIMENSION = "ecs:service:DesiredCount"
_Key = tuple[str, str]


class ValidationException(ServiceException):
    code = "ValidationException"


class ObjectNotFoundException(ServiceException):
    code = "ObjectNotFoundException"


class Backend(BaseBackend):
    """Policies and scheduled actions by resource and name."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.targets: dict[str, dict[str, Any]] = {}
        self.policies: dict[_Key, dict[str, Any]] = {}
        self.actions: dict[_Key, dict[str, Any]] = {}
        self.tags: dict[str, dict[str, str]] = {}


backends = BackendDict(Backend, "application-autoscaling")


class ApplicationAutoScaling(OwnService):
    service = "application-autoscaling"

    @property
    def backend(self) -> Backend:
        return backends[self.current_account][self.region]

    # ---- targets

    def register_scalable_target(self) -> ActionResult:
        given = self._checked()
        resource = given["ResourceId"]
        service = self._service(resource)
        known = self.backend.targets.get(resource)
        if known is None and not {"MinCapacity", "MaxCapacity"} <= set(given):
            raise ValidationException("A new scalable target needs MinCapacity and MaxCapacity.")
        target = {**(known or self._new_target()), **_kept(given)}
        if target["MinCapacity"] > target["MaxCapacity"] or target["MinCapacity"] < 0:
            raise ValidationException("Maximum capacity cannot be less than minimum capacity.")
        self.backend.targets[resource] = target
        # On every call, even one without a capacity (botocore 1.44.8, RegisterScalableTarget).
        with self._ecs.lock:
            service.desired = min(max(service.desired, target["MinCapacity"]), target["MaxCapacity"])
        if given.get("Tags"):
            self.backend.tags[target["ScalableTargetARN"]] = dict(given["Tags"])
        return ActionResult({"ScalableTargetARN": target["ScalableTargetARN"]})

    def describe_scalable_targets(self) -> ActionResult:
        wanted = self.arguments().get("ResourceIds") or list(self.backend.targets)
        found = [target for name, target in self.backend.targets.items() if name in wanted]
        return ActionResult({"ScalableTargets": found})

    def deregister_scalable_target(self) -> ActionResult:
        resource = self._checked()["ResourceId"]
        target = self.backend.targets.pop(resource, None)
        if target is None:
            raise ObjectNotFoundException(f"No scalable target found for resource ID: {resource}")
        self.backend.tags.pop(target["ScalableTargetARN"], None)
        for kept in (self.backend.policies, self.backend.actions):
            for key in [key for key in kept if key[0] == resource]:
                del kept[key]
        return ActionResult({})

    def _new_target(self) -> dict[str, Any]:
        name = secrets.token_hex(16)
        partition = self.backend.partition
        return {
            "ScalableTargetARN": f"arn:{partition}:application-autoscaling:{self.region}:{self.current_account}:"
            f"scalable-target/{name}",
            "RoleARN": f"arn:{partition}:iam::{self.current_account}:role/aws-service-role/"
            "ecs.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_ECSService",
            "CreationTime": datetime.now(UTC),
            "SuspendedState": {
                "DynamicScalingInSuspended": False,
                "DynamicScalingOutSuspended": False,
                "ScheduledScalingSuspended": False,
            },
        }

    @property
    def _ecs(self) -> EcsBackend:
        return ecs_backends[self.current_account][self.region]

    def _service(self, resource: str) -> Service:
        parts = resource.split("/")
        cluster = self._ecs.find_cluster(parts[1]) if len(parts) == 3 else None
        service = cluster.services.get(parts[2]) if cluster is not None else None
        if parts[0] != "service" or service is None or service.status != "ACTIVE":
            raise ValidationException(f"ECS service doesn't exist: {resource}")
        return service

    # ---- policies

    def put_scaling_policy(self) -> ActionResult:
        given = self._checked()
        self._target(given["ResourceId"])
        _check_policy(given)
        key = (given["ResourceId"], given["PolicyName"])
        arn = (
            f"arn:{self.backend.partition}:autoscaling:{self.region}:{self.current_account}:scalingPolicy:"
            f"{secrets.token_hex(16)}:resource/ecs/{given['ResourceId']}:policyName/{given['PolicyName']}"
        )
        policy = {"PolicyARN": arn, "CreationTime": datetime.now(UTC), **self.backend.policies.get(key, {})}
        self.backend.policies[key] = {**policy, **_kept(given), "Alarms": []}
        return ActionResult({"PolicyARN": policy["PolicyARN"], "Alarms": []})

    def describe_scaling_policies(self) -> ActionResult:
        return ActionResult({"ScalingPolicies": self._found(self.backend.policies, "PolicyNames")})

    def delete_scaling_policy(self) -> ActionResult:
        given = self._checked()
        if self.backend.policies.pop((given["ResourceId"], given["PolicyName"]), None) is None:
            raise ObjectNotFoundException(f"No scaling policy found: {given['PolicyName']}")
        return ActionResult({})

    # ---- scheduled actions

    def put_scheduled_action(self) -> ActionResult:
        given = self._checked()
        self._target(given["ResourceId"])
        zone = given.get("Timezone")
        if zone is not None and zone not in available_timezones():
            raise ValidationException(f"Invalid time zone: {zone}")
        try:
            check_expression(given["Schedule"])
        except ScheduleException as error:
            raise ValidationException(f"Invalid schedule: {given['Schedule']}") from error
        key = (given["ResourceId"], given["ScheduledActionName"])
        arn = (
            f"arn:{self.backend.partition}:autoscaling:{self.region}:{self.current_account}:scheduledAction:"
            f"{secrets.token_hex(16)}:resource/ecs/{key[0]}:scheduledActionName/{key[1]}"
        )
        kept = {
            "ScheduledActionARN": arn,
            "CreationTime": datetime.now(UTC),
            **self.backend.actions.get(key, {}),
        }
        self.backend.actions[key] = {**kept, **_kept(given)}
        return ActionResult({})

    def describe_scheduled_actions(self) -> ActionResult:
        return ActionResult({"ScheduledActions": self._found(self.backend.actions, "ScheduledActionNames")})

    def delete_scheduled_action(self) -> ActionResult:
        given = self._checked()
        if self.backend.actions.pop((given["ResourceId"], given["ScheduledActionName"]), None) is None:
            raise ObjectNotFoundException(f"No scheduled action found: {given['ScheduledActionName']}")
        return ActionResult({})

    def list_tags_for_resource(self) -> ActionResult:
        return ActionResult({"Tags": self.backend.tags.get(self.arguments()["ResourceARN"], {})})

    def tag_resource(self) -> ActionResult:
        given = self.arguments()
        self.backend.tags.setdefault(given["ResourceARN"], {}).update(given["Tags"])
        return ActionResult({})

    def untag_resource(self) -> ActionResult:
        given = self.arguments()
        carried = self.backend.tags.get(given["ResourceARN"], {})
        for key in given["TagKeys"]:
            carried.pop(key, None)
        return ActionResult({})

    # ---- shared

    def _checked(self) -> dict[str, Any]:
        given = self.arguments()
        if given.get("ServiceNamespace") != "ecs" or given.get("ScalableDimension", _DIMENSION) != _DIMENSION:
            raise ValidationException("The local cloud scales ecs:service:DesiredCount only.")
        return given

    def _target(self, resource: str) -> dict[str, Any]:
        if resource not in self.backend.targets:
            raise ObjectNotFoundException(f"No scalable target registered for resource ID: {resource}")
        return self.backend.targets[resource]

    def _found(self, kept: Mapping[_Key, dict[str, Any]], names: str) -> list[dict[str, Any]]:
        given = self.arguments()
        resource, wanted = given.get("ResourceId"), given.get(names)
        return [
            item
            for (item_resource, name), item in kept.items()
            if resource in (None, item_resource) and (not wanted or name in wanted)
        ]


def _check_policy(given: Mapping[str, Any]) -> None:
    kinds = {
        "StepScaling": "StepScalingPolicyConfiguration",
        "TargetTrackingScaling": "TargetTrackingScalingPolicyConfiguration",
    }
    kind = given.get("PolicyType", "StepScaling")
    if kind not in kinds or not given.get(kinds[kind]):
        raise ValidationException(f"The policy type {kind} needs its configuration.")
    tracking = given.get("TargetTrackingScalingPolicyConfiguration")
    if tracking is None:
        return
    metrics = [
        name
        for name in ("PredefinedMetricSpecification", "CustomizedMetricSpecification")
        if tracking.get(name)
    ]
    if len(metrics) != 1:
        raise ValidationException("Target tracking needs either a predefined or a customized metric.")
    customized = (tracking.get("CustomizedMetricSpecification") or {}).get("Metrics") or ()
    if customized and sum(metric.get("ReturnData", True) for metric in customized) != 1:
        raise ValidationException("Exactly one metric of a customized specification returns data.")


def _kept(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "Tags"}
