"""A bucket's lifecycle: CloudFormation's flat rules as the API's nested ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import ResourceError, as_bool

_SAME = {"Id": "ID", "Status": "Status"}
_RULE_KEYS = frozenset(
    [
        "Id",
        "Status",
        "Prefix",
        "TagFilters",
        "ObjectSizeGreaterThan",
        "ObjectSizeLessThan",
        "ExpirationInDays",
        "ExpiredObjectDeleteMarker",
        "AbortIncompleteMultipartUpload",
        "NoncurrentVersionExpiration",
        "NoncurrentVersionExpirationInDays",
        "Transitions",
        "NoncurrentVersionTransitions",
    ]
)


def lifecycle_rules(rules: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [_rule(rule, f"rule-{number}") for number, rule in enumerate(rules)]


def _rule(rule: Mapping[str, Any], default_id: str) -> dict[str, Any]:
    unknown = sorted(set(rule) - _RULE_KEYS)
    if unknown:
        raise ResourceError(
            f"AWS::S3::Bucket lifecycle: {', '.join(unknown)} is not emulated by the local cloud"
        )
    answer: dict[str, Any] = {"ID": default_id, "Filter": _filter(rule)}
    answer |= {api: rule[cfn] for cfn, api in _SAME.items() if cfn in rule}
    expiration: dict[str, Any] = {}
    if "ExpirationInDays" in rule:
        expiration["Days"] = int(rule["ExpirationInDays"])
    if "ExpiredObjectDeleteMarker" in rule:
        expiration["ExpiredObjectDeleteMarker"] = as_bool(rule["ExpiredObjectDeleteMarker"])
    if expiration:
        answer["Expiration"] = expiration
    if "AbortIncompleteMultipartUpload" in rule:
        days = int(rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"])
        answer["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": days}
    answer |= _noncurrent(rule)
    if "Transitions" in rule:
        answer["Transitions"] = [
            {"Days": int(item["TransitionInDays"]), "StorageClass": item["StorageClass"]}
            for item in rule["Transitions"]
        ]
    return answer


def _noncurrent(rule: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    expiration = dict(rule.get("NoncurrentVersionExpiration") or {})
    if "NoncurrentVersionExpirationInDays" in rule:
        expiration["NoncurrentDays"] = rule["NoncurrentVersionExpirationInDays"]
    if expiration:
        answer["NoncurrentVersionExpiration"] = {name: int(value) for name, value in expiration.items()}
    if "NoncurrentVersionTransitions" in rule:
        answer["NoncurrentVersionTransitions"] = [
            {"NoncurrentDays": int(item["TransitionInDays"]), "StorageClass": item["StorageClass"]}
            for item in rule["NoncurrentVersionTransitions"]
        ]
    return answer


def _filter(rule: Mapping[str, Any]) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if rule.get("Prefix"):
        parts["Prefix"] = rule["Prefix"]
    for name in ("ObjectSizeGreaterThan", "ObjectSizeLessThan"):
        if name in rule:
            parts[name] = int(rule[name])
    tags = [dict(tag) for tag in rule.get("TagFilters") or ()]
    if len(parts) + len(tags) > 1:
        return {"And": {**parts, **({"Tags": tags} if tags else {})}}
    if tags:
        return {"Tag": tags[0]}
    return parts or {"Prefix": ""}
