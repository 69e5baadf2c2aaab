"""What a Slurm cluster of a plan is, for readers: a part of the document of `plan --json`, and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stacks.domain.findings import count_of
from stacks.domain.slurm import slurm_versions
from stacks.domain.slurm_plan import NodeGroup, SharedStoragePlan, SlurmPlan

UNKNOWN = "unknown"


def slurm_document(slurm: SlurmPlan) -> dict[str, Any]:
    return {
        "version": slurm.version,
        "end_of_life": _end(slurm),
        "pcs_cluster": slurm.cluster_name,
        "controller_size": slurm.controller_size,
        "queue": slurm.queue,
        "node_groups": [_group(group) for group in slurm.node_groups],
        "login_node": {"group": slurm.login_group, "instance_type": slurm.login_instance_type},
        "shared_storage": None if slurm.shared_storage is None else _storage(slurm.shared_storage),
        "cpus_per_node": slurm.cpus_per_node,
        "gres_per_node": slurm.gres_per_node,
        "idle_seconds": slurm.idle_seconds,
        "runs_in": slurm.runs_in,
        "accounting": slurm.accounting,
        "node_image": slurm.node_image,
    }


def slurm_text(slurm: SlurmPlan) -> Iterator[str]:
    end = _end(slurm)
    yield (
        f"         Slurm {slurm.version} on AWS PCS ({f'until {end}' if end else 'its end on PCS is not published'}): "
        f"cluster {slurm.cluster_name}, {slurm.controller_size}, queue {slurm.queue}"
    )
    yield from (f"         node group {_group_words(group, slurm)}" for group in slurm.node_groups)
    counted = f"{slurm.gres_per_node} neuron devices" if slurm.gres_per_node else "no devices"
    cpus = UNKNOWN if slurm.cpus_per_node is None else str(slurm.cpus_per_node)
    yield f"         Slurm counts on each node: {cpus} CPUs (one a core) and {counted}"
    yield f"         login node: {slurm.login_instance_type}, always there; jobs run in: {slurm.runs_in}"
    if slurm.shared_storage is not None:
        yield f"         shared storage: {_storage_words(slurm.shared_storage)}"


def _end(slurm: SlurmPlan) -> str | None:
    found = slurm_versions().get(slurm.version)
    return found.end_of_life.isoformat() if found and found.end_of_life else None


def _group(group: NodeGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "scaling": "static" if group.is_static else "dynamic",
        "nodes_min": group.nodes_min,
        "nodes_max": group.nodes_max,
        "features": list(group.features),
        "capacity_id": group.capacity_id,
    }


def _group_words(group: NodeGroup, slurm: SlurmPlan) -> str:
    minutes = slurm.idle_seconds // 60
    scaling = (
        f"static, {count_of(group.nodes_max, 'node')} always"
        if group.is_static
        else f"dynamic, up to {count_of(group.nodes_max, 'node')} with jobs, ended after {minutes} min without one"
    )
    return f"{group.name}: {scaling}; features {', '.join(group.features)}"


def _storage(storage: SharedStoragePlan) -> dict[str, Any]:
    return {"kind": storage.kind, "capacity_gib": storage.capacity_gib, "mount_point": storage.mount_point}


def _storage_words(storage: SharedStoragePlan) -> str:
    size = "grows by itself" if storage.capacity_gib is None else f"{storage.capacity_gib:,} GiB"
    return f"{storage.kind} at {storage.mount_point}, {size}"
