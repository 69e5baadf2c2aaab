"""Instances of Auto Scaling groups: refusals of capacity that tests plant, activities that say so, no leftovers.

A fault {"service": "autoscaling", "action": "LaunchInstances", "error_code": "InsufficientInstanceCapacity",
"message"?, "times"?: null} lets launches fail: the group stays short, and its activities tell why.
"""

from __future__ import annotations

from moto.autoscaling.models import FakeAutoScalingGroup

from scripts.local_cloud import runtime
from scripts.local_cloud.autoscaling import lifecycle
from scripts.local_cloud.autoscaling.activities import note
from scripts.local_cloud.ec2.instance_interfaces import release


def emulate() -> None:
    launch = FakeAutoScalingGroup.replace_autoscaling_group_instances
    set_capacity = FakeAutoScalingGroup.set_desired_capacity

    def replace_autoscaling_group_instances(
        self: FakeAutoScalingGroup, count_needed: int, propagated_tags: dict[str, str]
    ) -> None:
        fault = runtime.current().faults.take_call("autoscaling", "LaunchInstances")
        if fault is not None:
            code = fault.error_code or "InsufficientInstanceCapacity"
            note(self, f"Launching {count_needed} EC2 instances", "Failed", f"{code}: {fault.message}")
            return
        launch(self, count_needed, propagated_tags)
        for state in self.instance_states[-count_needed:]:
            note(self, f"Launching a new EC2 instance: {state.instance_id}", "Successful")

    def set_desired_capacity(self: FakeAutoScalingGroup, new_capacity: int | None) -> None:
        wanted = (self.min_size if new_capacity is None else new_capacity) or 0
        lifecycle.hold(self, len(self.active_instances()) - wanted)
        if lifecycle.waiting(self) and len(self.active_instances()) > wanted:
            # The others are protected; moto would end those that wait in their place.
            self.desired_capacity = wanted
            return
        before = {state.instance_id for state in self.instance_states}
        set_capacity(self, new_capacity)
        ended = before - {state.instance_id for state in self.instance_states}
        release(self.ec2_backend, ended)
        for instance_id in sorted(ended):
            note(self, f"Terminating EC2 instance: {instance_id}", "Successful")

    FakeAutoScalingGroup.replace_autoscaling_group_instances = replace_autoscaling_group_instances  # type: ignore[method-assign]
    FakeAutoScalingGroup.set_desired_capacity = set_desired_capacity  # type: ignore[method-assign]
