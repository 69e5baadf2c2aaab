"""AWS::ApplicationAutoScaling: ScalableTarget (with its scheduled actions), ScalingPolicy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without

_IDENTITY = ("ServiceNamespace", "ResourceId", "ScalableDimension")


class ScalableTarget(ResourceType):
    name = "AWS::ApplicationAutoScaling::ScalableTarget"
    properties = split_words(
        "ServiceNamespace ResourceId ScalableDimension MinCapacity MaxCapacity RoleARN SuspendedState ScheduledActions Tags"
    )

    def create(self, request: Request) -> Created:
        identity = _identity(request.properties)
        self._register(request)
        self._retag(request)
        physical_id = "|".join(
            identity[name] for name in ("ResourceId", "ScalableDimension", "ServiceNamespace")
        )
        request.made(physical_id)
        for action in request.get("ScheduledActions") or ():
            self._put_action(request, action)
        return Created(physical_id, {"Id": physical_id})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & set(_IDENTITY):
            raise ReplacementNeededError
        self._register(request)
        self._retag(request)
        after = request.get("ScheduledActions") or []
        names = {action["ScheduledActionName"] for action in after}
        for action in old.get("ScheduledActions") or ():
            if action["ScheduledActionName"] not in names:
                request.client("application-autoscaling").delete_scheduled_action(
                    ScheduledActionName=action["ScheduledActionName"], **_identity(request.properties)
                )
        for action in after:
            self._put_action(request, action)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("application-autoscaling").deregister_scalable_target(**_identity(request.properties))

    def _register(self, request: Request) -> None:
        client = request.client("application-autoscaling")
        given = api_parameters(
            client, "RegisterScalableTarget", without(request.properties, "ScheduledActions", "Tags")
        )
        client.register_scalable_target(**given)

    def _retag(self, request: Request) -> None:
        client = request.client("application-autoscaling")
        resource = {"ServiceNamespace": request["ServiceNamespace"], "ResourceIds": [request["ResourceId"]]}
        (target,) = client.describe_scalable_targets(**resource)["ScalableTargets"]
        arn = target["ScalableTargetARN"]
        superfluous = sorted(set(client.list_tags_for_resource(ResourceARN=arn)["Tags"]) - set(request.tags))
        if superfluous:
            client.untag_resource(ResourceARN=arn, TagKeys=superfluous)
        client.tag_resource(ResourceARN=arn, Tags=request.tags)

    def _put_action(self, request: Request, action: Mapping[str, Any]) -> None:
        client = request.client("application-autoscaling")
        given = api_parameters(client, "PutScheduledAction", {**_identity(request.properties), **action})
        client.put_scheduled_action(**given)


class ScalingPolicy(ResourceType):
    name = "AWS::ApplicationAutoScaling::ScalingPolicy"
    properties = split_words(
        "PolicyName PolicyType ScalingTargetId ServiceNamespace ResourceId ScalableDimension "
        "StepScalingPolicyConfiguration TargetTrackingScalingPolicyConfiguration"
    )
    _identifying = frozenset({"PolicyName", "ScalingTargetId", *_IDENTITY})

    def create(self, request: Request) -> Created:
        arn = self._put(request)
        return Created(arn, {"Arn": arn})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & self._identifying:
            raise ReplacementNeededError
        self._put(request)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("application-autoscaling").delete_scaling_policy(
            PolicyName=request["PolicyName"], **self._target(request)
        )

    def _put(self, request: Request) -> str:
        client = request.client("application-autoscaling")
        given = without(request.properties, "ScalingTargetId", *_IDENTITY)
        parameters = api_parameters(client, "PutScalingPolicy", {**given, **self._target(request)})
        return str(client.put_scaling_policy(**parameters)["PolicyARN"])

    def _target(self, request: Request) -> dict[str, str]:
        if not request.has("ScalingTargetId"):
            return _identity(request.properties)
        parts = request["ScalingTargetId"].split("|")
        if len(parts) != len(_IDENTITY):
            raise ResourceError(f"{request['ScalingTargetId']} is no scalable target")
        return {"ResourceId": parts[0], "ScalableDimension": parts[1], "ServiceNamespace": parts[2]}


def _identity(properties: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(properties[name]) for name in _IDENTITY}


TYPES: list[ResourceType] = [ScalableTarget(), ScalingPolicy()]
