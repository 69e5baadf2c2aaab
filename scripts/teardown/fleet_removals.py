"""How the parts of a fleet are removed: replicas drained, the rest deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from scripts.aws import alarms, autoscaling, ecs, elbv2, lambda_functions, ssm
from scripts.aws.cloud import Cloud
from scripts.teardown import fleet_kinds
from scripts.teardown.fleet_kinds import cluster_of
from scripts.teardown.fleet_nodes import NODE_REMOVALS
from scripts.teardown.removal import SlowRemoval, Standing

_REASON: Final = "neuronkit destroy"


def _drain(cloud: Cloud, arn: str) -> None:
    ecs.set_desired(cloud, cluster_of(arn), arn, 0)


def _look_at_replicas(cloud: Cloud, arn: str) -> Standing | None:
    """Scaling and the fallback controller may raise the count meanwhile: it is lowered again, until the stack takes them along."""
    for service in ecs.services(cloud, cluster_of(arn), [arn]):
        if service.desired:
            _drain(cloud, arn)
        if service.is_active and (service.desired or service.running or service.pending):
            return Standing(f"{service.running} still run", is_busy=True, has_failed=False)
    return None


def _delete_service(cloud: Cloud, arn: str) -> None:
    ecs.delete_service(cloud, cluster_of(arn), arn)


def _look_at_service(cloud: Cloud, arn: str) -> Standing | None:
    found = [one for one in ecs.services(cloud, cluster_of(arn), [arn]) if one.status != "INACTIVE"]
    return Standing(found[0].status, is_busy=True, has_failed=False) if found else None


def _stop_task(cloud: Cloud, arn: str) -> None:
    ecs.stop_task(cloud, cluster_of(arn), arn, _REASON)


def _look_at_task(cloud: Cloud, arn: str) -> Standing | None:
    found = [one for one in ecs.describe_tasks(cloud, cluster_of(arn), [arn]) if not one.has_ended]
    return Standing(found[0].status, is_busy=True, has_failed=False) if found else None


def _look_at_group(cloud: Cloud, name: str) -> Standing | None:
    found = autoscaling.find_group(cloud, name)
    return Standing(f"{found.in_service} instances", is_busy=True, has_failed=False) if found else None


def _look_at_cluster(cloud: Cloud, arn: str) -> Standing | None:
    return Standing("there", is_busy=True, has_failed=False) if ecs.cluster_is_active(cloud, arn) else None


def _look_at_provider(cloud: Cloud, arn: str) -> Standing | None:
    found = ecs.find_capacity_provider(cloud, arn)
    if found is None:
        return None
    return Standing(found.state, is_busy=not found.is_kept, has_failed=found.is_kept, why=found.why)


def _look_at_balancer(cloud: Cloud, arn: str) -> Standing | None:
    return (
        Standing("there", is_busy=True, has_failed=False) if elbv2.load_balancer_exists(cloud, arn) else None
    )


def _look_at_target_group(cloud: Cloud, arn: str) -> Standing | None:
    return (
        Standing("there", is_busy=True, has_failed=False) if elbv2.target_group_exists(cloud, arn) else None
    )


FLEET_REMOVALS: Final[Mapping[str, SlowRemoval]] = {
    fleet_kinds.REPLICAS: SlowRemoval(_drain, _look_at_replicas),
    ecs.TASK: SlowRemoval(_stop_task, _look_at_task),
    ecs.SERVICE: SlowRemoval(_delete_service, _look_at_service),
    fleet_kinds.AUTO_SCALING_GROUP: SlowRemoval(autoscaling.delete_group, _look_at_group),
    ecs.CLUSTER: SlowRemoval(ecs.delete_cluster, _look_at_cluster),
    ecs.CAPACITY_PROVIDER: SlowRemoval(ecs.delete_capacity_provider, _look_at_provider),
    ecs.MANAGED_PROVIDER: SlowRemoval(ecs.delete_capacity_provider, _look_at_provider),
    fleet_kinds.LOAD_BALANCER: SlowRemoval(elbv2.delete_load_balancer, _look_at_balancer),
    fleet_kinds.TARGET_GROUP: SlowRemoval(elbv2.delete_target_group, _look_at_target_group),
    **NODE_REMOVALS,
}
AT_ONCE: Final[Mapping[str, Callable[[Cloud, str], None]]] = {
    fleet_kinds.FUNCTION: lambda_functions.delete,
    fleet_kinds.ALARM: alarms.delete,
    fleet_kinds.PARAMETER: ssm.delete_parameter,
    ecs.TASK_DEFINITION: ecs.deregister_task_definition,
}
