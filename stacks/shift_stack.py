"""One shift: the controller that moves capacity between a fleet and a cluster, its clock, its override, its alarms."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge, imported_bucket_arn, wildcard_resource
from stacks.constructs.fleet_function import FleetFunction
from stacks.constructs.shift_alarms import ShiftAlarms
from stacks.constructs.shift_clock import ShiftClock
from stacks.constructs.shift_permissions import shift_statements
from stacks.constructs.string_parameter import string_parameter
from stacks.domain.names import (
    OUTPUT_SHIFT_FUNCTION,
    OUTPUT_SHIFT_PARAMETER,
    StackNames,
    shift_parameter,
    shift_prefix,
    shift_state_parameter,
)
from stacks.domain.shift_plan import ShiftPlan
from stacks.domain.zones import packed_zone_rules

TIMEOUT_SECONDS = 300
NO_OVERRIDE = json.dumps({"mode": "auto", "until": None, "reason": ""})


class ShiftStack(cdk.Stack):
    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: str,
        shift: ShiftPlan,
        stack_names: StackNames,
        bucket: s3.IBucket,
        **stack_arguments: Any,
    ) -> None:
        super().__init__(scope, id_, **stack_arguments)
        sides = (stack_names.of_fleet(shift.fleet), stack_names.of_cluster(shift.cluster))
        name = shift_parameter(environment, shift.name)
        parameter = string_parameter(self, "Override", name=name, value=NO_OVERRIDE)
        string_parameter(self, "State", name=shift_state_parameter(environment, shift.name), value="{}")
        made = FleetFunction(
            self,
            "Shift",
            payload="shift",
            environment=_variables(environment, shift, sides, bucket.bucket_name),
            statements=shift_statements(
                self, environment=environment, shift=shift, stacks=sides, bucket=bucket
            ),
            timeout_seconds=TIMEOUT_SECONDS,
            one_at_a_time=True,
        )
        self._acknowledge_wildcards(made, shift, sides, bucket)
        ShiftClock(self, "Clock", shift=shift, function=made.resource)
        ShiftAlarms(self, "Alarms", environment=environment, shift=shift.name, function=made.resource)
        cdk.CfnOutput(self, OUTPUT_SHIFT_FUNCTION, value=made.resource.ref)
        cdk.CfnOutput(self, OUTPUT_SHIFT_PARAMETER, value=parameter.ref)

    def _acknowledge_wildcards(
        self, made: FleetFunction, shift: ShiftPlan, sides: tuple[str, str], bucket: s3.IBucket
    ) -> None:
        role = made.node.find_child("Role")
        account = self.account if not cdk.Token.is_unresolved(self.account) else "<AWS::AccountId>"

        def arn(service: str, rest: str) -> str:
            return wildcard_resource(f"arn:{self.partition}:{service}:{self.region}:{account}:{rest}")

        by_tag = [
            arn("ecs", "service/*"),
            arn("application-autoscaling", "scalable-target/*"),
            *(
                arn("batch", f"{kind}/*")
                for kind in ("compute-environment", "job-queue", "job-definition", "job")
            ),
        ]
        acknowledge(
            role, by_tag, "Generated names; the statements ask for the tags of the one fleet and cluster."
        )
        stacks = [arn("cloudformation", f"stack/{one}/*") for one in sides]
        acknowledge(role, stacks, "A stack's ARN ends with an id that only CloudFormation knows.")
        objects = imported_bucket_arn(self, bucket)
        prefixes = [
            wildcard_resource(f"{objects}/{shift_prefix(shift.name)}/*"),
            wildcard_resource(f"{objects}/runs/*/run.json"),
        ]
        acknowledge(role, prefixes, "Objects named after jobs and runs.")


def _variables(
    environment: str, shift: ShiftPlan, sides: tuple[str, str], bucket_name: str
) -> dict[str, str]:
    windows = [[w.weekday, w.start_minute, w.minutes, w.replicas] for w in shift.windows]
    values = {
        "ENVIRONMENT": environment,
        "SHIFT": shift.name,
        "FLEET_STACK": sides[0],
        "CLUSTER_STACK": sides[1],
        "CLUSTER": shift.cluster,
        "BUCKET": bucket_name,
        "PREFIX": shift_prefix(shift.name),
        "PARAMETER": shift_parameter(environment, shift.name),
        "STATE_PARAMETER": shift_state_parameter(environment, shift.name),
        "ZONE": shift.timezone,
        # Whether Lambda has time zones no page says; and so both reckon with the same ones.
        "ZONE_RULES": packed_zone_rules(shift.timezone),
        "WINDOWS": json.dumps(windows, separators=(",", ":")),
        "DRAIN_MINUTES": str(shift.drain_minutes),
        "REPLICAS_PER_NODE": str(shift.replicas_per_node),
        "FLOOR_NODES": str(shift.nodes_floor),
    }
    return {f"NEURONKIT_{name}": value for name, value in values.items()}
