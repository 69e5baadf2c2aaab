"""What of an environment is there now. Reads only; a question that was not answered is part of the answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from scripts.aws import cloudformation, ec2, tagging
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack, StackResource
from scripts.aws.ec2 import CapacityReservation
from scripts.aws.translation import AwsError, CredentialsError
from scripts.teardown.finders import QUESTIONS
from scripts.teardown.fleet_scope import fleet_scope
from scripts.teardown.found import NAMED_ONLY, Found, Question
from scripts.teardown.model import Inventory, Item, PaidUntil, StackItem, Target, Unanswered
from scripts.teardown.order import STACK
from scripts.teardown.scope import Scope, SlurmScope
from stacks.domain.names import ENVIRONMENT_TAG

_QUESTIONS_AT_ONCE = 8
_Answer = TypeVar("_Answer")


def take_inventory(cloud: Cloud, target: Target) -> Inventory:
    """Raises KitError when the stacks themselves cannot be listed: then nobody could tell a member from a leftover."""
    stacks = cloudformation.all_stacks(cloud)
    ours = tuple(stack for stack in stacks if _is_ours(cloud, stack, target))
    scope = _scope(cloud, target, ours)
    tagged, unanswered = _tagged(cloud, target)
    if any(_is_of_slurm(arn) for arn in tagged):
        scope = replace(scope, slurm=replace(scope.slurm, is_used=True))
    answers = _ask_all(cloud, replace(scope, tagged_arns=tagged))
    paid, bought, paid_unanswered = _capacities(cloud, target)
    found = [part for part, _ in answers]
    return Inventory(
        stacks=tuple(StackItem(stack.name, stack.id, stack.status, stack.is_protected) for stack in ours),
        jobs=tuple(job for part in found for job in part.jobs),
        # Two questions may find the same thing.
        loose=tuple(sorted({item for part in found for item in part.loose})),
        suspects=(
            *_suspect_stacks(stacks, ours, scope),
            *sorted(item for part in found for item in part.suspects),
        ),
        kept=(*_bootstrap(stacks, target), *bought, *(item for part in found for item in part.kept)),
        paid=paid,
        unanswered=(*unanswered, *paid_unanswered, *(gap for _, gaps in answers for gap in gaps)),
        buckets=tuple(name for part in found for name in part.buckets),
        notices=tuple(notice for part in found for notice in part.notices),
    )


def _is_ours(cloud: Cloud, stack: Stack, target: Target) -> bool:
    tags = stack.tags
    if stack.status == "REVIEW_IN_PROGRESS" and stack.name.startswith(f"{target.environment}-"):
        tags = {**cloudformation.change_set_tags(cloud, stack.name), **tags}
    return tags.get(ENVIRONMENT_TAG) == target.environment


def _scope(cloud: Cloud, target: Target, ours: tuple[Stack, ...]) -> Scope:
    living = [
        (stack, r) for stack in ours for r in cloudformation.resources(cloud, stack.id) if r.physical_id
    ]
    former = _resources_of_deleted_stacks(cloud, target)
    # A deletion that failed half-way has let go of some already.
    every = [*(resource for _, resource in living), *former]
    retained = frozenset(r.physical_id for r in every if r.status == "DELETE_SKIPPED")
    return Scope(
        environment=target.environment,
        members=frozenset(r.physical_id for _, r in living if r.status != "DELETE_COMPLETE") - retained,
        stack_ids=frozenset(stack.id for stack in ours),
        retained=retained,
        slurm=_slurm_scope(target, living, former),
        fleets=fleet_scope(target.uses_fleets, living, former),
    )


def _resources_of_deleted_stacks(cloud: Cloud, target: Target) -> list[StackResource]:
    """Of ours, while CloudFormation remembers them."""
    found: list[StackResource] = []
    for stack_id in cloudformation.deleted_stack_ids(cloud, target.stacks.all):
        stack = cloudformation.find_stack(cloud, stack_id)
        if stack is not None and stack.tags.get(ENVIRONMENT_TAG) == target.environment:
            found += [r for r in cloudformation.resources(cloud, stack_id) if r.physical_id]
    return found


def _slurm_scope(
    target: Target, living: list[tuple[Stack, StackResource]], former: list[StackResource]
) -> SlurmScope:
    is_there = [(stack, r) for stack, r in living if _is_pcs(r) and r.status != "DELETE_COMPLETE"]
    over = [r for r in (*(r for _, r in living), *former) if _is_pcs(r) and r.status == "DELETE_COMPLETE"]
    stuck = (r for stack, r in is_there if stack.status == r.status == "DELETE_FAILED")
    return SlurmScope(
        is_used=target.uses_slurm or bool(is_there or over),
        living=frozenset(_pcs_id(r) for _, r in is_there if r.type == "AWS::PCS::Cluster"),
        gone=frozenset(_pcs_id(r) for r in over if r.type != "AWS::PCS::Queue"),
        stuck=frozenset(r.physical_id for r in stuck),
    )


def _is_pcs(resource: StackResource) -> bool:
    return resource.type.startswith("AWS::PCS::")


def _pcs_id(resource: StackResource) -> str:
    """The last part of the ARN, which CloudFormation has for PCS's resources."""
    return resource.physical_id.rpartition("/")[2]


