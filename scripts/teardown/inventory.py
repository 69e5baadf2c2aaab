"""What of an environment is there now. Reads only; a question that was not answered is part of the answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from scripts.aws import cloudformation, ec2, tagging
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import Stack
from scripts.aws.translation import AwsError, CredentialsError, UnreachableError
from scripts.teardown.finders import NAMED_ONLY, QUESTIONS, Found, Question
from scripts.teardown.model import Inventory, Item, PaidUntil, StackItem, Target, Unanswered
from scripts.teardown.order import STACK
from scripts.teardown.scope import Scope
from stacks.domain.names import ENVIRONMENT_TAG

_QUESTIONS_AT_ONCE = 8
_Answer = TypeVar("_Answer")


def take_inventory(cloud: Cloud, target: Target) -> Inventory:
    """Raises KitError when the stacks themselves cannot be listed: then nobody could tell a member from a leftover."""
    stacks = cloudformation.all_stacks(cloud)
    ours = tuple(stack for stack in stacks if _is_ours(cloud, stack, target))
    scope = _scope(cloud, target, ours)
    tagged, unanswered = _tagged(cloud, target)
    answers = _ask_all(cloud, replace(scope, tagged_arns=tagged))
    paid, bought, paid_unanswered = _capacities(cloud, target)
    found = [part for part, _ in answers]
    return Inventory(
        stacks=tuple(StackItem(stack.name, stack.id, stack.status, stack.is_protected) for stack in ours),
        jobs=tuple(job for part in found for job in part.jobs),
        loose=tuple(sorted(item for part in found for item in part.loose)),
        suspects=(
            *_suspect_stacks(stacks, ours, scope),
            *sorted(item for part in found for item in part.suspects),
        ),
        kept=_once((*_bootstrap(stacks, target), *bought, *(item for part in found for item in part.kept))),
        paid=paid,
        unanswered=(*unanswered, *paid_unanswered, *(gap for _, gaps in answers for gap in gaps)),
        buckets=tuple(name for part in found for name in part.buckets),
    )


def _is_ours(cloud: Cloud, stack: Stack, target: Target) -> bool:
    tags = stack.tags
    if stack.status == "REVIEW_IN_PROGRESS" and stack.name.startswith(f"{target.environment}-"):
        tags = {**cloudformation.change_set_tags(cloud, stack.name), **tags}
    return tags.get(ENVIRONMENT_TAG) == target.environment


def _scope(cloud: Cloud, target: Target, ours: tuple[Stack, ...]) -> Scope:
    members = (resource for stack in ours for resource in cloudformation.resources(cloud, stack.id))
    return Scope(
        environment=target.environment,
        members=frozenset(resource.physical_id for resource in members if resource.physical_id),
        stack_ids=frozenset(stack.id for stack in ours),
        retained=frozenset(_retained(cloud, target)),
    )


def _retained(cloud: Cloud, target: Target) -> list[str]:
    """What CloudFormation left behind on purpose when it deleted stacks of ours."""
    retained: list[str] = []
    for stack_id in cloudformation.deleted_stack_ids(cloud, target.stacks.all):
        stack = cloudformation.find_stack(cloud, stack_id)
        if stack is None or stack.tags.get(ENVIRONMENT_TAG) != target.environment:
            continue
        resources = cloudformation.resources(cloud, stack_id)
        retained += [r.physical_id for r in resources if r.status == "DELETE_SKIPPED" and r.physical_id]
    return retained


def _tagged(cloud: Cloud, target: Target) -> tuple[tuple[str, ...], tuple[Unanswered, ...]]:
    none: tuple[str, ...] = ()
    return _asked(
        "the tagging API", none, lambda: tagging.arns_with_tag(cloud, ENVIRONMENT_TAG, target.environment)
    )


def _ask_all(cloud: Cloud, scope: Scope) -> list[tuple[Found, tuple[Unanswered, ...]]]:
    def ask(question: tuple[str, Question]) -> tuple[Found, tuple[Unanswered, ...]]:
        what, function = question
        return _asked(what, Found(), lambda: function(cloud, scope))

    with ThreadPoolExecutor(max_workers=_QUESTIONS_AT_ONCE) as pool:
        return list(pool.map(ask, QUESTIONS))


def _asked(
    what: str, default: _Answer, function: Callable[[], _Answer]
) -> tuple[_Answer, tuple[Unanswered, ...]]:
    """A failure that concerns every call (no credentials, no network) is raised; one that concerns this question is said."""
    try:
        return function(), ()
    except (CredentialsError, UnreachableError):
        raise
    except AwsError as error:
        return default, (Unanswered(what, f"{error.message}; {error.hint}".rstrip("; ")),)


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
    paid: list[PaidUntil] = []
    kept: list[Item] = []
    gaps: list[Unanswered] = []
    for name, kind, id_ in target.capacities:
        reservation, unanswered = _asked(
            f"capacity {name}", None, lambda id_=id_: ec2.find_reservation(cloud, id_)
        )
        gaps += unanswered
        if reservation is None or reservation.state in ec2.CAPACITY_RESERVATION.gone:
            continue
        until = reservation.ends.isoformat() if reservation.ends else None
        paid.append(PaidUntil(name, id_, until, reservation.state))
        kept.append(Item("capacity reservation", id_, name, reservation.state, _why_kept(kind, until)))
    return tuple(paid), tuple(kept), tuple(gaps)


def _why_kept(kind: str, until: str | None) -> str:
    if kind == "capacity-block":
        return (
            f"a capacity block cannot be cancelled; it is paid until {until or 'an end that AWS did not say'}"
        )
    return "an on-demand reservation costs money until `aws ec2 cancel-capacity-reservation`"


def _once(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The first word about each: a reservation may be found by the file and by its tag."""
    return tuple({(item.kind, item.id): item for item in reversed(items)}.values())[::-1]
