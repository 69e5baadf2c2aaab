"""AWS::Logs: DeliverySource, DeliveryDestination, Delivery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)


class _Delivered(ResourceType):
    """All three only change their tags here, as far as the kit goes: anything else makes a new one."""

    part: ClassVar[str]
    """In their ARNs."""

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        logs = request.client("logs")
        arn = request.arn("logs", f"{self.part}:{physical_id}")
        superfluous = sorted(set(logs.list_tags_for_resource(resourceArn=arn)["tags"]) - set(request.tags))
        if superfluous:
            logs.untag_resource(resourceArn=arn, tagKeys=superfluous)
        logs.tag_resource(resourceArn=arn, tags=request.tags)


class DeliverySource(_Delivered):
    name = "AWS::Logs::DeliverySource"
    part = "delivery-source"
    properties = split_words("Name ResourceArn LogType Tags")

    def create(self, request: Request) -> Created:
        made = request.client("logs").put_delivery_source(
            name=request["Name"],
            resourceArn=request["ResourceArn"],
            logType=request["LogType"],
            tags=request.tags,
        )["deliverySource"]
        attributes = {
            "Arn": made["arn"],
            "Service": made["service"],
            "ResourceArns": made["resourceArns"],
        }
        return Created(made["name"], attributes)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("logs").delete_delivery_source(name=physical_id)


class DeliveryDestination(_Delivered):
    name = "AWS::Logs::DeliveryDestination"
    part = "delivery-destination"
    properties = split_words("Name DestinationResourceArn OutputFormat Tags")

    def create(self, request: Request) -> Created:
        optional = {"outputFormat": request["OutputFormat"]} if request.has("OutputFormat") else {}
        made = request.client("logs").put_delivery_destination(
            name=request["Name"],
            deliveryDestinationConfiguration={"destinationResourceArn": request["DestinationResourceArn"]},
            tags=request.tags,
            **optional,
        )["deliveryDestination"]
        return Created(made["name"], {"Arn": made["arn"]})

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("logs").delete_delivery_destination(name=physical_id)


class Delivery(_Delivered):
    name = "AWS::Logs::Delivery"
    part = "delivery"
    properties = split_words("DeliverySourceName DeliveryDestinationArn RecordFields FieldDelimiter Tags")

    def create(self, request: Request) -> Created:
        optional = {
            api: request[name]
            for name, api in (("RecordFields", "recordFields"), ("FieldDelimiter", "fieldDelimiter"))
            if request.has(name)
        }
        made = request.client("logs").create_delivery(
            deliverySourceName=request["DeliverySourceName"],
            deliveryDestinationArn=request["DeliveryDestinationArn"],
            tags=request.tags,
            **optional,
        )["delivery"]
        attributes = {
            "Arn": made["arn"],
            "DeliveryId": made["id"],
            "DeliveryDestinationType": made["deliveryDestinationType"],
        }
        return Created(made["id"], attributes)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("logs").delete_delivery(id=physical_id)


TYPES: list[ResourceType] = [DeliverySource(), DeliveryDestination(), Delivery()]
