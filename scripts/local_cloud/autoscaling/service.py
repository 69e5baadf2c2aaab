"""Auto Scaling as moto answers it, plus activities, lifecycle hooks that hold, a delete that AWS would refuse, and limits."""

from __future__ import annotations

from typing import Any

from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult, EmptyResult

from scripts.local_cloud.autoscaling import lifecycle
from scripts.local_cloud.autoscaling.activities import activities_of

_KEPT = ("DefaultInstanceWarmup", "MaxInstanceLifetime", "DeletionProtection", "InstanceMaintenancePolicy")


class AutoScaling(AutoScalingResponse):
    def create_auto_scaling_group(self) -> ActionResult:
        name = self._get_param("AutoScalingGroupName")
        if name in self.autoscaling_backend.autoscaling_groups:
            raise AutoscalingClientError(
                "AlreadyExists", "AutoScalingGroup by this name already exists - A group with the name exists"
            )
        self._check_sizes(None)
        answer = super().create_auto_scaling_group()
        self._keep(self._group(name))
        return answer

    def update_auto_scaling_group(self) -> ActionResult:
        group = self._group(self._get_param("AutoScalingGroupName"))
        self._check_sizes(group)
        answer = super().update_auto_scaling_group()
        self._keep(group)
        return answer

    def set_desired_capacity(self) -> ActionResult:
        group, wanted = (
            self._group(self._get_param("AutoScalingGroupName")),
            self._get_int_param("DesiredCapacity"),
        )
        if not (group.min_size or 0) <= wanted <= (group.max_size or 0):
            raise ValidationError(
                f"New SetDesiredCapacity value {wanted} is outside of min value {group.min_size} and max value "
                f"{group.max_size} for the AutoScalingGroup."
            )
        return super().set_desired_capacity()

    def delete_auto_scaling_group(self) -> ActionResult:
        """With ForceDelete the instances go, protected or not; without, there must be none."""
        group = self._group(self._get_param("AutoScalingGroupName"))
        force = self._get_bool_param("ForceDelete", False)
        protection = group.__dict__.get("settings_kept", {}).get("DeletionProtection", "none")
        if protection == "prevent-all-deletion" or (force and protection == "prevent-force-deletion"):
            raise AutoscalingClientError(
                "ResourceInUse", f"The group has the deletion protection {protection}."
            )
        if group.instance_states and not force:
            raise AutoscalingClientError(
                "ResourceInUse",
                "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) "
                "still in the group.",
            )
        # With their outstanding actions.
        for hook in self.autoscaling_backend.describe_lifecycle_hooks(group.name):
            lifecycle.remove(group, hook.name)
        for state in group.instance_states:
            state.protected_from_scale_in = False
        return super().delete_auto_scaling_group()

    def describe_lifecycle_hooks(self) -> ActionResult:
        self._group(self._get_param("AutoScalingGroupName"))
        return super().describe_lifecycle_hooks()

    def delete_lifecycle_hook(self) -> ActionResult:
        lifecycle.remove(self._group(self._get_param("AutoScalingGroupName")), self._hook_name())
        return EmptyResult()

    def complete_lifecycle_action(self) -> ActionResult:
        """By the instance's id; tokens, which only a notification tells, are not emulated."""
        group, hook = self._group(self._get_param("AutoScalingGroupName")), self._hook_name()
        result = self._get_param("LifecycleActionResult")
        if result not in ("CONTINUE", "ABANDON"):
            raise ValidationError(
                f"Invalid LifecycleActionResult: {result}. It has to be CONTINUE or ABANDON."
            )
        lifecycle.complete(group, self._held(group, hook), hook)
        return EmptyResult()

    def record_lifecycle_action_heartbeat(self) -> ActionResult:
        group, hook = self._group(self._get_param("AutoScalingGroupName")), self._hook_name()
        lifecycle.extend(self._held(group, hook), hook)
        return EmptyResult()

    def _hook_name(self) -> str:
        group, name = self._get_param("AutoScalingGroupName"), self._get_param("LifecycleHookName")
        if not self.autoscaling_backend.describe_lifecycle_hooks(group, [name]):
            raise ValidationError(f"No Lifecycle Hook found with name: {name} for group {group}")
        return str(name)

    def _held(self, group: FakeAutoScalingGroup, hook: str) -> InstanceState:
        instance_id = self._get_param("InstanceId")
        for state in group.instance_states:
            if state.instance_id == instance_id and lifecycle.is_held(state, hook):
                return state
        raise ValidationError(f"No active Lifecycle Action found with instance ID {instance_id}")

    def describe_scaling_activities(self) -> ActionResult:
        name = self._get_param("AutoScalingGroupName")
        groups = self.autoscaling_backend.describe_auto_scaling_groups([name] if name else [])
        return ActionResult({"Activities": [entry for group in groups for entry in activities_of(group)]})

    def _group(self, name: str) -> FakeAutoScalingGroup:
        group = self.autoscaling_backend.autoscaling_groups.get(name)
        if group is None:
            raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
        return group

    def _check_sizes(self, group: FakeAutoScalingGroup | None) -> None:
        def given(parameter: str, kept: Any) -> Any:
            value = self._get_int_param(parameter)
            return kept if value is None else value

        least = given("MinSize", group.min_size if group else 0)
        most = given("MaxSize", group.max_size if group else 0)
        wanted = given("DesiredCapacity", None)
        if least > most:
            raise ValidationError("Max bound, must be greater than or equal to min bound")
        if wanted is not None and not least <= wanted <= most:
            raise ValidationError("Desired capacity must be between the specified min size and max size")

    def _keep(self, group: FakeAutoScalingGroup) -> None:
        """Settings that moto drops; as attributes of the group they are described with it."""
        kept = group.__dict__.setdefault("settings_kept", {})
        for name in _KEPT:
            value = self._get_params().get(name)
            if value is not None:
                kept[name] = value
                setattr(group, name, value)
