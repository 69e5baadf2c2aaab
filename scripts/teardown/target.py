"""The environment file -> what to remove. Without lock, rules or catalog: they may have moved on since the deploy."""

from __future__ import annotations

from scripts.bootstrapping import bootstrap_stack_name
from scripts.teardown.model import Target
from stacks.domain.environment import Environment
from stacks.domain.names import stack_names


def target_of(environment: Environment) -> Target:
    return Target(
        environment=environment.name,
        # With the network's name, whatever the file says now: it may have said `vpc: new` when it was deployed.
        # A network that the user brought is in no stack, so nothing here can name it.
        # With the image's name likewise: it needs nobody's lock to be deleted.
        stacks=stack_names(
            environment.name,
            tuple(environment.clusters),
            tuple(environment.fleets),
            tuple(environment.shifts),
            image=True,
        ),
        bootstrap_stack=bootstrap_stack_name(environment.cdk.qualifier),
        capacities=tuple(
            (name, id_)
            for name, capacity in environment.capacity.items()
            for id_ in (capacity.id, *capacity.ids)
            if id_
        ),
        uses_slurm=any(cluster.scheduler == "slurm" for cluster in environment.clusters.values()),
        uses_fleets=bool(environment.fleets),
    )
