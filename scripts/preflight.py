"""What must be true of the account and region before anything is changed. Every check is asked; all problems at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from scripts.aws import cloudformation, ec2
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.bootstrapping import bootstrap_version
from scripts.capacity import reservation_problems
from scripts.console import Console
from stacks.domain.errors import InputError, WorldError
from stacks.domain.lock import Lock
from stacks.domain.names import ENVIRONMENT_TAG
from stacks.domain.plan import Plan

BOOTSTRAP_VERSION_MIN = 6
"""The CDK's own minimum for its default synthesizer (aws-cdk-lib, DefaultStackSynthesizer)."""
_BUSY_MINUTES_MAX = 60
# CloudFormation cannot update a stack in one of these; there is nothing in it that is worth keeping.
_TO_DELETE_FIRST = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED")


def refuse_unresolved(plan: Plan, lock: Lock | None, file: str, *, is_local: bool) -> None:
    """A deploy makes only what is pinned."""
    update = f"run `neuronkit lock {file}`"
    if lock is not None and lock.region != plan.region:
        raise InputError(f"the lock is of region {lock.region}, the file of {plan.region}", update)
    if lock is not None and not is_local and lock.resolved_by != "aws":
        raise InputError(f"the lock was resolved by the {lock.resolved_by}, not by AWS", f"{update} --update")
    unresolved = [
        *(f"the AMI of cluster {c.name}" for c in plan.clusters if c.ami is None or not c.ami.is_resolved),
        *(f"the image of job {j.name}" for j in plan.jobs if j.image is None or not j.image.is_resolved),
    ]
    if unresolved:
        raise InputError(f"not resolved: {', '.join(unresolved)}", update)


def check_account(cloud: Cloud, plan: Plan, file: str) -> None:
    """Zone, bootstrap, reservations and the names of our stacks. Raises WorldError with all problems."""
    stacks = {name: cloudformation.find_stack(cloud, name) for name in plan.stacks.all}
    problems = [
        *_zone_problems(cloud, plan),
        *_bootstrap_problems(cloud, plan, file),
        *reservation_problems(cloud, plan),
        *(problem for stack in stacks.values() if stack for problem in _clash(stack, plan)),
    ]
    if problems:
        raise WorldError("\n".join(problems), "nothing was changed")


def make_way(console: Console, cloud: Cloud, plan: Plan, pause: Callable[[float], None] = time.sleep) -> None:
    """Waits for operations that an earlier, interrupted command started, and deletes stacks that cannot be updated."""
    for name in plan.stacks.all:
        stack = _idle(console, cloud, name, pause)
        if stack is None:
            continue
        if stack.status == "UPDATE_ROLLBACK_FAILED":
            raise WorldError(
                f"stack {name} is in UPDATE_ROLLBACK_FAILED: {stack.reason}",
                f"remove the cause and run `aws cloudformation continue-update-rollback --stack-name {name}`, "
                "or `neuronkit destroy`",
            )
        if stack.status in _TO_DELETE_FIRST:
            console.progress(f"stack {name} is in {stack.status}: deleting it first")
            cloudformation.delete_stack(cloud, stack.id)
            _require_gone(console, cloud, stack, pause)


def _require_gone(console: Console, cloud: Cloud, stack: Stack, pause: Callable[[float], None]) -> None:
    left = _idle(console, cloud, stack.id, pause)
    if left is not None and left.status != "DELETE_COMPLETE":
        raise WorldError(
            f"stack {stack.name} could not be deleted ({left.status}): {left.reason}",
            "run `neuronkit destroy` first",
        )


def _idle(console: Console, cloud: Cloud, name: str, pause: Callable[[float], None]) -> Stack | None:
    """The stack when nothing runs in it any more."""
    waited = 0.0
    while (stack := cloudformation.find_stack(cloud, name)) is not None and stack.is_busy:
        if waited == 0.0:
            console.progress(f"stack {stack.name} is in {stack.status}: waiting for it")
        if waited > _BUSY_MINUTES_MAX * 60:
            raise WorldError(
                f"stack {stack.name} is still in {stack.status} after {_BUSY_MINUTES_MAX} minutes",
                "give the same command again later",
            )
        pause(cloud.poll_seconds)
        waited += cloud.poll_seconds
    return stack


def _zone_problems(cloud: Cloud, plan: Plan) -> list[str]:
    zones = [zone.id for zone in ec2.zones(cloud)]
    if plan.zone_id in zones:
        return []
    return [
        f"zone {plan.zone_id} is not in {plan.region} for this account; it has {', '.join(sorted(zones))}"
    ]


def _bootstrap_problems(cloud: Cloud, plan: Plan, file: str) -> list[str]:
    version = bootstrap_version(cloud, plan.cdk_qualifier)
    command = f"run `neuronkit{' --local' if cloud.is_local else ''} bootstrap {file}`"
    where = f"account {cloud.account}, region {cloud.region}"
    if version is None:
        return [f"{where} is not bootstrapped for the CDK with qualifier {plan.cdk_qualifier}: {command}"]
    if version < BOOTSTRAP_VERSION_MIN:
        return [
            f"the CDK bootstrap of {where} has version {version}, {BOOTSTRAP_VERSION_MIN} is needed: {command}"
        ]
    return []


def _clash(stack: Stack, plan: Plan) -> list[str]:
    """A stack that was never created holds nothing; the CDK takes it over."""
    if stack.tags.get(ENVIRONMENT_TAG) == plan.name or stack.status == "REVIEW_IN_PROGRESS":
        return []
    owner = stack.tags.get(ENVIRONMENT_TAG)
    whose = (
        f"belongs to environment {owner}"
        if owner
        else f"does not carry the tag {ENVIRONMENT_TAG}={plan.name}"
    )
    return [f"there is a stack {stack.name} that {whose}: choose another `name` in the file"]
