"""AWS PCS of one account and region. Calls are answered when their work is done: nothing stays CREATING."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, TypeVar

from botocore.exceptions import ClientError
from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.resource_tagging import TaggableResourcesMixin, TaggedResource

from scripts.local_cloud.pcs import emulation, instances, service_rules
from scripts.local_cloud.pcs.errors import (
    ConflictException,
    ResourceNotFoundException,
    ServiceQuotaExceededException,
    ValidationException,
)
from scripts.local_cloud.pcs.group_references import check_references
from scripts.local_cloud.pcs.resources import Cluster, NodeGroup, Queue, Resource, new_id
from scripts.local_cloud.slurm import requirements
from stacks.domain.errors import WorldError

_T = TypeVar("_T", bound=Resource)
_IDENTIFIER = re.compile(r"pcs_[a-zA-Z0-9]+|[A-Za-z][A-Za-z0-9-]{2,40}")
_NOT_KEPT = ("clusterName", "computeNodeGroupName", "queueName", "clusterIdentifier", "clientToken", "tags")
_IDENTIFIERS = ("computeNodeGroupIdentifier", "queueIdentifier")


class PcsBackend(BaseBackend, TaggableResourcesMixin):
    SERVICE_NAMESPACE = "pcs"

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.clusters: dict[str, Cluster] = {}
        self.lock = threading.RLock()

    def reset(self) -> None:
        """moto's own reset: no Slurm may go on without anybody who knows of it."""
        for cluster in self.clusters.values():
            emulation.end(cluster.id)
        super().reset()

    # ---- clusters

    def cluster(self, identifier: str) -> Cluster:
        return _find(self.clusters, identifier, "cluster")

    def create_cluster(self, request: Mapping[str, Any]) -> Cluster:
        name, version = request["clusterName"], request["scheduler"]["version"]
        service_rules.check_name("clusterName", name, 40)
        service_rules.check_version(version, datetime.now(UTC).date())
        self._check_cluster_configuration(request, version)
        if len(request["networking"].get("subnetIds") or ()) != 1:
            raise ValidationException("A cluster must have exactly one subnet.")
        _check_free(self.clusters, name, "cluster")
        if len(self.clusters) >= service_rules.CLUSTERS_MAX:
            raise ServiceQuotaExceededException(
                f"An account has up to {service_rules.CLUSTERS_MAX} clusters in a region."
            )
        id_ = new_id()
        cluster = Cluster(
            name, id_, self._arn(f"cluster/{id_}"), _kept(request), dict(request.get("tags") or {})
        )
        _attempt(cluster, "CREATE_FAILED", requirements.check)
        self.clusters[id_] = cluster
        return cluster

    def update_cluster(self, request: Mapping[str, Any]) -> Cluster:
        cluster = self.cluster(request["clusterIdentifier"])
        version = (request.get("scheduler") or cluster.request["scheduler"])["version"]
        self._check_cluster_configuration(request, version)
        changes = _kept(request)
        if "scheduler" in changes:
            changes["scheduler"] = {**cluster.request["scheduler"], **changes["scheduler"]}
        cluster.update(changes)
        return cluster

    def delete_cluster(self, identifier: str) -> None:
        cluster = self.cluster(identifier)
        dependants = [*cluster.queues.values(), *cluster.groups.values()]
        if dependants:
            names = ", ".join(one.name for one in dependants)
            raise ConflictException(
                f"The cluster {cluster.id} still has queues or compute node groups: {names}.",
                cluster.id,
                "Cluster",
            )
        emulation.end(cluster.id)
        del self.clusters[cluster.id]

    # ---- compute node groups

    def group(self, cluster: Cluster, identifier: str) -> NodeGroup:
        return _find(cluster.groups, identifier, "compute node group")

    def create_group(self, request: Mapping[str, Any]) -> NodeGroup:
        cluster = self._active(request["clusterIdentifier"])
        name = request["computeNodeGroupName"]
        service_rules.check_name("computeNodeGroupName", name, 25)
        if len(cluster.groups) >= service_rules.GROUPS_MAX:
            raise ServiceQuotaExceededException(
                f"A cluster has up to {service_rules.GROUPS_MAX} compute node groups."
            )
        _check_free(cluster.groups, name, "compute node group")
        self._check_group(cluster, request, others=list(cluster.groups.values()))
        id_ = new_id()
        arn = self._arn(f"cluster/{cluster.id}/computenodegroup/{id_}")
        group = NodeGroup(
            name, id_, arn, _kept(request), dict(request.get("tags") or {}), cluster_id=cluster.id
        )
        cluster.groups[id_] = group
        _attempt(group, "CREATE_FAILED", lambda: self._fit_instances(group))
        return group

    def update_group(self, request: Mapping[str, Any]) -> NodeGroup:
        cluster = self._active(request["clusterIdentifier"])
        group = self.group(cluster, request["computeNodeGroupIdentifier"])
        merged = {**group.request, **_kept(request)}
        merged["slurmConfiguration"] = {**group.configuration, **(request.get("slurmConfiguration") or {})}
        self._check_group(
            cluster, merged, others=[one for one in cluster.groups.values() if one is not group]
        )
        group.update(_kept(request))
        _attempt(group, "UPDATE_FAILED", lambda: self._fit_instances(group))
        if any(group.id in queue.group_ids for queue in cluster.queues.values()):
            _attempt(group, "UPDATE_FAILED", lambda: self._refresh(cluster))
        return group

    def delete_group(self, cluster: Cluster, identifier: str) -> None:
        group = self.group(cluster, identifier)
        queue = next((one for one in cluster.queues.values() if group.id in one.group_ids), None)
        if queue is not None:
            raise ConflictException(
                f"The compute node group {group.id} is in the queue {queue.name}.",
                group.id,
                "ComputeNodeGroup",
            )
        instances.end(self.account_id, self.region_name, group.instance_ids)
        del cluster.groups[group.id]

    # ---- queues

    def queue(self, cluster: Cluster, identifier: str) -> Queue:
        return _find(cluster.queues, identifier, "queue")

    def create_queue(self, request: Mapping[str, Any]) -> Queue:
        cluster = self._active(request["clusterIdentifier"])
        name = request["queueName"]
        service_rules.check_name("queueName", name, 25)
        if len(cluster.queues) >= service_rules.QUEUES_MAX:
            raise ServiceQuotaExceededException(f"A cluster has up to {service_rules.QUEUES_MAX} queues.")
        _check_free(cluster.queues, name, "queue")
        self._check_queue(cluster, request)
        id_ = new_id()
        arn = self._arn(f"cluster/{cluster.id}/queue/{id_}")
        queue = Queue(name, id_, arn, _kept(request), dict(request.get("tags") or {}), cluster_id=cluster.id)
        cluster.queues[id_] = queue
        _attempt(queue, "CREATE_FAILED", lambda: self._refresh(cluster))
        return queue

    def update_queue(self, request: Mapping[str, Any]) -> Queue:
        cluster = self._active(request["clusterIdentifier"])
        queue = self.queue(cluster, request["queueIdentifier"])
        self._check_queue(cluster, request)
        queue.update(_kept(request))
        _attempt(queue, "UPDATE_FAILED", lambda: self._refresh(cluster))
        return queue

    def delete_queue(self, cluster: Cluster, identifier: str) -> None:
        """The nodes of its groups end, and what runs on them."""
        del cluster.queues[self.queue(cluster, identifier).id]
        self._refresh(cluster)

    # ---- tags

    def resources(self) -> Iterator[tuple[Resource, str]]:
        for cluster in list(self.clusters.values()):
            yield cluster, "pcs:cluster"
            yield from ((group, "pcs:computenodegroup") for group in list(cluster.groups.values()))
            yield from ((queue, "pcs:queue") for queue in list(cluster.queues.values()))

    def tags_of(self, arn: str) -> dict[str, str]:
        for resource, _ in self.resources():
            if resource.arn == arn:
                return resource.tags
        raise ResourceNotFoundException(arn, "resource")

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        for resource, kind in self.resources():
            yield TaggedResource(resource.arn, dict(resource.tags), kind)

    def tag_resource(self, arn: str, tags: dict[str, str]) -> None:
        self.tags_of(arn).update(tags)

    def untag_resource(self, arn: str, tag_keys: list[str]) -> None:
        carried = self.tags_of(arn)
        for key in tag_keys:
            carried.pop(key, None)

    # ---- shared

    def _arn(self, resource: str) -> str:
        return f"arn:{self.partition}:pcs:{self.region_name}:{self.account_id}:{resource}"

    def _active(self, identifier: str) -> Cluster:
        cluster = self.cluster(identifier)
        if cluster.status != "ACTIVE":
            raise ConflictException(f"The cluster {cluster.id} is {cluster.status}.", cluster.id, "Cluster")
        return cluster

    def _refresh(self, cluster: Cluster) -> None:
        emulation.refresh(self.account_id, self.region_name, cluster)

    def _check_cluster_configuration(self, request: Mapping[str, Any], version: str) -> None:
        configuration = request.get("slurmConfiguration") or {}
        service_rules.check_settings("cluster", configuration.get("slurmCustomSettings") or (), version)
        service_rules.check_settings("cgroup", configuration.get("cgroupCustomSettings") or (), version)

    def _check_group(self, cluster: Cluster, request: Mapping[str, Any], others: list[NodeGroup]) -> None:
        configuration = request.get("slurmConfiguration") or {}
        service_rules.check_settings(
            "compute node group", configuration.get("slurmCustomSettings") or (), cluster.version
        )
        service_rules.check_gres(configuration, cluster.version)
        most = sum(one.scaling["maxInstanceCount"] for one in others)
        service_rules.check_scaling(request["scalingConfiguration"], cluster.size, most)
        check_references(self.account_id, self.region_name, request)

    def _check_queue(self, cluster: Cluster, request: Mapping[str, Any]) -> None:
        configuration = request.get("slurmConfiguration") or {}
        service_rules.check_settings("queue", configuration.get("slurmCustomSettings") or (), cluster.version)
        for item in request.get("computeNodeGroupConfigurations") or ():
            self.group(cluster, item["computeNodeGroupId"])

    def _fit_instances(self, group: NodeGroup) -> None:
        """Static nodes run at once; dynamic ones would start with a job, and here only Slurm knows of them."""
        place = (self.account_id, self.region_name)
        wanted = group.scaling["minInstanceCount"]
        surplus = group.instance_ids[wanted:]
        instances.end(*place, surplus)
        group.instance_ids = group.instance_ids[:wanted]
        missing = wanted - len(group.instance_ids)
        if missing:
            group.instance_ids += instances.start(*place, group, missing)


