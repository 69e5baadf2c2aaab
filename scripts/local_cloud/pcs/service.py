"""AWS Parallel Computing Service's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.own_service import ActionResult, OwnService
from scripts.local_cloud.pcs import service_rules
from scripts.local_cloud.pcs.backend import PcsBackend, pcs_backends
from scripts.local_cloud.pcs.errors import ValidationException
from scripts.local_cloud.pcs.resources import Cluster, Resource

_PAGE = 100


class Pcs(OwnService):
    service = "pcs"

    @property
    def backend(self) -> PcsBackend:
        if self.region not in service_rules.REGIONS:
            raise ValidationException(f"AWS PCS is not in {self.region}.")
        return pcs_backends[self.current_account][self.region]

    # ---- clusters

    def create_cluster(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"cluster": self.backend.create_cluster(self.arguments()).describe()})

    def update_cluster(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"cluster": self.backend.update_cluster(self.arguments()).describe()})

    def get_cluster(self) -> ActionResult:
        return ActionResult({"cluster": self._cluster().describe()})

    def list_clusters(self) -> ActionResult:
        return self._page("clusters", self.backend.clusters)

    def delete_cluster(self) -> ActionResult:
        with self.backend.lock:
            self.backend.delete_cluster(self.arguments()["clusterIdentifier"])
        return ActionResult({})

    # ---- compute node groups

    def create_compute_node_group(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"computeNodeGroup": self.backend.create_group(self.arguments()).describe()})

    def update_compute_node_group(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"computeNodeGroup": self.backend.update_group(self.arguments()).describe()})

    def get_compute_node_group(self) -> ActionResult:
        group = self.backend.group(self._cluster(), self.arguments()["computeNodeGroupIdentifier"])
        return ActionResult({"computeNodeGroup": group.describe()})

    def list_compute_node_groups(self) -> ActionResult:
        return self._page("computeNodeGroups", self._cluster().groups)

    def delete_compute_node_group(self) -> ActionResult:
        with self.backend.lock:
            self.backend.delete_group(self._cluster(), self.arguments()["computeNodeGroupIdentifier"])
        return ActionResult({})

    # ---- queues

    def create_queue(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"queue": self.backend.create_queue(self.arguments()).describe()})

    def update_queue(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"queue": self.backend.update_queue(self.arguments()).describe()})

    def get_queue(self) -> ActionResult:
        queue = self.backend.queue(self._cluster(), self.arguments()["queueIdentifier"])
        return ActionResult({"queue": queue.describe()})

    def list_queues(self) -> ActionResult:
        return self._page("queues", self._cluster().queues)

    def delete_queue(self) -> ActionResult:
        with self.backend.lock:
            self.backend.delete_queue(self._cluster(), self.arguments()["queueIdentifier"])
        return ActionResult({})

    # ---- tags

    def list_tags_for_resource(self) -> ActionResult:
        return ActionResult({"tags": dict(self.backend.tags_of(self.arguments()["resourceArn"]))})

    def tag_resource(self) -> ActionResult:
        self.backend.tag_resource(self.arguments()["resourceArn"], dict(self.arguments()["tags"]))
        return ActionResult({})

    def untag_resource(self) -> ActionResult:
        self.backend.untag_resource(self.arguments()["resourceArn"], list(self.arguments()["tagKeys"]))
        return ActionResult({})

    # ---- shared

    def _cluster(self) -> Cluster:
        return self.backend.cluster(self.arguments()["clusterIdentifier"])

    def _page(self, key: str, known: Mapping[str, Resource]) -> ActionResult:
        arguments = self.arguments()
        start = int(arguments.get("nextToken") or 0)
        size = int(arguments.get("maxResults") or _PAGE)
        resources = list(known.values())
        answer: dict[str, Any] = {key: [one.summary() for one in resources[start : start + size]]}
        if start + size < len(resources):
            answer["nextToken"] = str(start + size)
        return ActionResult(answer)
