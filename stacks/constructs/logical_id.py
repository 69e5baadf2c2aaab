"""Logical ids are a contract: a changed id makes CloudFormation replace the resource, so they are named and not derived."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import IConstruct


def fix_logical_id(construct: IConstruct, logical_id: str) -> None:
    """Of an L1 construct, or of the resource that an L2 construct is about."""
    resource = construct.node.default_child or construct
    assert isinstance(resource, cdk.CfnElement)
    resource.override_logical_id(logical_id)