def _find(known: Mapping[str, _T], identifier: str, kind: str) -> _T:
    if not _IDENTIFIER.fullmatch(identifier):
        raise ValidationException(
            f"Value '{identifier}' failed to satisfy constraint: the identifier of a {kind} is its id or its name",
            "fieldValidationFailed",
        )
    for resource in known.values():
        if identifier in (resource.id, resource.name):
            return resource
    raise ResourceNotFoundException(identifier, kind)


def _check_free(known: Mapping[str, Resource], name: str, kind: str) -> None:
    taken = next((one for one in known.values() if one.name == name), None)
    if taken is not None:
        raise ConflictException(f"A {kind} named {name} already exists.", taken.id, kind)


def _kept(request: Mapping[str, Any]) -> dict[str, Any]:
    left_out = (*_NOT_KEPT, *_IDENTIFIERS)
    return {name: deepcopy(value) for name, value in request.items() if name not in left_out}


def _attempt(resource: Resource, status: str, work: Callable[[], None]) -> None:
    """Work that AWS does after it has answered: its failure is a state with a reason."""
    try:
        work()
    except WorldError as error:
        resource.fail(status, f"{error.message}: {error.hint}")
    except ClientError as error:
        resource.fail(status, str(error))


pcs_backends = BackendDict(
    PcsBackend, "pcs", use_boto3_regions=False, additional_regions=list(service_rules.REGIONS)
)
