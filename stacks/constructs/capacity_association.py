"""Which capacity providers an ECS cluster may use."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id

Association = ecs.CfnClusterCapacityProviderAssociations


def associate(
    scope: Construct, cluster: ecs.CfnCluster, *, by_default: Sequence[str], others: Sequence[str]
) -> Association | None:
    """None where there is nothing to associate. A task without a strategy of its own starts a node of `by_default`.

    A provider of Managed Instances is in neither: it is its cluster's from the beginning, and
    PutClusterCapacityProviders refuses it.
    """
    if not by_default and not others:
        return None
    association = Association(
        scope,
        "Association",
        cluster=cluster.ref,
        capacity_providers=[*by_default, *others],
        default_capacity_provider_strategy=[
            Association.CapacityProviderStrategyProperty(capacity_provider=provider, weight=1)
            for provider in by_default
        ],
    )
    fix_logical_id(association, "CapacityProviderAssociation")
    return association
