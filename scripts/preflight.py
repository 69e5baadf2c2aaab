"""What must be true of the account and region before anything is changed. Every check is asked; all problems at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from scripts.aws import cloudformation
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.console import Console
from scripts.live_facts import collect
from scripts.loading import LoadedPlan, judge
from scripts.node_image_search import BUILD_IT
from stacks.domain.catalog import load_catalog
from stacks.domain.errors import InputError, WorldError
from stacks.domain.findings import WorldFindingsError, has_errors, in_words
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.live import CouldNotAsk, LiveFacts
from stacks.domain.lock import Lock
from stacks.domain.plan import JobPlan, Plan
from stacks.domain.rules.live_types import unlisted_clusters

_BUSY_MINUTES_MAX = 60


def refuse_unresolved(plan: Plan, lock: Lock | None, *, is_local: bool) -> None:
    """A deploy makes only what is pinned."""
    update = "run `neuronkit lock FILE`"
    if lock is not None and lock.region != plan.region:
        raise InputError(f"the lock is of region {lock.region}, the file of {plan.region}", update)
    if lock is not None and not is_local and lock.resolved_by != "aws":
        raise InputError(
            f"the lock was resolved by the {lock.resolved_by}, not by AWS",
            "run `neuronkit lock FILE --update`",
        )
    _refuse_unbuilt(plan)
    unresolved = [
        *(f"the AMI of cluster {c.name}" for c in plan.clusters if c.ami is None or not c.ami.is_resolved),
        *(f"the image of job {j.name}" for j in plan.jobs if _lacks_image(j)),
        *(words for fleet in plan.fleets for words in _unresolved_of(fleet)),
    ]
    if unresolved:
        raise InputError(f"not resolved: {', '.join(unresolved)}", update)


def _unresolved_of(fleet: FleetPlan) -> Iterator[str]:
    """Managed instances bring their own AMI."""
    needs_ami = fleet.settings.runs_on == "ec2"
    if fleet.image is None or not fleet.image.is_resolved:
        yield f"the image of fleet {fleet.name}"
    if needs_ami and (fleet.ami is None or not fleet.ami.is_resolved):
        yield f"the AMI of fleet {fleet.name}"
    fallback = fleet.fallback
    if fallback is not None and (fallback.image is None or not fallback.image.is_resolved):
        yield f"the GPU image of fleet {fleet.name}"
    if fallback is not None and (fallback.ami is None or not fallback.ami.is_resolved):
        yield f"the GPU AMI of fleet {fleet.name}"


def _lacks_image(job: JobPlan) -> bool:
    """A job in a virtual environment takes its software from the AMI."""
    return job.virtual_environment is None and (job.image is None or not job.image.is_resolved)


def _refuse_unbuilt(plan: Plan) -> None:
    references = {image.reference: image.slurm_version for image in plan.built_images}
    unbuilt = [
        f"the node image of cluster {c.name} (Slurm {references[c.ami.reference]})"
        for c in plan.clusters
        if c.ami is not None and c.ami.reference in references and not c.ami.is_resolved
    ]
    if unbuilt:
        raise InputError(f"not built yet: {', '.join(unbuilt)}", BUILD_IT)


def check_account(console: Console, cloud: Cloud, loaded: LoadedPlan) -> LiveFacts:
    """The live rules, as `check --live` runs them, and what AWS said. Raises WorldFindingsError with all that it refuses."""
    environment = loaded.loaded.environment
    live = collect(cloud, environment, loaded.plan, load_catalog(), datetime.now(UTC))
    _refuse_unknown_types(loaded.plan, live)
    judged = judge(loaded, live)
    if has_errors(judged.findings):
        raise WorldFindingsError(judged.findings, "nothing was changed")
    console.findings(judged.findings)
    for line in in_words(judged.not_checked):
        console.progress(line)
    return live


def _refuse_unknown_types(plan: Plan, live: LiveFacts) -> None:
    """Only EC2 can vouch for a type that the catalog does not know: no answer is a no. What it says is judged later."""
    for cluster in unlisted_clusters(plan):
        answer = live.of(live.instance_types, cluster.instance_type)
        if isinstance(answer, CouldNotAsk):
            raise WorldError(
                f"{cluster.instance_type}: only the file names this type, and EC2 could not be asked: {answer.why}",
                "nothing was changed; allow ec2:DescribeInstanceTypes",
            )


def make_way(
    console: Console,
    cloud: Cloud,
    plan: Plan,
    pause: Callable[[float], None] = time.sleep,
    *,
    names: Sequence[str] = (),
) -> None:
    """Waits for operations that an earlier, interrupted command started, and deletes stacks that cannot be updated.

    `names` are the stacks that it is about; none: all of the plan.
    """
    for name in names or plan.stacks.all:
        stack = _idle(console, cloud, name, pause)
        if stack is None:
            continue
        if stack.status == "UPDATE_ROLLBACK_FAILED":
            raise WorldError(
                f"stack {name} is in UPDATE_ROLLBACK_FAILED: {stack.reason}",
                f"remove the cause and run `aws cloudformation continue-update-rollback --stack-name {name}`, "
                "or `neuronkit destroy`",
            )
        if stack.has_to_go:
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
