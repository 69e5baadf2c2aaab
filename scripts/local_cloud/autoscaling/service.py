"""Auto Scaling as moto answers it, plus activities, a delete that AWS would refuse, and limits that hold."""

from __future__ import annotations

from typing import Any

from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import FakeAutoScalingGroup
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult

from scripts.local_cloud.autoscaling.capacity import activities_of

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
        for state in group.instance_states:
            state.protected_from_scale_in = False
        return super().delete_auto_scaling_group()

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
