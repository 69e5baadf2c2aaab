"""Where a secret of a job is read from on a node: what AWS Batch does by itself, spelt out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretSource:
    variable: str
    reader: str
    """The function of the bootstrap that reads it."""
    words: tuple[str, ...]
    """Its arguments."""


def secret_source(variable: str, arn: str) -> SecretSource:
    """`arn` is of a parameter, or of a secret with `:JSON-KEY:VERSION-STAGE:VERSION-ID` behind it or not."""
    _, _, service, region, _, resource = arn.split(":", 5)
    if service == "ssm":
        return SecretSource(variable, "read_parameter", (region, arn))
    key, stage, version = (*resource.split(":")[2:], "", "", "")[:3]
    identity = ":".join(arn.split(":")[:7])
    options = (
        *(("--version-stage", stage) if stage else ()),
        *(("--version-id", version) if version else ()),
    )
    return SecretSource(variable, "read_secret", (region, identity, key, *options))
