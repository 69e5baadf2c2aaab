# ruff: noqa: N803 (boto3's arguments have AWS's names)
"""AWS's clients for one fleet, in memory: they answer in AWS's form, and refuse what a test wants refused."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from fallback.handler import Clients

_GROUP = "arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup"
NEURON, GPU, WAKER = f"{_GROUP}/neuron/1", f"{_GROUP}/gpu/2", f"{_GROUP}/waker/3"
RULE = "arn:aws:elasticloadbalancing:us-east-1:111122223333:listener-rule/app/f/1/2/3"
ACCOUNT_VARIABLES = {
    "NEURONKIT_ENVIRONMENT": "pilot",
    "NEURONKIT_FLEET": "chat",
    "NEURONKIT_RULE_ARN": RULE,
    "NEURONKIT_NEURON_TARGET_GROUP_ARN": NEURON,
    "NEURONKIT_GPU_TARGET_GROUP_ARN": GPU,
    "NEURONKIT_ECS_CLUSTER": "arn:aws:ecs:us-east-1:111122223333:cluster/pilot-chat",
    "NEURONKIT_NEURON_SERVICES": "neuron-0,neuron-1",
    "NEURONKIT_GPU_SERVICE": "gpu",
    "NEURONKIT_NEURON_AUTO_SCALING_GROUP": "neuron-nodes",
    "NEURONKIT_GPU_AUTO_SCALING_GROUP": "gpu-nodes",
    "NEURONKIT_LOAD_BALANCER": "app/f/1",
    "NEURONKIT_MODE": "overflow",
    "NEURONKIT_GPU_REPLICAS_MINIMUM": "0",
    "NEURONKIT_GPU_REPLICAS_MAXIMUM": "2",
    "NEURONKIT_WAITING_PER_REPLICA": "2.0",
    "NEURONKIT_DRAIN_SECONDS": "300",
    "NEURONKIT_START_SECONDS": "3600",
    "NEURONKIT_OVERRIDE_PARAMETER": "/neuronkit/pilot/fleets/chat/fallback",
    "NEURONKIT_STATE_PARAMETER": "/neuronkit/pilot/fleets/chat/fallback-state",
}


@dataclass
class FleetAws:
    desired: dict[str, int] = field(default_factory=lambda: {"neuron-0": 1, "neuron-1": 1, "gpu": 0})
    healthy: dict[str, int] = field(default_factory=lambda: {NEURON: 2, GPU: 0})
    weights: dict[str, int] = field(default_factory=lambda: {NEURON: 100, GPU: 0})
    parameters: dict[str, str] = field(default_factory=dict)
    metric_values: dict[str, list[float]] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    """Operations that are throttled."""
    written_meanwhile: dict[str, int] | None = None
    """Weights that somebody sets between the first and the second look at the rule."""

    def __post_init__(self) -> None:
        override = ACCOUNT_VARIABLES["NEURONKIT_OVERRIDE_PARAMETER"]
        self.parameters.setdefault(override, json.dumps({"mode": "auto", "until": None, "reason": ""}))
        self.parameters.setdefault(ACCOUNT_VARIABLES["NEURONKIT_STATE_PARAMETER"], "{}")

    def clients(self) -> Clients:
        return Clients(
            elbv2=self, ecs=self, autoscaling=self, applicationautoscaling=self, cloudwatch=self, ssm=self
        )

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.parameters[ACCOUNT_VARIABLES["NEURONKIT_STATE_PARAMETER"]])
        return found

    def _called(self, operation: str) -> None:
        if operation in self.refuses:
            raise ClientError({"Error": {"Code": "Throttling", "Message": "Rate exceeded"}}, operation)

    def _wrote(self, operation: str) -> None:
        self._called(operation)
        self.writes.append(operation)

    def describe_rules(self, RuleArns: list[str]) -> dict[str, Any]:
        self._called("DescribeRules")
        assert RuleArns == [RULE]
        groups = [{"TargetGroupArn": arn, "Weight": weight} for arn, weight in self.weights.items()]
        if self.written_meanwhile:
            self.weights, self.written_meanwhile = self.written_meanwhile, None
        action = {"Type": "forward", "Order": 1, "ForwardConfig": {"TargetGroups": groups}}
        return {"Rules": [{"RuleArn": RULE, "Actions": [action]}]}

    def modify_rule(self, RuleArn: str, Actions: list[dict[str, Any]]) -> None:
        self._wrote("ModifyRule")
        groups = Actions[-1]["ForwardConfig"]["TargetGroups"]
        self.weights = {group["TargetGroupArn"]: group["Weight"] for group in groups}

    def describe_target_health(self, TargetGroupArn: str) -> dict[str, Any]:
        self._called("DescribeTargetHealth")
        target = {"TargetHealth": {"State": "healthy"}}
        return {"TargetHealthDescriptions": [copy.deepcopy(target)] * self.healthy[TargetGroupArn]}

    def describe_services(self, cluster: str, services: list[str]) -> dict[str, Any]:
        self._called("DescribeServices")
        assert len(services) <= 10
        return {
            "services": [
                {
                    "serviceName": name,
                    "status": "ACTIVE",
                    "desiredCount": self.desired[name],
                    "runningCount": self.desired[name],
                    "pendingCount": 0,
                    "deployments": [{"rolloutState": "COMPLETED"}],
                    "events": [],
                }
                for name in services
            ]
        }

    def update_service(self, cluster: str, service: str, desiredCount: int) -> None:
        self._wrote("UpdateService")
        self.desired[service] = desiredCount

    def describe_scaling_activities(self, AutoScalingGroupName: str, MaxRecords: int) -> dict[str, Any]:
        self._called("DescribeScalingActivities")
        return {"Activities": []}

    def describe_scalable_targets(self, ServiceNamespace: str, ResourceIds: list[str]) -> dict[str, Any]:
        self._called("DescribeScalableTargets")
        assert ResourceIds == ["service/pilot-chat/neuron-0", "service/pilot-chat/neuron-1"]
        return {"ScalableTargets": [{"ResourceId": ResourceIds[0], "MaxCapacity": 2}]}

    def get_metric_data(self, MetricDataQueries: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        self._called("GetMetricData")
        names = [query["Id"] for query in MetricDataQueries]
        return {"MetricDataResults": [{"Id": n, "Values": self.metric_values.get(n, [])} for n in names]}

    def put_metric_data(self, Namespace: str, MetricData: list[dict[str, Any]]) -> None:
        self._called("PutMetricData")
        assert Namespace == "neuronkit/serving"
        self.metrics = MetricData

    def get_parameters(self, Names: list[str]) -> dict[str, Any]:
        self._called("GetParameters")
        return {
            "Parameters": [{"Name": n, "Value": self.parameters[n]} for n in Names if n in self.parameters]
        }

    def put_parameter(self, Name: str, Value: str, Type: str, Overwrite: bool) -> None:
        self._called("PutParameter")
        assert (Type, Overwrite) == ("String", True)
        self.parameters[Name] = Value
