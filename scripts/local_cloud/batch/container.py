"""One node's container, with the overrides of SubmitJob applied: what the runner starts."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from scripts.local_cloud.batch import definitions, node_ranges
from scripts.local_cloud.batch.definitions import JobDefinition
from scripts.local_cloud.batch.errors import ClientException

_REFERENCE = "Ref::"
# SubmitJob's containerOverrides that replace the definition's member as a whole.
_REPLACED = ("command", "instanceType")


def node_containers(
    definition: JobDefinition, request: Mapping[str, Any]
) -> tuple[int, list[dict[str, Any]]]:
    """The main node's index, and the container of every node."""
    parameters = {**(definition.registered.get("parameters") or {}), **(request.get("parameters") or {})}
    if definition.multinode:
        if request.get("containerOverrides"):
            raise ClientException("containerOverrides cannot be used with a multi-node parallel job")
        main_node, containers = _multinode(
            definition.registered["nodeProperties"], request.get("nodeOverrides") or {}
        )
    else:
        if request.get("nodeOverrides"):
            raise ClientException("nodeOverrides can only be used with a multi-node parallel job")
        properties = definition.registered["containerProperties"]
        main_node, containers = 0, [_overridden(properties, request.get("containerOverrides") or {})]
    for container in containers:
        container["command"] = [_substituted(word, parameters) for word in container.get("command") or ()]
    return main_node, containers


def _multinode(
    properties: Mapping[str, Any], overrides: Mapping[str, Any]
) -> tuple[int, list[dict[str, Any]]]:
    num_nodes = int(overrides.get("numNodes") or properties["numNodes"])
    main_node = int(properties["mainNode"])
    if main_node >= num_nodes:
        raise ClientException(f"numNodes {num_nodes} does not reach the main node {main_node}")
    ranges = [(node_ranges.parse(item["targetNodes"]), item) for item in properties["nodeRangeProperties"]]
    node_ranges.check_cover([item[0] for item in ranges], num_nodes)
    containers: list[dict[str, Any]] = [{} for _ in range(num_nodes)]
    for covered, item in ranges:
        for node in covered.nodes(num_nodes):
            containers[node] = deepcopy(item["container"])
    for item in overrides.get("nodePropertyOverrides") or ():
        covered = node_ranges.parse(item["targetNodes"])
        if covered not in [known for known, _ in ranges]:
            raise ClientException(
                f"Override of '{item['targetNodes']}', which is no node range of the job definition"
            )
        for node in covered.nodes(num_nodes):
            containers[node] = _overridden(containers[node], item.get("containerOverrides") or {})
    return main_node, containers


def _overridden(container: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    answer = deepcopy(dict(container))
    for member in _REPLACED:
        if overrides.get(member):
            answer[member] = list(overrides[member]) if member == "command" else overrides[member]
    if overrides.get("environment"):
        merged = {item["name"]: item.get("value", "") for item in container.get("environment") or ()}
        for item in overrides["environment"]:
            definitions.check_variable(item.get("name", ""))
            merged[item["name"]] = item.get("value", "")
        answer["environment"] = [{"name": name, "value": value} for name, value in merged.items()]
    requirements = {item["type"]: item["value"] for item in container.get("resourceRequirements") or ()}
    requirements |= {item["type"]: item["value"] for item in overrides.get("resourceRequirements") or ()}
    if requirements:
        answer["resourceRequirements"] = [
            {"type": kind, "value": value} for kind, value in requirements.items()
        ]
    for member in ("vcpus", "memory"):
        if overrides.get(member):
            answer[member] = overrides[member]
    return answer


def _substituted(word: str, parameters: Mapping[str, str]) -> str:
    """`Ref::name` becomes the parameter's value; an unknown one stays, as in Batch."""
    name = word.removeprefix(_REFERENCE)
    return parameters.get(name, word) if word.startswith(_REFERENCE) else word
