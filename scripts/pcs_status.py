"""What AWS PCS says of the resources of a stack: CloudFormation repeats only a part of it, and late."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scripts.aws import pcs
from scripts.aws.cloud import Cloud
from scripts.aws.cloudformation import StackResource
from scripts.aws.pcs import PcsResource

_KINDS: Final = {
    "AWS::PCS::Cluster": pcs.CLUSTER,
    "AWS::PCS::ComputeNodeGroup": pcs.NODE_GROUP,
    "AWS::PCS::Queue": pcs.QUEUE,
}


def pcs_resources(cloud: Cloud, resources: Iterable[StackResource]) -> tuple[PcsResource, ...]:
    """Those that exist, with their errors. Without its cluster's id a part cannot be asked about."""
    ids = {
        (kind, one.physical_id.rpartition("/")[2])
        for one in resources
        if (kind := _KINDS.get(one.type)) and one.physical_id and one.status != "DELETE_COMPLETE"
    }
    clusters = [id_ for kind, id_ in sorted(ids) if kind == pcs.CLUSTER]
    found = (
        pcs.find(cloud, kind, cluster_id, id_)
        for cluster_id in clusters
        for kind, id_ in sorted(ids)
        if kind != pcs.CLUSTER or id_ == cluster_id
    )
    return tuple(one for one in found if one is not None)


def errors_in_words(resources: Iterable[PcsResource]) -> tuple[str, ...]:
    """ErrorInfo of each that has any."""
    return tuple(
        f"{one.kind} {one.name} ({one.status}): {'; '.join(one.errors)}" for one in resources if one.errors
    )


def busy_in_words(resources: Iterable[PcsResource]) -> str:
    """Empty when PCS works on none of them."""
    return ", ".join(f"{one.kind} {one.name} {one.status}" for one in resources if one.is_busy)
