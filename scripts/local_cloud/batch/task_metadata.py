"""The ECS task metadata (version 4) of a running node, as far as a container reads it to find its own address."""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.batch.backend import running_jobs
from scripts.local_cloud.batch.job import Node

_EMULATED = {"neuronkit:emulated-by": "local cloud"}


def answer(job_id: str, node_index: int, path: str) -> dict[str, Any] | None:
    """`path` is "" for the container and "task" for the task; None if there is no such node or document."""
    job = running_jobs().get(job_id)
    if job is None or node_index >= len(job.nodes):
        return None
    node = job.nodes[node_index]
    if path.strip("/") == "":
        return _container(node)
    if path.strip("/") == "task":
        return {
            "Cluster": f"neuronkit-local-cloud/{job.environment_name}",
            "TaskARN": node.task_arn,
            "Family": job.definition.name,
            "Revision": str(job.definition.revision),
            "DesiredStatus": "RUNNING",
            "KnownStatus": "RUNNING",
            "LaunchType": "EC2",
            "TaskTags": {**job.tags, **_EMULATED} if job.propagate_tags else dict(_EMULATED),
            "Containers": [_container(node)],
        }
    return None


def _container(node: Node) -> dict[str, Any]:
    return {
        "DockerId": (node.task_arn or "").rsplit("/", 1)[-1],
        "Name": "default",
        "DockerName": "emulated by the neuronkit local cloud: a plain process",
        "Image": node.container["image"],
        "DesiredStatus": "RUNNING",
        "KnownStatus": "RUNNING",
        "Type": "NORMAL",
        "Labels": dict(_EMULATED),
        "ContainerARN": node.task_arn,
        "Networks": [{"NetworkMode": "awsvpc", "IPv4Addresses": [node.address]}],
    }
