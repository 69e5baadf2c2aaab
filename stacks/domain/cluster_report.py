"""One cluster of a plan for readers, as a part of the document of `plan --json` and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stacks.domain.capacity_report import capacity_document, capacity_text
from stacks.domain.findings import count_of
from stacks.domain.plan import ClusterPlan, ProjectedCluster
from stacks.domain.slurm_report import slurm_document, slurm_text

UNKNOWN = "unknown"


def cluster_document(cluster: ClusterPlan) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "scheduler": cluster.scheduler,
        "instance_type": cluster.instance_type,
        "instance_type_is_listed": cluster.type_is_listed,
        "nodes": cluster.nodes,
        "cells": cluster.cells,
        "chips": cluster.chips,
        "physical_cores": cluster.physical_cores,
        "logical_cores": cluster.logical_cores,
        "logical_core_size": cluster.logical_core_size,
        "efa_interfaces": cluster.efa_interfaces,
        "efa_interfaces_are_assumed": not cluster.type_is_listed,
        "ultraservers": cluster.ultraservers,
        "chips_per_ultraserver": cluster.ultraserver.chips if cluster.ultraserver else None,
        "placement_group": cluster.placement_group,
        "capacity": capacity_document(cluster.capacity),
        "ami": None
        if cluster.ami is None
        else {
            "reference": cluster.ami.reference,
            "id": cluster.ami.id if cluster.ami.is_resolved else None,
            "driver": cluster.ami.driver,
        },
        "slurm": None if cluster.slurm is None else slurm_document(cluster.slurm),
    }


def projected_document(cluster: ProjectedCluster) -> dict[str, Any]:
    """The same keys; what nothing states is None."""
    return {
        "name": cluster.name,
        "scheduler": cluster.scheduler,
        "instance_type": cluster.instance_type,
        "instance_type_is_listed": False,
        "nodes": cluster.nodes,
        "cells": cluster.cells,
        "chips": cluster.chips,
        "physical_cores": None,
        "logical_cores": None,
        "logical_core_size": None,
        "efa_interfaces": None,
        "efa_interfaces_are_assumed": False,
        "ultraservers": None,
        "chips_per_ultraserver": None,
        "placement_group": None,
        "capacity": capacity_document(cluster.capacity),
        "ami": None,
        "slurm": None,
    }


def cluster_text(cluster: ClusterPlan) -> Iterator[str]:
    listed = "" if cluster.type_is_listed else " (a name that only the file knows: unverified)"
    yield (
        f"cluster  {cluster.name}: {cluster.nodes} x {cluster.instance_type}{listed} under {cluster.scheduler}"
        f"{_cells(cluster.cells, cluster.nodes)}"
    )
    assumed = "" if cluster.type_is_listed else "assumed "
    yield (
        f"         {count_of(cluster.chips, 'chip')}, {count_of(cluster.physical_cores, 'physical core')}, "
        f"{count_of(cluster.logical_cores, 'logical core')} (LNC {cluster.logical_core_size}), "
        f"{count_of(cluster.efa_interfaces, f'{assumed}EFA interface')}"
    )
    yield from _ultraserver_text(cluster)
    group = "in a cluster placement group" if cluster.placement_group else "no placement group"
    yield f"         {capacity_text(cluster.capacity)}; {group}"
    if cluster.slurm is not None:
        yield from slurm_text(cluster.slurm)
    if cluster.ami is not None:
        build = "not built or not locked: run `neuronkit image build`, then `neuronkit lock`"
        unresolved = build if cluster.ami.is_node_image else "unresolved: run `neuronkit lock`"
        resolved = cluster.ami.id if cluster.ami.is_resolved else unresolved
        yield f"         AMI {cluster.ami.reference}: {resolved}; driver {cluster.ami.driver or UNKNOWN}"


def projected_text(cluster: ProjectedCluster) -> Iterator[str]:
    yield (
        f"cluster  {cluster.name}: {cluster.nodes} x {cluster.instance_type}, only a projection: {cluster.chip.name} is "
        f"announced, not for sale{_cells(cluster.cells, cluster.nodes)}"
    )
    chips = UNKNOWN
    if cluster.chips is not None:
        chips = f"{cluster.chips} if a node has {cluster.assumed_chips_per_node}, which is your assumption"
    yield f"         chips: {chips}"
    yield (
        "         unknown: cores, LNC, device memory, vCPUs, memory, EFA interfaces, UltraServer, AMI, image, price, "
        "regions, quota"
    )
    yield f"         said of the chip: {cluster.chip.note} ({cluster.chip.source}, {cluster.chip.as_of})"
    yield f"         {capacity_text(cluster.capacity)}"


def _ultraserver_text(cluster: ClusterPlan) -> Iterator[str]:
    ultraserver = cluster.ultraserver
    if ultraserver is None:
        return
    held = UNKNOWN if cluster.ultraservers is None else str(cluster.ultraservers)
    count = "no whole number of" if cluster.ultraservers is None else held
    link = ultraserver.link_between_members or "NeuronLink of a speed on which sources disagree"
    yield (
        f"         {count} {ultraserver.name}{'' if held == '1' else 's'} of {ultraserver.members} nodes and "
        f"{ultraserver.chips} chips; between its nodes: {link}"
    )


def _cells(cells: int, nodes: int) -> str:
    return f", in {cells} cells of {nodes // cells} nodes" if cells > 1 else ""
