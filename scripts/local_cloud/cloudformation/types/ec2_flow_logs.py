"""AWS::EC2::FlowLog."""

from __future__ import annotations

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
from scripts.local_cloud.cloudformation.types.ec2_tags import retag, tag_specifications


class FlowLog(ResourceType):
    name = "AWS::EC2::FlowLog"
    properties = split_words(
        "ResourceId ResourceType TrafficType LogDestinationType LogDestination LogGroupName DeliverLogsPermissionArn "
        "LogFormat MaxAggregationInterval Tags"
    )

    def create(self, request: Request) -> Created:
        ec2 = request.client("ec2")
        parameters = api_parameters(ec2, "CreateFlowLogs", without(request.properties, "ResourceId", "Tags"))
        answer = ec2.create_flow_logs(
            ResourceIds=[request["ResourceId"]],
            TagSpecifications=tag_specifications(request, "vpc-flow-log"),
            **parameters,
        )
        for refusal in answer.get("Unsuccessful") or ():
            raise ResourceError(refusal["Error"]["Message"])
        return Created(answer["FlowLogIds"][0], {"Id": answer["FlowLogIds"][0]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ec2").delete_flow_logs(FlowLogIds=[physical_id])


TYPES: list[ResourceType] = [FlowLog()]
