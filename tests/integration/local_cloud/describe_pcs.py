"""What PCS describes, in the shape of CloudFormation's properties. Apart from the other readers: it needs Slurm."""

from __future__ import annotations

import re
from typing import Any

import boto3

from tests.integration.local_cloud.describe_readers import Reader
from tests.integration.local_cloud.describe_readers import _call as call


def _cluster(session: boto3.Session, arn: str, _: dict[str, Any]) -> dict[str, Any]:
    client = session.client("pcs")
    described = call(client.get_cluster, clusterIdentifier=_ids(arn)[0])["cluster"]
    return {**described, "Tags": _tags(client, arn)}


def _node_group(session: boto3.Session, arn: str, _: dict[str, Any]) -> dict[str, Any]:
    client = session.client("pcs")
    cluster_id, id_ = _ids(arn)
    described = call(
        client.get_compute_node_group, clusterIdentifier=cluster_id, computeNodeGroupIdentifier=id_
    )["computeNodeGroup"]
    template = described["customLaunchTemplate"]
    described["customLaunchTemplate"] = {"TemplateId": template["id"], "Version": template["version"]}
    return {**described, "Tags": _tags(client, arn)}


def _queue(session: boto3.Session, arn: str, _: dict[str, Any]) -> dict[str, Any]:
    client = session.client("pcs")
    cluster_id, id_ = _ids(arn)
    described = call(client.get_queue, clusterIdentifier=cluster_id, queueIdentifier=id_)["queue"]
    return {**described, "Tags": _tags(client, arn)}


def _tags(client: Any, arn: str) -> dict[str, str]:
    tags: dict[str, str] = client.list_tags_for_resource(resourceArn=arn)["tags"]
    return tags


def _ids(arn: str) -> list[str]:
    return re.findall(r"pcs_[a-z0-9]+", arn)


PCS_READERS: dict[str, Reader] = {
    "AWS::PCS::Cluster": _cluster,
    "AWS::PCS::ComputeNodeGroup": _node_group,
    "AWS::PCS::Queue": _queue,
}
