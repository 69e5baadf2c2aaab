"""A parameter of Systems Manager with a name of its own: through it people and programs tell each other something."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id


def string_parameter(scope: Construct, logical_id: str, *, name: str, value: str) -> ssm.CfnParameter:
    """What others write into it stays, as long as the value here does not change."""
    made = ssm.CfnParameter(scope, f"{logical_id}Parameter", type="String", name=name, value=value)
    fix_logical_id(made, f"{logical_id}Parameter")
    return made


def parameter_arns(scope: Construct, names: Sequence[str]) -> list[str]:
    stack = cdk.Stack.of(scope)
    return [
        stack.format_arn(service="ssm", resource="parameter", resource_name=name.removeprefix("/"))
        for name in names
    ]
