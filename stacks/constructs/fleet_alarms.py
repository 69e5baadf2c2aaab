"""Alarms of a fleet. They act on nothing: the kit sends no mail; `neuronkit status` shows them, and actions can be added."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from stacks.constructs.fleet_service import side_dimensions
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import METRICS_NAMESPACE
from stacks.domain.render.exporter import GPU, NEURON

Alarm = cloudwatch.CfnAlarm
Query = Alarm.MetricDataQueryProperty

MINUTE = 60
ERRORS_PERCENT_MAX = 5
ERROR_MINUTES = 5
DEAD_ENGINE_MINUTES = 5
GPU_MISSING_MINUTES = 15
WAKER_MINUTES = 15
BALANCER_NAMESPACE = "AWS/ApplicationELB"
INSIGHTS_NAMESPACE = "ECS/ContainerInsights"


@dataclass(frozen=True, slots=True)
class WatchedFleet:
    environment: str
    fleet: FleetPlan
    balancer: elbv2.CfnLoadBalancer
    neuron: elbv2.CfnTargetGroup
    cluster: ecs.CfnCluster
    service: ecs.CfnService


class FleetAlarms(Construct):
    def __init__(self, scope: Construct, id_: str, *, watched: WatchedFleet) -> None:
        super().__init__(scope, id_)
        self._watched = watched
        self._no_healthy_replica()
        self._errors()
        self._dead_engine(NEURON, "DeadEngine")

    def _no_healthy_replica(self) -> None:
        """Replicas are wanted and none answers, for longer than the slowest start takes."""
        watched = self._watched
        wanted_of = {"ClusterName": watched.cluster.ref, "ServiceName": watched.service.attr_name}
        minutes = math.ceil(watched.fleet.times.grace / MINUTE)
        self._make(
            "NoHealthyReplica",
            "Replicas are wanted, and none has been healthy for longer than the slowest start",
            minutes=minutes,
            queries=[
                _metric("healthy", BALANCER_NAMESPACE, "HealthyHostCount", self._group(), "Maximum"),
                _metric("wanted", INSIGHTS_NAMESPACE, "DesiredTaskCount", wanted_of, "Maximum"),
                _expression("IF(wanted > 0 AND FILL(healthy, 0) < 1, 1, 0)"),
            ],
        )

    def _errors(self) -> None:
        """The replicas' own, and the load balancer's for want of a replica; not the answers of the waker."""
        balancer = {"LoadBalancer": self._watched.balancer.attr_load_balancer_full_name}
        self._make(
            "Errors",
            f"More than {ERRORS_PERCENT_MAX} % of requests end with 5xx",
            minutes=ERROR_MINUTES,
            above=ERRORS_PERCENT_MAX,
            queries=[
                _metric("requests", BALANCER_NAMESPACE, "RequestCount", balancer, "Sum"),
                _metric("ours", BALANCER_NAMESPACE, "HTTPCode_Target_5XX_Count", self._group(), "Sum"),
                _metric("none", BALANCER_NAMESPACE, "HTTPCode_ELB_5XX_Count", balancer, "Sum"),
                _expression("IF(requests > 0, 100 * (FILL(ours, 0) + FILL(none, 0)) / requests, 0)"),
            ],
        )

    def _dead_engine(self, side: str, id_: str) -> None:
        """Health checks can stay green when the engine behind them is dead (vllm-project/vllm issue 39863)."""
        watched = self._watched
        dimensions = side_dimensions(watched.environment, watched.fleet.name, side)
        self._make(
            id_,
            f"Requests run on a replica ({side}) and no token comes, whatever its health check says",
            minutes=DEAD_ENGINE_MINUTES,
            queries=[
                _metric("progress", METRICS_NAMESPACE, "EngineProgress", dimensions, "Minimum"),
                _expression("IF(progress < 1, 1, 0)"),
            ],
        )

    def fallback(self, controller: lambda_.CfnFunction) -> None:
        """What the controller reports of itself, and when it does not run."""
        own = {"Environment": self._watched.environment, "Fleet": self._watched.fleet.name}
        for name, minutes, words in (
            ("FallbackActive", 1, "GPUs serve more than the environment file says"),
            ("NobodyServes", 2, "Neither Neuron nor GPU replicas serve"),
            ("GpuMissing", GPU_MISSING_MINUTES, "GPU replicas are needed and none serves"),
        ):
            self._make(
                name,
                words,
                minutes=minutes,
                queries=[_metric("seen", METRICS_NAMESPACE, name, own, "Maximum", returned=True)],
            )
        self._make(
            "ControllerFails",
            "The fallback controller ended with an error",
            minutes=5,
            of_them=3,
            queries=[
                _metric(
                    "seen", "AWS/Lambda", "Errors", {"FunctionName": controller.ref}, "Sum", returned=True
                )
            ],
        )
        self._make(
            "ControllerSilent",
            "The fallback controller has not reported for ten minutes: nobody watches over the weights",
            minutes=10,
            missing="breaching",
            queries=[
                _metric("reports", METRICS_NAMESPACE, "FallbackActive", own, "SampleCount"),
                _expression("IF(reports > 0, 0, 1)"),
            ],
        )
        self._dead_engine(GPU, "DeadGpuEngine")

    def waker(self) -> None:
        """What the waker reports of itself."""
        own = {"Environment": self._watched.environment, "Fleet": self._watched.fleet.name}
        for name, words in (
            ("WakeOverdue", "The fleet was woken, and takes longer than the slowest start"),
            ("NoCapacity", "The fleet was woken, and AWS gives it no instance"),
            (
                "IdleUnknown",
                "No request came, but the engines' metrics are missing: it stays on and costs money",
            ),
        ):
            self._make(
                name,
                words,
                minutes=WAKER_MINUTES,
                queries=[_metric("seen", METRICS_NAMESPACE, name, own, "Maximum", returned=True)],
            )

    def _group(self) -> dict[str, str]:
        watched = self._watched
        return {
            "LoadBalancer": watched.balancer.attr_load_balancer_full_name,
            "TargetGroup": watched.neuron.attr_target_group_full_name,
        }

    def _make(
        self,
        id_: str,
        description: str,
        *,
        minutes: int,
        queries: list[Query],
        above: float = 0,
        of_them: int | None = None,
        missing: str = "notBreaching",
    ) -> None:
        alarm = Alarm(
            self,
            id_,
            alarm_description=description,
            metrics=queries,
            comparison_operator="GreaterThanThreshold",
            threshold=above,
            evaluation_periods=minutes,
            datapoints_to_alarm=of_them or minutes,
            treat_missing_data=missing,
        )
        fix_logical_id(alarm, f"{id_}Alarm")


def _metric(
    id_: str, namespace: str, name: str, dimensions: dict[str, str], stat: str, *, returned: bool = False
) -> Query:
    return Query(
        id=id_,
        return_data=returned,
        metric_stat=Alarm.MetricStatProperty(
            period=MINUTE,
            stat=stat,
            metric=Alarm.MetricProperty(
                namespace=namespace,
                metric_name=name,
                dimensions=[
                    Alarm.DimensionProperty(name=key, value=value) for key, value in dimensions.items()
                ],
            ),
        ),
    )


def _expression(text: str) -> Query:
    return Query(id="judged", expression=text, return_data=True)
