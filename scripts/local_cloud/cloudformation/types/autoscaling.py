"""AWS::AutoScaling::AutoScalingGroup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    as_bool,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without
from scripts.local_cloud.cloudformation.types.waiting import wait_until

# As long as a lifecycle hook can hold an instance that ends (Auto Scaling user guide, lifecycle-hooks: 48 hours).
_EMPTY_SECONDS_MAX = 48 * 3600.0


class AutoScalingGroup(ResourceType):
    name = "AWS::AutoScaling::AutoScalingGroup"
    properties = split_words(
        "AutoScalingGroupName MinSize MaxSize DesiredCapacity LaunchTemplate VPCZoneIdentifier HealthCheckType "
        "HealthCheckGracePeriod NewInstancesProtectedFromScaleIn DefaultInstanceWarmup MaxInstanceLifetime "
        "DeletionProtection TerminationPolicies CapacityRebalance Tags"
    )
    # moto has no call that changes these; AWS changes them in place.
    _not_emulated = split_words("TerminationPolicies CapacityRebalance")

    def create(self, request: Request) -> Created:
        autoscaling = request.client("autoscaling")
        name = request.name_or_generated("AutoScalingGroupName", 255)
        given = self._given(request, "CreateAutoScalingGroup")
        autoscaling.create_auto_scaling_group(
            AutoScalingGroupName=name, Tags=self._tags(request, name), **given
        )
        request.made(name)
        (group,) = self._described(request, name)
        return Created(name, {"AutoScalingGroupARN": group["AutoScalingGroupARN"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "AutoScalingGroupName" in changed:
            raise ReplacementNeededError
        if changed & self._not_emulated:
            raise ResourceError(
                f"a change of {', '.join(sorted(changed & self._not_emulated))} is not emulated by the local cloud"
            )
        autoscaling = request.client("autoscaling")
        given = self._given(request, "UpdateAutoScalingGroup")
        autoscaling.update_auto_scaling_group(AutoScalingGroupName=physical_id, **given)
        (group,) = self._described(request, physical_id)
        superfluous = [tag for tag in group["Tags"] if tag["Key"] not in request.tags]
        if superfluous:
            autoscaling.delete_tags(Tags=superfluous)
        autoscaling.create_or_update_tags(Tags=self._tags(request, physical_id))

    def delete(self, request: Request, physical_id: str) -> None:
        """As CloudFormation does it: first to zero, then, when the instances are gone, the group.

        Instances that are protected from scale-in stay, and the delete hangs in AWS; here it fails at once.
        """
        autoscaling = request.client("autoscaling")
        if not self._described(request, physical_id):
            return
        autoscaling.update_auto_scaling_group(
            AutoScalingGroupName=physical_id, MinSize=0, MaxSize=0, DesiredCapacity=0
        )

        def empty() -> bool:
            groups = self._described(request, physical_id)
            left = groups[0]["Instances"] if groups else []
            protected = [one["InstanceId"] for one in left if one["ProtectedFromScaleIn"]]
            if protected:
                raise ResourceError(
                    f"The group {physical_id} cannot be emptied: {', '.join(protected)} are protected from scale-in. "
                    "AWS would wait for long and then fail in the same way."
                )
            return not left

        wait_until(request, empty, _EMPTY_SECONDS_MAX, f"the group {physical_id} still has instances")
        autoscaling.delete_auto_scaling_group(AutoScalingGroupName=physical_id)

    def _described(self, request: Request, name: str) -> list[dict[str, Any]]:
        answer = request.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])
        found: list[dict[str, Any]] = answer["AutoScalingGroups"]
        return found

    def _given(self, request: Request, operation: str) -> dict[str, Any]:
        given = without(request.properties, "AutoScalingGroupName", "Tags")
        if "VPCZoneIdentifier" in given:
            given["VPCZoneIdentifier"] = ",".join(given["VPCZoneIdentifier"])
        return api_parameters(request.client("autoscaling"), operation, given)

    def _tags(self, request: Request, name: str) -> list[dict[str, Any]]:
        """The template says of its own tags whether they go to the instances; those of the stack do."""
        own = {tag["Key"]: as_bool(tag.get("PropagateAtLaunch", False)) for tag in request.get("Tags") or ()}
        return [
            {
                "Key": key,
                "Value": value,
                "PropagateAtLaunch": own.get(key, True),
                "ResourceId": name,
                "ResourceType": "auto-scaling-group",
            }
            for key, value in request.tags.items()
        ]


TYPES: list[ResourceType] = [AutoScalingGroup()]
