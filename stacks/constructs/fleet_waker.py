"""The waker: a target of the load balancer that starts a sleeping fleet, and ends an idle one. See stacks/payload/waker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from stacks.constructs.fleet_balancer import served_paths
from stacks.constructs.fleet_function import FleetFunction
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.string_parameter import parameter_arns, string_parameter
from stacks.domain.environment.fleet_settings import ScaleToZero
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import fallback_parameter, waker_parameter

DESCRIBING_ACTIONS = (
    "elasticloadbalancing:DescribeTargetHealth",
    "elasticloadbalancing:DescribeRules",
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "application-autoscaling:DescribeScalableTargets",
    "cloudwatch:GetMetricData",
)
"""None of them takes a resource."""
HOLD_MARGIN_SECONDS, TIMEOUT_SECONDS_MIN = 30, 60


@dataclass(frozen=True, slots=True)
class WokenFleet:
    """What the waker changes, once it is all there."""

    services: Sequence[ecs.CfnService]
    rule: elbv2.CfnListenerRule
    neuron: elbv2.CfnTargetGroup
    gpu: elbv2.CfnTargetGroup | None


class FleetWaker(Construct):
    """A service depends on the listener rule, the rule on the waker's target group, and that on the function: so the
    function finds their names in a parameter, and its role names them by cluster and load balancer.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: str,
        fleet: FleetPlan,
        cluster: ecs.CfnCluster,
        balancer: elbv2.CfnLoadBalancer,
        auto_scaling_group: autoscaling.CfnAutoScalingGroup | None,
    ) -> None:
        super().__init__(scope, id_)
        self._environment, self._fleet = environment, fleet
        self._cluster, self._balancer, self._group = cluster, balancer, auto_scaling_group
        made = FleetFunction(
            self,
            "Waker",
            payload="waker",
            environment=self._variables(),
            statements=self._statements(),
            timeout_seconds=max(TIMEOUT_SECONDS_MIN, self._hold_seconds + HOLD_MARGIN_SECONDS),
            # With `hold`, each request that waits takes one.
            one_at_a_time=False,
        )
        made.every_minute(json.dumps({"event": "check"}))
        self.function = made.resource
        made.acknowledge_patterns(
            "The services of one cluster and the rules of one load balancer: both are this fleet's own."
        )
        self.target_group = self._make_target_group()
        for what in ("state", "wake"):
            self._parameter(what, "{}")

    @property
    def _settings(self) -> ScaleToZero:
        settings = self._fleet.settings.scale_to_zero
        assert settings is not None, "only such a fleet has a waker"
        return settings

    @property
    def _hold_seconds(self) -> int:
        return self._settings.hold_seconds if self._settings.answer == "hold" else 0

    def _name(self, what: str) -> str:
        return waker_parameter(self._environment, self._fleet.name, what)

    def _variables(self) -> dict[str, str]:
        own = {
            f"NEURONKIT_{what.upper()}_PARAMETER": self._name(what) for what in ("settings", "state", "wake")
        }
        if self._fleet.fallback is None:
            return own
        return {
            **own,
            "NEURONKIT_OVERRIDE_PARAMETER": fallback_parameter(self._environment, self._fleet.name),
        }

    def _statements(self) -> list[iam.PolicyStatement]:
        names = sorted(self._variables().values())
        written = sorted(self._name(what) for what in ("state", "wake"))
        found = [
            iam.PolicyStatement(actions=["ssm:GetParameters"], resources=parameter_arns(self, names)),
            iam.PolicyStatement(actions=["ssm:PutParameter"], resources=parameter_arns(self, written)),
            iam.PolicyStatement(
                actions=["ecs:DescribeServices", "ecs:UpdateService"], resources=[self._services_arn]
            ),
            iam.PolicyStatement(actions=["elasticloadbalancing:ModifyRule"], resources=[self._rules_arn]),
            iam.PolicyStatement(actions=list(DESCRIBING_ACTIONS), resources=["*"]),
        ]
        if self._group is not None:
            found.append(
                iam.PolicyStatement(
                    actions=["autoscaling:SetDesiredCapacity"], resources=[self._group_arn(self._group)]
                )
            )
        return found

    @property
    def _services_arn(self) -> str:
        return cdk.Stack.of(self).format_arn(
            service="ecs", resource="service", resource_name=f"{self._cluster.ref}/*"
        )

    @property
    def _rules_arn(self) -> str:
        name = f"{self._balancer.attr_load_balancer_full_name}/*"
        return cdk.Stack.of(self).format_arn(
            service="elasticloadbalancing", resource="listener-rule", resource_name=name
        )

    def _group_arn(self, group: autoscaling.CfnAutoScalingGroup) -> str:
        """The star is for an id that the group gets when it is made."""
        return cdk.Stack.of(self).format_arn(
            service="autoscaling",
            resource="autoScalingGroup",
            resource_name=f"*:autoScalingGroupName/{group.ref}",
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

    def _make_target_group(self) -> elbv2.CfnTargetGroup:
        permission = lambda_.CfnPermission(
            self,
            "Permission",
            action="lambda:InvokeFunction",
            function_name=self.function.ref,
            principal="elasticloadbalancing.amazonaws.com",
            source_account=cdk.Stack.of(self).account,
        )
        fix_logical_id(permission, "WakerPermission")
        group = elbv2.CfnTargetGroup(
            self,
            "Targets",
            target_type="lambda",
            health_check_enabled=False,
            targets=[elbv2.CfnTargetGroup.TargetDescriptionProperty(id=self.function.attr_arn)],
        )
        group.add_resource_dependency(permission)
        fix_logical_id(group, "WakerTargetGroup")
        return group

    def knows(self, woken: WokenFleet) -> None:
        """Writes the settings: the last resource, after the services and the rule."""
        fleet, group = self._fleet, self._group
        settings: dict[str, Any] = {
            "environment": self._environment,
            "fleet": fleet.name,
            "model": fleet.settings.model.name,
            "idle_seconds": self._settings.idle_minutes * 60,
            "hold_seconds": self._hold_seconds,
            "start_low_seconds": fleet.times.start_low,
            "start_high_seconds": fleet.times.start_high,
            "nodes_at_wake": max(1, fleet.nodes_minimum),
            "wake_paths": [path.removesuffix("*") for path in served_paths(fleet)],
            "cluster": self._cluster.ref,
            "services": [service.attr_name for service in woken.services],
            "auto_scaling_group": group.ref if group else None,
            "listener_rule": woken.rule.ref,
            "load_balancer": self._balancer.attr_load_balancer_full_name,
            "neuron_target_group": woken.neuron.ref,
            "gpu_target_group": woken.gpu.ref if woken.gpu else None,
            "waker_target_group": self.target_group.ref,
        }
        self._parameter("settings", cdk.Stack.of(self).to_json_string(settings))

    def _parameter(self, what: str, value: str) -> None:
        string_parameter(self, f"Waker{what.capitalize()}", name=self._name(what), value=value)
