"""`neuronkit destroy` and `neuronkit leftovers` from end to end: ask, remove, and look again."""

from __future__ import annotations

from scripts.aws import s3
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from scripts.confirmation import confirm
from scripts.console import Console
from scripts.teardown.executor import Executor
from scripts.teardown.inventory import take_inventory
from scripts.teardown.leftovers import Report, report
from scripts.teardown.model import Inventory, Target
from scripts.teardown.order import is_in_use
from stacks.domain.errors import WorldError


def find_leftovers(cloud: Cloud, target: Target) -> Report:
    """Reads only."""
    return report(take_inventory(cloud, target))


def destroy(console: Console, cloud: Cloud, target: Target, *, yes: bool) -> Report:
    inventory = take_inventory(cloud, target)
    if inventory.is_empty:
        found = "was found, but not every question was answered," if inventory.unanswered else "is"
        console.progress(
            f"nothing of {target.environment} {found} in {cloud.name}, account {cloud.account}, {cloud.region}"
        )
        return report(inventory)
    console.progress(_announcement(cloud, target, inventory))
    confirm(console, f"Delete all of this from account {cloud.account}, {cloud.region}?", yes=yes)
    outcome = Executor(cloud, target, console.progress).run(inventory)
    return report(outcome.inventory, outcome.deleted, outcome.failures)


def complaint(target: Target, found: Report) -> WorldError:
    """Why a destroy, or a look at the leftovers, did not end well."""
    if found.leftovers:
        return WorldError(
            f"{len(found.leftovers)} left of {target.environment}; each with its reason above",
            "`neuronkit destroy` continues from here; `neuronkit leftovers` looks again",
        )
    return WorldError(
        f"AWS did not answer every question about {target.environment}: whether something is left is not known",
        "see NOT CHECKED above; give the permission, or try again",
    )


def _announcement(cloud: Cloud, target: Target, inventory: Inventory) -> str:
    lines = [f"environment {target.environment} in {cloud.name}, account {cloud.account}, {cloud.region}:"]
    lines += [f"  running job {job.name} ({job.state}) will be stopped" for job in inventory.jobs]
    lines += [f"  stack {stack.name} ({stack.status})" for stack in reversed(inventory.stacks)]
    # What is in use goes with its user: a node has an interface a card, and a cluster has many nodes.
    lines += [f"  {item.label}" for item in inventory.loose if not is_in_use(item)]
    lines += [f"  {notice}" for notice in inventory.notices]
    lines += [f"  NOT CHECKED {gap.what}: {gap.why}" for gap in inventory.unanswered]
    lines += [f"  all data in bucket {name}: {_amount(cloud, name)}" for name in inventory.buckets]
    return "\n".join(lines)


def _amount(cloud: Cloud, bucket: str) -> str:
    try:
        contents = s3.contents(cloud, bucket)
    except AwsError as error:
        return f"how much could not be asked ({error.message})"
    more = "" if contents.is_complete else "more than "
    return f"{more}{contents.objects} object versions, {more}{contents.bytes / 2**20:.1f} MiB"
