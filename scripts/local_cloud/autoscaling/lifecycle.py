"""Lifecycle hooks at the end of instances: Terminating:Wait until each hook's action is completed, or its time is over.

Hooks at the start of instances are kept and described, and hold nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from moto.autoscaling.models import (
    AutoScalingBackend,
    FakeAutoScalingGroup,
    InstanceState,
    LifecycleHook,
    autoscaling_backends,
)

from scripts.local_cloud import runtime
from scripts.local_cloud.autoscaling.activities import note
from scripts.local_cloud.ec2.instance_interfaces import release
from scripts.local_cloud.ecs.resources import emulated_seconds

TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"
WAITING = "Terminating:Wait"
_TICK_SECONDS = 0.2


def start() -> None:
    threading.Thread(target=_run, name="lifecycle hooks", daemon=True).start()


def _run() -> None:
    while not runtime.current().stopping.wait(_TICK_SECONDS):
        for regions in list(autoscaling_backends.values()):
            for backend in list(regions.values()):
                with runtime.current().moto_lock:
                    for group in list(backend.autoscaling_groups.values()):
                        _expire(group)


def hooks_of(group: FakeAutoScalingGroup) -> list[LifecycleHook]:
    """Those that hold instances which end."""
    found: list[LifecycleHook] = group.autoscaling_backend.describe_lifecycle_hooks(group.name)
    return [hook for hook in found if hook.lifecycle_transition == TERMINATING]


def put(backend: AutoScalingBackend, group_name: str, name: str, seconds: int, result: str) -> None:
    hook = backend.create_lifecycle_hook(name, group_name, TERMINATING, seconds, result)
    # moto invents a role and a queue.
    del hook.role_arn, hook.notification_target_arn


def waiting(group: FakeAutoScalingGroup) -> list[InstanceState]:
    return [state for state in group.instance_states if state.lifecycle_state == WAITING]


def hold(group: FakeAutoScalingGroup, count: int) -> None:
    """As many of the instances that scale-in may take; nothing where no hook holds them."""
    names = [hook.name for hook in hooks_of(group)]
    free = [state for state in group.active_instances() if not state.protected_from_scale_in]
    for state in free[: max(count, 0)] if names else ():
        state.lifecycle_state = WAITING
        state.__dict__["held_since"] = dict.fromkeys(names, time.monotonic())
        note(group, f"Terminating EC2 instance: {state.instance_id}", "MidTerminatingLifecycleAction")


def is_held(state: InstanceState, hook_name: str) -> bool:
    return state.lifecycle_state == WAITING and hook_name in _held_since(state)


def extend(state: InstanceState, hook_name: str) -> None:
    """A heartbeat."""
    _held_since(state)[hook_name] = time.monotonic()


def complete(group: FakeAutoScalingGroup, state: InstanceState, hook_name: str) -> None:
    """The instance ends when no other hook holds it. ABANDON, which AWS takes for all hooks, is not told apart."""
    _held_since(state).pop(hook_name, None)
    if not _held_since(state):
        _end(group, [state])


def remove(group: FakeAutoScalingGroup, hook_name: str) -> None:
    """With its outstanding actions, as AWS does: those are completed."""
    group.autoscaling_backend.delete_lifecycle_hook(group.name, hook_name)
    for state in waiting(group):
        if is_held(state, hook_name):
            complete(group, state, hook_name)


def _held_since(state: InstanceState) -> dict[str, float]:
    """By hook."""
    found: dict[str, float] = state.__dict__.setdefault("held_since", {})
    return found


def _expire(group: FakeAutoScalingGroup) -> None:
    limits = {hook.name: hook.heartbeat_timeout for hook in hooks_of(group)}
    for state in waiting(group):
        for name, since in list(_held_since(state).items()):
            if emulated_seconds(since) >= limits.get(name, 0):
                complete(group, state, name)


def _end(group: FakeAutoScalingGroup, states: Iterable[InstanceState]) -> None:
    for state in states:
        group.instance_states.remove(state)
        ec2 = group.autoscaling_backend.ec2_backend
        ec2.terminate_instances([state.instance_id])
        release(ec2, [state.instance_id])
        note(group, f"Terminating EC2 instance: {state.instance_id}", "Successful")
