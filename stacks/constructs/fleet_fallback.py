"""The fallback controller: it moves requests between Neuron and GPU, and scales the GPU side. See stacks/payload/fallback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.fleet_function import FleetFunction
from stacks.constructs.fleet_roles import metrics_policy_statement
from stacks.constructs.string_parameter import parameter_arns, string_parameter
from stacks.domain.fleet_plan import FallbackPlan, FleetPlan
from stacks.domain.names import fallback_parameter, fallback_state_parameter

TIMEOUT_SECONDS = 55
"""Less than the minute after which it is called again."""
NO_OVERRIDE = json.dumps({"mode": "auto", "until": None, "reason": ""})
DESCRIBING_ACTIONS = (
    "elasticloadbalancing:DescribeRules",
    "elasticloadbalancing:DescribeTargetHealth",
    "application-autoscaling:DescribeScalableTargets",
    "autoscaling:DescribeScalingActivities",
    "cloudwatch:GetMetricData",
)
"""None of them takes a resource."""


@dataclass(frozen=True, slots=True)
class TwoSides:
    """What the controller sees and changes."""

    cluster: ecs.CfnCluster
    balancer: elbv2.CfnLoadBalancer
    rule: elbv2.CfnListenerRule
    neuron: elbv2.CfnTargetGroup
    gpu: elbv2.CfnTargetGroup
    waker: elbv2.CfnTargetGroup | None
    neuron_services: Sequence[ecs.CfnService]
    gpu_service: ecs.CfnService
    neuron_auto_scaling_group: autoscaling.CfnAutoScalingGroup | None
    gpu_auto_scaling_group: autoscaling.CfnAutoScalingGroup


class FleetFallback(Construct):
    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: str,
        fleet: FleetPlan,
        fallback: FallbackPlan,
        sides: TwoSides,
    ) -> None:
        super().__init__(scope, id_)
        self._names = (
            fallback_parameter(environment, fleet.name),
            fallback_state_parameter(environment, fleet.name),
        )
        self.parameter = string_parameter(self, "Fallback", name=self._names[0], value=NO_OVERRIDE)
        string_parameter(self, "FallbackState", name=self._names[1], value="{}")
        made = FleetFunction(
            self,
            "Fallback",
            payload="fallback",
            environment={
                "NEURONKIT_ENVIRONMENT": environment,
                **self._settings(fleet, fallback),
                **_places(sides),
            },
            statements=self._statements(sides),
            timeout_seconds=TIMEOUT_SECONDS,
            one_at_a_time=True,
        )
        made.every_minute()
        self.function = made.resource

    def _settings(self, fleet: FleetPlan, fallback: FallbackPlan) -> dict[str, str]:
        override, state = self._names
        return {
            "NEURONKIT_FLEET": fleet.name,
            "NEURONKIT_MODE": fallback.mode,
            "NEURONKIT_BACK": fallback.back,
            "NEURONKIT_WEIGHT_PERCENT": str(fallback.weight_percent),
            "NEURONKIT_GPU_REPLICAS_MINIMUM": str(fallback.replicas_minimum),
            "NEURONKIT_GPU_REPLICAS_MAXIMUM": str(fallback.replicas_maximum),
            "NEURONKIT_WAITING_PER_REPLICA": str(fleet.settings.scaling.waiting_per_replica),
            "NEURONKIT_DRAIN_SECONDS": str(fleet.times.deregistration_delay),
            "NEURONKIT_START_SECONDS": str(fleet.times.grace),
            "NEURONKIT_OVERRIDE_PARAMETER": override,
            "NEURONKIT_STATE_PARAMETER": state,
        }

    def _statements(self, sides: TwoSides) -> list[iam.PolicyStatement]:
        services = [service.ref for service in (*sides.neuron_services, sides.gpu_service)]
        return [
            iam.PolicyStatement(actions=list(DESCRIBING_ACTIONS), resources=["*"]),
            iam.PolicyStatement(actions=["elasticloadbalancing:ModifyRule"], resources=[sides.rule.ref]),
            iam.PolicyStatement(actions=["ecs:DescribeServices"], resources=services),
            iam.PolicyStatement(actions=["ecs:UpdateService"], resources=[sides.gpu_service.ref]),
            iam.PolicyStatement(actions=["ssm:GetParameters"], resources=parameter_arns(self, self._names)),
            iam.PolicyStatement(
                actions=["ssm:PutParameter"], resources=parameter_arns(self, self._names[1:])
            ),
            metrics_policy_statement(),
        ]


def _places(sides: TwoSides) -> dict[str, str]:
    found = {
        "NEURONKIT_RULE_ARN": sides.rule.ref,
        "NEURONKIT_NEURON_TARGET_GROUP_ARN": sides.neuron.ref,
        "NEURONKIT_GPU_TARGET_GROUP_ARN": sides.gpu.ref,
        "NEURONKIT_ECS_CLUSTER": sides.cluster.ref,
        "NEURONKIT_NEURON_SERVICES": cdk.Fn.join(",", [s.attr_name for s in sides.neuron_services]),
        "NEURONKIT_GPU_SERVICE": sides.gpu_service.attr_name,
        "NEURONKIT_GPU_AUTO_SCALING_GROUP": sides.gpu_auto_scaling_group.ref,
        "NEURONKIT_LOAD_BALANCER": sides.balancer.attr_load_balancer_full_name,
    }
    if sides.waker is not None:
        found["NEURONKIT_WAKER_TARGET_GROUP_ARN"] = sides.waker.ref
    if sides.neuron_auto_scaling_group is not None:
        found["NEURONKIT_NEURON_AUTO_SCALING_GROUP"] = sides.neuron_auto_scaling_group.ref
    return found
