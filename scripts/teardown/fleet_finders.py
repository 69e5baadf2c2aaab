"""Serving fleets: replicas that still serve, tasks of nobody's service, and what outlived a fleet's stack."""

from __future__ import annotations

from typing import Final

from scripts.aws import autoscaling, ecs, logs
from scripts.aws.cloud import Cloud
from scripts.teardown import fleet_kinds
from scripts.teardown.fleet_nodes import nodes
from scripts.teardown.found import Found, Question, sorted_out
from scripts.teardown.model import Item
from scripts.teardown.order import LOG_GROUP
from scripts.teardown.scope import Scope
from stacks.domain.names import ENVIRONMENT_TAG

_STUCK: Final = "CloudFormation failed to delete it"


def replicas(cloud: Cloud, scope: Scope) -> Found:
    """Drained before their stack goes, so that answers under way come to their end; and tasks that no service owns,
    such as a compile: they would keep the cluster alive."""
    loose: list[Item] = []
    notices: list[str] = []
    for cluster in sorted(scope.fleets.clusters):
        for service in ecs.services_of(cloud, cluster):
            if service.desired or service.running or service.pending:
                state = f"{service.running} of {service.desired} run"
                loose.append(Item(fleet_kinds.REPLICAS, service.arn, service.name, state))
                notices.append(f"replicas of service {service.name} that serve now: {service.running}")
        for task in ecs.tasks(cloud, cluster):
            if not task.has_ended and not task.is_of_a_service:
                loose.append(
                    Item(ecs.TASK, task.arn, task.id, task.status, f"started by {task.started_by or 'hand'}")
                )
    return Found(loose=tuple(loose), notices=tuple(notices))


def tagged(cloud: Cloud, scope: Scope) -> Found:
    """What carries our tag and is of no living stack, or what CloudFormation got stuck on."""
    loose = []
    for arn in dict.fromkeys(
        (*scope.tagged_arns, *(id_ for id_ in scope.fleets.stuck if id_.startswith("arn:")))
    ):
        kind = fleet_kinds.kind_of(arn)
        if (
            kind is None
            or (_is_member(scope, arn) and not _is_stuck(scope, arn))
            or not kind.exists(cloud, arn)
        ):
            continue
        if fleet_kinds.is_of_a_fleet(cloud, arn):
            why = _STUCK if _is_stuck(scope, arn) else ""
            name = fleet_kinds.name_of_kind(cloud, arn)
            loose.append(Item(name, fleet_kinds.id_of(arn), _name(arn), why=why))
        elif kind.name != ecs.TASK_DEFINITION:
            loose.append(Item("tagged resource", arn))
    return Found(loose=tuple(loose))


def auto_scaling_groups(cloud: Cloud, scope: Scope) -> Found:
    """Instances that are protected from scale-in keep CloudFormation waiting for ever."""
    if not scope.fleets.is_used:
        return Found()
    ours = list(autoscaling.groups_with_tag(cloud, ENVIRONMENT_TAG, scope.environment))
    found = sorted_out(
        scope, [(fleet_kinds.AUTO_SCALING_GROUP, group.name, group.name, tags) for group, tags in ours]
    )
    stuck = tuple(
        Item(fleet_kinds.AUTO_SCALING_GROUP, group.name, group.name, f"{group.in_service} instances", _STUCK)
        for group, _ in ours
        if group.name in scope.fleets.stuck
    )
    return Found(loose=(*found.loose, *stuck), suspects=found.suspects)


def log_groups(cloud: Cloud, scope: Scope) -> Found:
    """Lambda and Container Insights make theirs by themselves, without our tags, and again after they were deleted."""
    groups = (logs.find_group(cloud, name) for name in sorted(scope.fleets.log_groups))
    there = [group for group in groups if group is not None and not scope.is_member({}, group.name)]
    return Found(loose=tuple(Item(LOG_GROUP, group.name, group.name) for group in there))


def _is_member(scope: Scope, arn: str) -> bool:
    return scope.is_member({}, arn, arn.rpartition("/")[2], arn.rpartition(":")[2], fleet_kinds.id_of(arn))


def _is_stuck(scope: Scope, arn: str) -> bool:
    return bool({arn, arn.rpartition("/")[2], arn.rpartition(":")[2]} & scope.fleets.stuck)


def _name(arn: str) -> str:
    """The part that people know: a load balancer's and a target group's is followed by an id."""
    resource = arn.split(":", 5)[5].replace(":", "/")
    words = resource.split("/")
    return "/".join(words[1:]) if len(words) > 1 else resource


FLEET_QUESTIONS: Final[tuple[tuple[str, Question], ...]] = (
    ("replicas and tasks of fleets", replicas),
    ("nodes of fleets", nodes),
    ("parts of fleets", tagged),
    ("Auto Scaling groups", auto_scaling_groups),
    ("log groups of functions and clusters", log_groups),
)
