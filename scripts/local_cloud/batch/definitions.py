"""Job definitions: registered, checked as Batch checks them, and described as they were registered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from scripts.local_cloud.batch import node_ranges
from scripts.local_cloud.batch.errors import ClientException

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}$")
_MAX_NODES = 1000
_MIN_TIMEOUT_SECONDS = 60
_MAX_ATTEMPTS = 10


@dataclass
class JobDefinition:
    name: str
    revision: int
    arn: str
    registered: dict[str, Any]
    tags: dict[str, str] = field(default_factory=dict)
    status: str = "ACTIVE"

    @property
    def multinode(self) -> bool:
        return bool(self.registered["type"] == "multinode")

    def describe(self) -> dict[str, Any]:
        return {
            "jobDefinitionName": self.name,
            "jobDefinitionArn": self.arn,
            "revision": self.revision,
            "status": self.status,
            "containerOrchestrationType": "ECS",
            "tags": dict(self.tags),
            **deepcopy(self.registered),
        }


def check(request: Mapping[str, Any]) -> dict[str, Any]:
    """The definition as Batch keeps it, without name and tags; ClientException for what Batch refuses."""
    if not _NAME.match(request["jobDefinitionName"]):
        raise ClientException("jobDefinitionName should match valid pattern")
    for unsupported in ("eksProperties", "ecsProperties", "consumableResourceProperties"):
        if request.get(unsupported):
            raise ClientException(f"{unsupported} is not emulated by the local cloud")
    kind = request["type"]
    if kind == "multinode":
        _check_multinode(request)
    elif kind == "container":
        if not request.get("containerProperties"):
            raise ClientException("containerProperties must be specified for a container job definition")
        check_container(request["containerProperties"])
    else:
        raise ClientException(f"type must be one of [container, multinode], {kind} given")
    check_timeout(request.get("timeout"))
    check_retry(request.get("retryStrategy"))
    kept = {
        key: deepcopy(value) for key, value in request.items() if key not in ("jobDefinitionName", "tags")
    }
    return {"platformCapabilities": ["EC2"], "parameters": {}, **kept}


def _check_multinode(request: Mapping[str, Any]) -> None:
    node_properties = request.get("nodeProperties")
    if not node_properties:
        raise ClientException("nodeProperties must be specified for a multinode job definition")
    num_nodes, main_node = int(node_properties["numNodes"]), int(node_properties["mainNode"])
    if not 1 <= num_nodes <= _MAX_NODES:
        raise ClientException(f"numNodes must be between 1 and {_MAX_NODES}, {num_nodes} given")
    if not 0 <= main_node < num_nodes:
        raise ClientException(f"mainNode must be between 0 and {num_nodes - 1}, {main_node} given")
    properties = node_properties["nodeRangeProperties"]
    node_ranges.check_cover([node_ranges.parse(item["targetNodes"]) for item in properties], num_nodes)
    for item in properties:
        if not item.get("container"):
            raise ClientException(f"Node range '{item['targetNodes']}' has no container")
        check_container(item["container"])
    if len({kind for item in properties for kind in item.get("instanceTypes") or ()}) > 1:
        raise ClientException("All node ranges of a multi-node parallel job must use the same instance type")


def check_container(container: Mapping[str, Any]) -> None:
    if not str(container.get("image") or "").strip():
        raise ClientException("Container image cannot be null or empty.")
    requirements = resource_requirements(container)
    for kind in ("VCPU", "MEMORY"):
        if kind not in requirements:
            raise ClientException(f"Container properties should contain {kind} in resourceRequirements")
    for variable in container.get("environment") or ():
        check_variable(variable.get("name", ""))
    for device in (container.get("linuxParameters") or {}).get("devices") or ():
        if not str(device.get("hostPath", "")).startswith("/"):
            raise ClientException(f"Device host path '{device.get('hostPath', '')}' must be absolute")


def check_variable(name: str) -> None:
    if not name:
        raise ClientException("Environment variable name cannot be null or empty.")
    if name.startswith("AWS_BATCH"):
        raise ClientException("Environment variables cannot start with AWS_BATCH: Batch sets those itself")


def check_timeout(timeout: Mapping[str, Any] | None) -> None:
    seconds = (timeout or {}).get("attemptDurationSeconds")
    if seconds is not None and int(seconds) < _MIN_TIMEOUT_SECONDS:
        raise ClientException(
            f"attemptDurationSeconds must be at least {_MIN_TIMEOUT_SECONDS}, {seconds} given"
        )


def check_retry(strategy: Mapping[str, Any] | None) -> None:
    attempts = (strategy or {}).get("attempts")
    if attempts is not None and not 1 <= int(attempts) <= _MAX_ATTEMPTS:
        raise ClientException(f"attempts must be between 1 and {_MAX_ATTEMPTS}, {attempts} given")


def resource_requirements(container: Mapping[str, Any]) -> dict[str, int]:
    """VCPU, MEMORY (MiB), GPU; the old members `vcpus` and `memory` count as well."""
    found = {item["type"]: int(float(item["value"])) for item in container.get("resourceRequirements") or ()}
    for member, kind in (("vcpus", "VCPU"), ("memory", "MEMORY")):
        if container.get(member):
            found.setdefault(kind, int(container[member]))
    return found
