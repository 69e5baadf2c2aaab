"""AWS::SNS: Topic, Subscription, TopicPolicy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import json_text


class Topic(ResourceType):
    name = "AWS::SNS::Topic"
    properties = split_words("TopicName DisplayName KmsMasterKeyId Subscription Tags")

    def create(self, request: Request) -> Created:
        sns = request.client("sns")
        topic = request.name_or_generated("TopicName", 256)
        attributes = {name: request[name] for name in ("DisplayName", "KmsMasterKeyId") if request.has(name)}
        arn = sns.create_topic(Name=topic, Attributes=attributes, Tags=request.tag_list())["TopicArn"]
        request.made(arn)
        for subscription in request.get("Subscription") or ():
            sns.subscribe(TopicArn=arn, Protocol=subscription["Protocol"], Endpoint=subscription["Endpoint"])
        return Created(arn, {"TopicArn": arn, "TopicName": topic})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"TopicName", "Subscription"}:
            raise ReplacementNeededError
        sns = request.client("sns")
        for name in ("DisplayName", "KmsMasterKeyId"):
            if name in changed:
                value = request.get(name, "")
                sns.set_topic_attributes(TopicArn=physical_id, AttributeName=name, AttributeValue=value)
        found = {tag["Key"] for tag in sns.list_tags_for_resource(ResourceArn=physical_id)["Tags"]}
        superfluous = sorted(found - set(request.tags))
        if superfluous:
            sns.untag_resource(ResourceArn=physical_id, TagKeys=superfluous)
        sns.tag_resource(ResourceArn=physical_id, Tags=request.tag_list())

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("sns").delete_topic(TopicArn=physical_id)


class Subscription(ResourceType):
    name = "AWS::SNS::Subscription"
    properties = split_words("TopicArn Protocol Endpoint")

    def create(self, request: Request) -> Created:
        answer = request.client("sns").subscribe(
            TopicArn=request["TopicArn"],
            Protocol=request["Protocol"],
            Endpoint=request["Endpoint"],
            ReturnSubscriptionArn=True,
        )
        return Created(answer["SubscriptionArn"], {"Arn": answer["SubscriptionArn"]})

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("sns").unsubscribe(SubscriptionArn=physical_id)


class TopicPolicy(ResourceType):
    name = "AWS::SNS::TopicPolicy"
    properties = split_words("PolicyDocument Topics")

    def create(self, request: Request) -> Created:
        self._put(request)
        name = request.generated_name()
        return Created(name, {"Id": name})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "Topics" in changed:
            raise ReplacementNeededError
        self._put(request)

    def delete(self, request: Request, physical_id: str) -> None:
        """SNS keeps a policy on every topic; without a resource of its own the last one stays."""

    def _put(self, request: Request) -> None:
        document = json_text(request["PolicyDocument"])
        for topic in request["Topics"]:
            request.client("sns").set_topic_attributes(
                TopicArn=topic, AttributeName="Policy", AttributeValue=document
            )


TYPES: list[ResourceType] = [Topic(), Subscription(), TopicPolicy()]
