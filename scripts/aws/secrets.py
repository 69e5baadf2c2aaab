"""Secrets Manager: only the names of what another service keeps there for itself."""

from __future__ import annotations

from scripts.aws.cloud import Cloud


def names_with_prefix(cloud: Cloud, prefix: str) -> tuple[str, ...]:
    filters = [{"Key": "name", "Values": [prefix]}]
    raw_secrets = cloud.pages("secretsmanager", "list_secrets", "SecretList", Filters=filters)
    return tuple(sorted(raw["Name"] for raw in raw_secrets if raw["Name"].startswith(prefix)))
