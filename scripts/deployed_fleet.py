"""What the deployed template of a fleet says is billed: nodes of both sides, and what lies around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scripts.deployed_templates import Template, capacity, of_type, properties_of, referred, root_volume_gib
from stacks.domain.catalog import Catalog
from stacks.domain.cost import FleetPart, NodeGroup
from stacks.domain.cost.fleet_inventory import METRICS_PER_SIDE, side_groups

_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_FUNCTION = "AWS::Lambda::Function"
_LEAST_ON_GPUS = "NEURONKIT_GPU_REPLICAS_MINIMUM"
_MOST_ON_GPUS = "NEURONKIT_GPU_REPLICAS_MAXIMUM"


def fleet_nodes(
    name: str, template: Template, capacity_names: Mapping[str, str], catalog: Catalog
) -> tuple[NodeGroup, ...] | None:
    """As a plan counts them. None where the template does not say all of it, as with managed instances."""
    found: list[NodeGroup] = []
    for _, group in of_type(template, _GROUP):
        data = properties_of(template, referred(group.get("LaunchTemplate", {}).get("LaunchTemplateId"))).get(
            "LaunchTemplateData", {}
        )
        known = catalog.get(str(data.get("InstanceType")))
        volume_gib = root_volume_gib(data)
        most = group.get("MaxSize")
        if known is None or volume_gib is None or not str(most).isdecimal():
            return None
        on_gpus = known.chip is None
        least = (
            _least_gpu_nodes(template, int(str(most))) if on_gpus else _least_nodes(template, int(str(most)))
        )
        kind, id_ = capacity(data, template)
        side = f"fleet {name}, GPU fallback" if on_gpus else f"fleet {name}"
        settings = (known.name, volume_gib, capacity_names.get(id_, id_), kind)
        found += side_groups(side, least, int(str(most)), settings)
    return tuple(found) or None


def fleet_part(name: str, template: Template) -> FleetPart:
    functions = len(list(of_type(template, _FUNCTION)))
    balancer = next((p for _, p in of_type(template, "AWS::ElasticLoadBalancingV2::LoadBalancer")), {})
    sides = 2 if _gpu_variables(template) else 1
    return FleetPart(
        name=name,
        public=balancer.get("Scheme") == "internet-facing",
        metrics=METRICS_PER_SIDE * sides,
        shares_files=any(of_type(template, "AWS::EFS::FileSystem")),
        functions=functions,
    )


def _least_nodes(template: Template, most: int) -> int:
    """With a waker none has to run; without a scalable target all of them do."""
    if any(id_.startswith("Waker") for id_, _ in of_type(template, _FUNCTION)):
        return 0
    targets = of_type(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    found = [_after_the_first_deploy(target.get("MinCapacity")) for _, target in targets]
    return found[0] if found else most


def _after_the_first_deploy(capacity: Any) -> int:
    """A number, or the one that stands in the condition's other branch."""
    return int(capacity["Fn::If"][2] if isinstance(capacity, Mapping) else capacity)


def _least_gpu_nodes(template: Template, most: int) -> int:
    """The controller's bounds are replicas; its maximum tells how many of them a node has."""
    variables = next(_gpu_variables_of(template), {})
    least, replicas = int(variables.get(_LEAST_ON_GPUS, 0)), int(variables.get(_MOST_ON_GPUS, most))
    per_node = max(1, -(-replicas // most))
    return -(-least // per_node)


def _gpu_variables(template: Template) -> bool:
    return any(True for _ in _gpu_variables_of(template))


def _gpu_variables_of(template: Template) -> Iterator[Mapping[str, str]]:
    for _, function in of_type(template, _FUNCTION):
        variables = function.get("Environment", {}).get("Variables", {})
        if _LEAST_ON_GPUS in variables:
            yield variables
