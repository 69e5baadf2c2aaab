"""AWS::PCS: Cluster, ComputeNodeGroup, Queue. Ref answers the ARN; every property that names one wants the id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without

_ID = re.compile(r"pcs_[a-z0-9]+")


class Cluster(ResourceType):
    name = "AWS::PCS::Cluster"
    properties = split_words("Name Size Networking Scheduler SlurmConfiguration Tags")

    def create(self, request: Request) -> Created:
        pcs = request.client("pcs")
        parameters = api_parameters(pcs, "CreateCluster", without(request.properties, "Name", "Tags"))
        answer = pcs.create_cluster(
            clusterName=request.name_or_generated("Name", 40), **_tags(request), **parameters
        )["cluster"]
        return _created(request, answer)

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"Name", "Size", "Networking"}:
            raise ReplacementNeededError
        pcs = request.client("pcs")
        changes = _changes(request, changed)
        if "Scheduler" in changes:
            changes["Scheduler"] = without(changes["Scheduler"], "Type")
        if changes:
            _raise_failure(
                pcs.update_cluster(
                    clusterIdentifier=_cluster_id(physical_id),
                    **api_parameters(pcs, "UpdateCluster", changes),
                )["cluster"]
            )
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("pcs").delete_cluster(clusterIdentifier=_cluster_id(physical_id))


class ComputeNodeGroup(ResourceType):
    name = "AWS::PCS::ComputeNodeGroup"
    properties = split_words(
        "Name ClusterId InstanceConfigs SubnetIds IamInstanceProfileArn ScalingConfiguration AmiId CustomLaunchTemplate "
        "PurchaseOption SpotOptions SlurmConfiguration NodeLifecycleActions Tags"
    )

    def create(self, request: Request) -> Created:
        pcs = request.client("pcs")
        properties = without(request.properties, "Name", "ClusterId", "Tags")
        answer = pcs.create_compute_node_group(
            clusterIdentifier=request["ClusterId"],
            computeNodeGroupName=request.name_or_generated("Name", 25),
            **_tags(request),
            **api_parameters(pcs, "CreateComputeNodeGroup", _with_template_id(properties)),
        )["computeNodeGroup"]
        return _created(request, answer)

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"Name", "ClusterId", "InstanceConfigs"}:
            raise ReplacementNeededError
        pcs = request.client("pcs")
        changes = _with_template_id(_changes(request, changed))
        if changes:
            answer = pcs.update_compute_node_group(
                clusterIdentifier=_cluster_id(physical_id),
                computeNodeGroupIdentifier=_own_id(physical_id),
                **api_parameters(pcs, "UpdateComputeNodeGroup", changes),
            )["computeNodeGroup"]
            _raise_failure(answer)
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("pcs").delete_compute_node_group(
            clusterIdentifier=_cluster_id(physical_id), computeNodeGroupIdentifier=_own_id(physical_id)
        )


class Queue(ResourceType):
    name = "AWS::PCS::Queue"
    properties = split_words("Name ClusterId ComputeNodeGroupConfigurations SlurmConfiguration Tags")

    def create(self, request: Request) -> Created:
        pcs = request.client("pcs")
        properties = without(request.properties, "Name", "ClusterId", "Tags")
        answer = pcs.create_queue(
            clusterIdentifier=request["ClusterId"],
            queueName=request.name_or_generated("Name", 25),
            **_tags(request),
            **api_parameters(pcs, "CreateQueue", properties),
        )["queue"]
        return _created(request, answer)

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"Name", "ClusterId"}:
            raise ReplacementNeededError
        pcs = request.client("pcs")
        changes = _changes(request, changed)
        if changes:
            answer = pcs.update_queue(
                clusterIdentifier=_cluster_id(physical_id),
                queueIdentifier=_own_id(physical_id),
                **api_parameters(pcs, "UpdateQueue", changes),
            )["queue"]
            _raise_failure(answer)
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("pcs").delete_queue(
            clusterIdentifier=_cluster_id(physical_id), queueIdentifier=_own_id(physical_id)
        )


def _created(request: Request, answer: Mapping[str, Any]) -> Created:
    request.made(answer["arn"])
    _raise_failure(answer)
    names = ("id", "arn", "status", "errorInfo", "endpoints")
    attributes = {name[0].upper() + name[1:]: answer[name] for name in names if name in answer}
    return Created(answer["arn"], attributes)


def _raise_failure(answer: Mapping[str, Any]) -> None:
    if answer["status"] != "ACTIVE":
        words = "; ".join(error["message"] for error in answer.get("errorInfo") or ())
        raise ResourceError(f"Resource is not in the expected state: {answer['status']}: {words}")


def _changes(request: Request, changed: set[str]) -> dict[str, Any]:
    return {name: request[name] for name in changed - {"Tags"} if request.has(name)}


def _with_template_id(properties: Mapping[str, Any]) -> dict[str, Any]:
    """CloudFormation says TemplateId where the API says id."""
    renamed = dict(properties)
    template = renamed.get("CustomLaunchTemplate")
    if isinstance(template, Mapping):
        if "TemplateId" not in template or "Id" in template:
            raise ResourceError(
                "Model validation failed (#/CustomLaunchTemplate: required key [TemplateId] not found)"
            )
        renamed["CustomLaunchTemplate"] = {**without(template, "TemplateId"), "Id": template["TemplateId"]}
    return renamed


def _tags(request: Request) -> dict[str, Any]:
    """The API takes no empty map."""
    return {"tags": request.tags} if request.tags else {}


def _cluster_id(arn: str) -> str:
    return str(_ID.findall(arn)[0])


def _own_id(arn: str) -> str:
    return str(_ID.findall(arn)[-1])


def _retag(request: Request, arn: str) -> None:
    pcs = request.client("pcs")
    superfluous = sorted(set(pcs.list_tags_for_resource(resourceArn=arn)["tags"]) - set(request.tags))
    if superfluous:
        pcs.untag_resource(resourceArn=arn, tagKeys=superfluous)
    if request.tags:
        pcs.tag_resource(resourceArn=arn, tags=request.tags)


TYPES: list[ResourceType] = [Cluster(), ComputeNodeGroup(), Queue()]
