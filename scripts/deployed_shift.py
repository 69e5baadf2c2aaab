"""What the deployed template of a shift says of the nodes that its two sides share."""

from __future__ import annotations

import json
from collections.abc import Iterator

from scripts.deployed_templates import Template, of_type
from stacks.domain.cost import Sharing

_SHIFT = "NEURONKIT_SHIFT"


def sharings_of(template: Template) -> Iterator[Sharing]:
    """Of the controller's variables; none in a template of another kind."""
    for _, function in of_type(template, "AWS::Lambda::Function"):
        variables = function.get("Environment", {}).get("Variables", {})
        if _SHIFT not in variables:
            continue
        replicas = max(window[-1] for window in json.loads(variables["NEURONKIT_WINDOWS"]))
        yield Sharing(
            shift=variables[_SHIFT],
            fleet=variables["NEURONKIT_FLEET_STACK"].rpartition("-fleet-")[2],
            cluster=variables["NEURONKIT_CLUSTER"],
            floor_nodes=int(variables["NEURONKIT_FLOOR_NODES"]),
            serving_nodes=-(-replicas // int(variables["NEURONKIT_REPLICAS_PER_NODE"])),
        )
