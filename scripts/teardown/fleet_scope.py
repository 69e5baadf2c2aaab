"""What the stacks say of fleets: their ECS clusters, what CloudFormation got stuck on, and which logs AWS wrote by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scripts.aws.cloudformation import Stack, StackResource
from scripts.teardown.scope import FleetScope

_CLUSTER: Final = "AWS::ECS::Cluster"
_GROUP: Final = "AWS::AutoScaling::AutoScalingGroup"
_FUNCTION: Final = "AWS::Lambda::Function"
_DELETED_ONE_BY_ONE: Final = (
    _GROUP,
    "AWS::ECS::CapacityProvider",
    "AWS::ECS::Cluster",
    "AWS::ECS::Service",
    "AWS::ElasticLoadBalancingV2::LoadBalancer",
    "AWS::ElasticLoadBalancingV2::TargetGroup",
)


def fleet_scope(
    uses_fleets: bool, living: Iterable[tuple[Stack, StackResource]], former: Iterable[StackResource]
) -> FleetScope:
    known = list(living)
    every = [*(resource for _, resource in known), *former]
    there = [(stack, r) for stack, r in known if r.status != "DELETE_COMPLETE"]
    clusters = frozenset(r.physical_id for _, r in there if r.type == _CLUSTER)
    return FleetScope(
        is_used=uses_fleets or any(r.type == _CLUSTER for r in every),
        clusters=clusters,
        groups=frozenset(r.physical_id for _, r in there if r.type == _GROUP),
        stuck=frozenset(
            r.physical_id
            for stack, r in there
            if stack.status == r.status == "DELETE_FAILED" and r.type in _DELETED_ONE_BY_ONE
        ),
        log_groups=frozenset(name for r in every for name in _own_log_groups(r)),
    )


def _own_log_groups(resource: StackResource) -> tuple[str, ...]:
    if resource.type == _FUNCTION:
        return (f"/aws/lambda/{resource.physical_id}",)
    if resource.type == _CLUSTER:
        return (f"/aws/ecs/containerinsights/{resource.physical_id}/performance",)
    return ()
