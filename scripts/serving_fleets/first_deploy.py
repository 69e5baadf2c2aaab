"""Whether a fleet's stack is (still) at its first deploy: its services begin without a task, its target without a minimum.

Only the stack itself remembers: its parameter stays "true" until a deploy has seen the fleet started, whatever was killed or
has failed before that.
"""

from __future__ import annotations

from scripts.aws import cloudformation, elbv2
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from stacks.domain import names


def is_first_deploy(cloud: Cloud, stack_name: str) -> bool:
    """Of the update that comes next. What serves is never set back to no task."""
    stack = cloudformation.find_stack(cloud, stack_name)
    if stack is None or stack.was_never_made:
        return True
    return begins_without_a_task(stack) and not _serves(cloud, stack)


def begins_without_a_task(stack: Stack) -> bool:
    return stack.parameters.get(names.PARAMETER_FIRST_DEPLOY) == "true"


def _serves(cloud: Cloud, stack: Stack) -> bool:
    """On either side."""
    outputs = (names.OUTPUT_NEURON_TARGET_GROUP, names.OUTPUT_GPU_TARGET_GROUP)
    groups = [stack.outputs[name] for name in outputs if name in stack.outputs]
    found = [elbv2.target_health(cloud, group) for group in groups]
    return any(health.healthy for health in found if health is not None)
