"""Clusters, compute node groups and queues, kept as they were asked for."""

from __future__ import annotations

import secrets
import string
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

_ALPHABET = string.ascii_lowercase + string.digits
CONTROLLER_PORT = 6817


def new_id() -> str:
    return "pcs_" + "".join(secrets.choice(_ALPHABET) for _ in range(10))


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Resource:
    """`request`: the members of the API's create call that the answers repeat."""

    name: str
    id: str
    arn: str
    request: dict[str, Any]
    tags: dict[str, str]
    status: str = "ACTIVE"
    errors: list[dict[str, str]] = field(default_factory=list)
    created: datetime = field(default_factory=_now)
    modified: datetime = field(default_factory=_now)

    @property
    def configuration(self) -> dict[str, Any]:
        return dict(self.request.get("slurmConfiguration") or {})

    def fail(self, status: str, message: str) -> None:
        self.status = status
        self.errors = [{"code": "LocalCloud", "message": message}]

    def update(self, request: dict[str, Any]) -> None:
        configuration = {**self.configuration, **(request.get("slurmConfiguration") or {})}
        self.request.update(deepcopy(request))
        if configuration:
            self.request["slurmConfiguration"] = configuration
        self.modified = _now()
        self.status, self.errors = "ACTIVE", []

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "id": self.id,
            "arn": self.arn,
            "createdAt": self.created,
            "modifiedAt": self.modified,
            "status": self.status,
        }

    def describe(self) -> dict[str, Any]:
        return {**deepcopy(self.request), **self.summary(), "errorInfo": list(self.errors)}


@dataclass
class NodeGroup(Resource):
    cluster_id: str = ""
    instance_ids: list[str] = field(default_factory=list)

    @property
    def scaling(self) -> dict[str, int]:
        return dict(self.request["scalingConfiguration"])

    @property
    def instance_type(self) -> str:
        return str(self.request["instanceConfigs"][0]["instanceType"])

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), "clusterId": self.cluster_id}


@dataclass
class Queue(Resource):
    cluster_id: str = ""

    @property
    def group_ids(self) -> list[str]:
        configurations = self.request.get("computeNodeGroupConfigurations") or ()
        return [item["computeNodeGroupId"] for item in configurations]

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), "clusterId": self.cluster_id}

    def describe(self) -> dict[str, Any]:
        return {"computeNodeGroupConfigurations": [], **super().describe()}


@dataclass
class Cluster(Resource):
    groups: dict[str, NodeGroup] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)

    @property
    def version(self) -> str:
        return str(self.request["scheduler"]["version"])

    @property
    def size(self) -> str:
        return str(self.request["size"])

    def describe(self) -> dict[str, Any]:
        described = super().describe()
        endpoint = {"type": "SLURMCTLD", "privateIpAddress": "127.0.0.1", "port": str(CONTROLLER_PORT)}
        described["endpoints"] = [endpoint] if self.status == "ACTIVE" else []
        return described
