"""AWS PCS: clusters, compute node groups and queues, what state they are in, and how to be rid of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_SERVICE: Final = "pcs"
_T = TypeVar("_T")
CLUSTER: Final = "PCS cluster"
NODE_GROUP: Final = "PCS node group"
QUEUE: Final = "PCS queue"
BUSY_STATES: Final = ("CREATING", "UPDATING", "DELETING", "SUSPENDING", "RESUMING")
"""AWS works on it: any change is a ConflictException."""


@dataclass(frozen=True, slots=True)
class PcsResource:
    """A cluster, or a part of one. `id` is only unique within the account."""

    kind: str
    id: str
    name: str
    arn: str
    cluster_id: str
    """Of a cluster, its own."""
    status: str
    errors: tuple[str, ...] = ()
    """ErrorInfo as "CODE: MESSAGE"; lists leave it out."""

    @property
    def is_busy(self) -> bool:
        return self.status in BUSY_STATES


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind is asked about. The keyword arguments of the calls are the API's."""

    name: str
    list_operation: str
    list_key: str
    get_operation: str
    get_key: str
    delete_operation: str
    parameter: str


_KINDS: Final[Mapping[str, _Kind]] = {
    kind.name: kind
    for kind in (
        _Kind(
            CLUSTER,
            "list_clusters",
            "clusters",
            "get_cluster",
            "cluster",
            "delete_cluster",
            "clusterIdentifier",
        ),
        _Kind(
            NODE_GROUP,
            "list_compute_node_groups",
            "computeNodeGroups",
            "get_compute_node_group",
            "computeNodeGroup",
            "delete_compute_node_group",
            "computeNodeGroupIdentifier",
        ),
        _Kind(QUEUE, "list_queues", "queues", "get_queue", "queue", "delete_queue", "queueIdentifier"),
    )
}
KINDS: Final = tuple(_KINDS)


def clusters(cloud: Cloud) -> tuple[PcsResource, ...]:
    """Every cluster of the account and region."""
    raw_clusters = cloud.pages(_SERVICE, "list_clusters", "clusters")
    return tuple(_resource(CLUSTER, raw) for raw in raw_clusters)


def parts(cloud: Cloud, cluster_id: str) -> tuple[PcsResource, ...]:
    """Queues and node groups of a cluster. Empty, too, when the cluster went away meanwhile."""
    return tuple(part for kind in (QUEUE, NODE_GROUP) for part in _parts(cloud, kind, cluster_id))


def tags(cloud: Cloud, arn: str) -> dict[str, str]:
    """Empty, too, when the resource went away meanwhile."""
    answer = _unless_gone(lambda: cloud.call(_SERVICE, "list_tags_for_resource", resourceArn=arn))
    return dict((answer or {}).get("tags") or {})


def find(cloud: Cloud, kind: str, cluster_id: str, id_: str) -> PcsResource | None:
    """With its errors. None: it is gone."""
    known = _KINDS[kind]
    parameters = {"clusterIdentifier": cluster_id, known.parameter: id_}
    answer = _unless_gone(lambda: cloud.call(_SERVICE, known.get_operation, **parameters))
    found = _resource(kind, answer[known.get_key]) if answer else None
    return None if found is None or found.status == "DELETED" else found


def delete(cloud: Cloud, kind: str, cluster_id: str, id_: str) -> None:
    """Starts the deletion; `find` tells how it goes. No error if it is gone.

    The nodes of a queue's groups end with the queue (DeleteQueue's reference), and what runs on them.
    """
    known = _KINDS[kind]
    parameters = {"clusterIdentifier": cluster_id, known.parameter: id_}
    _unless_gone(lambda: cloud.call(_SERVICE, known.delete_operation, **parameters))


def _parts(cloud: Cloud, kind: str, cluster_id: str) -> tuple[PcsResource, ...]:
    known = _KINDS[kind]

    def ask() -> list[Any]:
        return list(cloud.pages(_SERVICE, known.list_operation, known.list_key, clusterIdentifier=cluster_id))

    return tuple(_resource(kind, raw) for raw in _unless_gone(ask) or ())


def _unless_gone(ask: Callable[[], _T]) -> _T | None:
    try:
        return ask()
    except AwsError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise


def _resource(kind: str, raw: Mapping[str, Any]) -> PcsResource:
    return PcsResource(
        kind=kind,
        id=raw["id"],
        name=raw["name"],
        arn=raw["arn"],
        cluster_id=raw.get("clusterId", raw["id"]),
        status=raw["status"],
        errors=tuple(f"{error['code']}: {error['message']}" for error in raw.get("errorInfo") or ()),
    )
