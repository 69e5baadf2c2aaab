"""AWS::KMS: Key, Alias. A deleted key stays for its waiting time, as in KMS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceType,
    as_bool,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import json_text


class Key(ResourceType):
    name = "AWS::KMS::Key"
    properties = split_words(
        "KeyPolicy Description EnableKeyRotation PendingWindowInDays KeySpec KeyUsage Tags"
    )

    def create(self, request: Request) -> Created:
        kms = request.client("kms")
        optional = {
            name: request[name] for name in ("Description", "KeySpec", "KeyUsage") if request.has(name)
        }
        if request.has("KeyPolicy"):
            optional["Policy"] = json_text(request["KeyPolicy"])
        tags = [{"TagKey": key, "TagValue": value} for key, value in request.tags.items()]
        key = kms.create_key(Tags=tags, **optional)["KeyMetadata"]
        request.made(key["KeyId"])
        if as_bool(request.get("EnableKeyRotation", False)):
            kms.enable_key_rotation(KeyId=key["KeyId"])
        return Created(key["KeyId"], {"Arn": key["Arn"], "KeyId": key["KeyId"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"KeySpec", "KeyUsage"}:
            raise ReplacementNeededError
        kms = request.client("kms")
        if "KeyPolicy" in changed and request.has("KeyPolicy"):
            kms.put_key_policy(
                KeyId=physical_id, PolicyName="default", Policy=json_text(request["KeyPolicy"])
            )
        if "Description" in changed:
            kms.update_key_description(KeyId=physical_id, Description=request.get("Description", ""))
        if "EnableKeyRotation" in changed:
            wanted = as_bool(request.get("EnableKeyRotation", False))
            rotate = kms.enable_key_rotation if wanted else kms.disable_key_rotation
            rotate(KeyId=physical_id)
        found = {tag["TagKey"] for tag in kms.list_resource_tags(KeyId=physical_id)["Tags"]}
        superfluous = sorted(found - set(request.tags))
        if superfluous:
            kms.untag_resource(KeyId=physical_id, TagKeys=superfluous)
        tags = [{"TagKey": key, "TagValue": value} for key, value in request.tags.items()]
        kms.tag_resource(KeyId=physical_id, Tags=tags)

    def delete(self, request: Request, physical_id: str) -> None:
        window = int(request.get("PendingWindowInDays", 30))
        request.client("kms").schedule_key_deletion(KeyId=physical_id, PendingWindowInDays=window)


class Alias(ResourceType):
    name = "AWS::KMS::Alias"
    properties = split_words("AliasName TargetKeyId")

    def create(self, request: Request) -> Created:
        request.client("kms").create_alias(AliasName=request["AliasName"], TargetKeyId=request["TargetKeyId"])
        return Created(request["AliasName"])

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "AliasName" in changed:
            raise ReplacementNeededError
        request.client("kms").update_alias(AliasName=physical_id, TargetKeyId=request["TargetKeyId"])

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("kms").delete_alias(AliasName=physical_id)


TYPES: list[ResourceType] = [Key(), Alias()]