def _is_of_slurm(arn: str) -> bool:
    """What nothing but a Slurm cluster has. EFS is a fleet's as well."""
    service, resource = arn.split(":", 5)[2], arn.split(":", 5)[5]
    return service in ("pcs", "fsx") or (service == "logs" and resource.startswith("delivery"))


def _tagged(cloud: Cloud, target: Target) -> tuple[tuple[str, ...], tuple[Unanswered, ...]]:
    arns, unanswered = _asked(
        "the tagging API", partial(tagging.arns_with_tag, cloud, ENVIRONMENT_TAG, target.environment)
    )
    return arns or (), unanswered


def _ask_all(cloud: Cloud, scope: Scope) -> list[tuple[Found, tuple[Unanswered, ...]]]:
    def ask(question: tuple[str, Question]) -> tuple[Found, tuple[Unanswered, ...]]:
        what, function = question
        found, unanswered = _asked(what, partial(function, cloud, scope))
        return found or Found(), unanswered

    with ThreadPoolExecutor(max_workers=_QUESTIONS_AT_ONCE) as pool:
        return list(pool.map(ask, QUESTIONS))


def _asked(what: str, function: Callable[[], _Answer]) -> tuple[_Answer | None, tuple[Unanswered, ...]]:
    """A failure that concerns every call (no credentials) is raised; one that concerns this question is said.

    A service that cannot be reached is one of the latter: CloudFormation has answered, and not every region has every
    service.
    """
    try:
        return function(), ()
    except CredentialsError:
        raise
    except AwsError as error:
        return None, (Unanswered(what, f"{error.message}; {error.hint}".rstrip("; ")),)


def _suspect_stacks(stacks: tuple[Stack, ...], ours: tuple[Stack, ...], scope: Scope) -> list[Item]:
    return [
        Item(STACK, stack.name, state=stack.status, why=NAMED_ONLY)
        for stack in stacks
        if stack not in ours and ENVIRONMENT_TAG not in stack.tags and stack.name.startswith(scope.prefix)
    ]


def _bootstrap(stacks: tuple[Stack, ...], target: Target) -> list[Item]:
    why = "the CDK's own, shared by everything in this account and region that the CDK deploys"
    return [
        Item("bootstrap stack", stack.name, why=why)
        for stack in stacks
        if stack.name == target.bootstrap_stack
    ]


def _capacities(
    cloud: Cloud, target: Target
) -> tuple[tuple[PaidUntil, ...], tuple[Item, ...], tuple[Unanswered, ...]]:
    """Those that the file names, and those that carry our tag."""
    answer, unanswered = _asked("capacity reservations", partial(_reservations, cloud, target))
    found = answer or ()
    names = {id_: name for name, id_ in target.capacities}
    return (
        tuple(PaidUntil(names.get(r.id, ""), r.id, _iso(r.ends), r.state) for r in found),
        tuple(Item("capacity reservation", r.id, names.get(r.id, ""), r.state, _why_kept(r)) for r in found),
        unanswered,
    )


def _reservations(cloud: Cloud, target: Target) -> tuple[CapacityReservation, ...]:
    named = (ec2.find_reservation(cloud, id_) for _, id_ in target.capacities)
    tagged = ec2.reservations_with_tag(cloud, ENVIRONMENT_TAG, target.environment)
    found = {r.id: r for r in (*named, *tagged) if r is not None}
    return tuple(r for _, r in sorted(found.items()) if r.is_paid_for)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _why_kept(reservation: CapacityReservation) -> str:
    if reservation.type == "capacity-block":
        return f"a capacity block cannot be cancelled; it is paid until {_iso(reservation.ends) or 'an unknown date'}"
    return (
        "an on-demand reservation costs money until you cancel it: `aws ec2 cancel-capacity-reservation "
        f"--capacity-reservation-id {reservation.id}`"
    )
