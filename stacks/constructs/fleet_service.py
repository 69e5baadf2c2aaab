"""An ECS service that keeps the replicas of one slice, or of the GPU side, running; and what scales it."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct, IConstruct

from stacks.constructs.engine_task import ENGINE
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.names import METRICS_NAMESPACE
from stacks.domain.render.exporter import NEURON

Service = ecs.CfnService
Policy = scaling.CfnScalingPolicy

# By default it takes three failures with one replica: three compiles of up to an hour each.
FAILURES_UNTIL_ROLLBACK = 2
METRIC_STAT = "Sum"


class FleetService(Construct):
    """`no_task_at_first`: a condition that is true until the fleet has started once. A count in the template would be set
    again at every deploy, and without one CloudFormation waits at the first deploy until a replica has compiled.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: ecs.CfnCluster,
        provider: ecs.CfnCapacityProvider,
        task: ecs.CfnTaskDefinition,
        port: int,
        target_group: elbv2.CfnTargetGroup,
        tasks_minimum: int,
        grace_seconds: int,
        no_task_at_first: cdk.CfnCondition,
        needs: Sequence[IConstruct],
        network: Service.NetworkConfigurationProperty | None = None,
        logical_id: str,
    ) -> None:
        super().__init__(scope, id_)
        self.resource = Service(
            self,
            "Service",
            cluster=cluster.ref,
            task_definition=task.ref,
            desired_count=cdk.Token.as_number(
                cdk.Fn.condition_if(no_task_at_first.logical_id, 0, cdk.Aws.NO_VALUE)
            ),
            # And no launch type, with which no node would ever be started.
            capacity_provider_strategy=[
                Service.CapacityProviderStrategyItemProperty(capacity_provider=provider.ref, weight=1)
            ],
            # On by default: it would start one replica more to move another.
            availability_zone_rebalancing="DISABLED",
            health_check_grace_period_seconds=grace_seconds,
            enable_ecs_managed_tags=True,
            propagate_tags="SERVICE",
            network_configuration=network,
            load_balancers=[
                Service.LoadBalancerProperty(
                    container_name=ENGINE, container_port=port, target_group_arn=target_group.ref
                )
            ],
            deployment_configuration=_deployment(tasks_minimum),
        )
        fix_logical_id(self.resource, logical_id)
        for needed in needs:
            self.resource.node.add_dependency(needed)


def _deployment(tasks_minimum: int) -> Service.DeploymentConfigurationProperty:
    """Never more nodes than the fleet has: a replica stops before its successor starts. Alone, that is a gap as long
    as a start: half of one task is a whole one to ECS, and at 50 % a single replica could never be replaced.
    """
    return Service.DeploymentConfigurationProperty(
        minimum_healthy_percent=50 if tasks_minimum > 1 else 0,
        maximum_percent=100,
        deployment_circuit_breaker=Service.DeploymentCircuitBreakerProperty(
            enable=True,
            rollback=True,
            threshold_configuration=Service.ThresholdConfigurationProperty(
                type="COUNT", value=FAILURES_UNTIL_ROLLBACK
            ),
        ),
    )


class ServiceScaling(Construct):
    """Nodes by waiting requests for each replica. With scale to zero it never goes below one: the waker alone ends the
    last replica, after the idle time, and starts the first; no metric of an engine exists at zero. Registering a target
    pulls the count into its range, so the first deploy registers it from zero: what is compiled comes before replicas. Each
    later change of the target does the same, and wakes a fleet that sleeps.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: str,
        fleet: FleetPlan,
        cluster: ecs.CfnCluster,
        service: ecs.CfnService,
        logical_id: str,
        no_task_at_first: cdk.CfnCondition,
    ) -> None:
        super().__init__(scope, id_)
        floor = 0 if serves_on_gpus_alone(fleet) else max(1, fleet.nodes_minimum)
        target = scaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="ecs",
            scalable_dimension="ecs:service:DesiredCount",
            resource_id=cdk.Fn.join("/", ["service", cluster.ref, service.attr_name]),
            min_capacity=cdk.Token.as_number(cdk.Fn.condition_if(no_task_at_first.logical_id, 0, floor)),
            max_capacity=fleet.nodes_maximum,
        )
        fix_logical_id(target, f"{logical_id}Scaling")
        if fleet.nodes_maximum <= max(1, floor) or serves_on_gpus_alone(fleet):
            return
        policy = Policy(
            self,
            "Policy",
            policy_name="waiting-requests",
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=Policy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=fleet.settings.scaling.waiting_per_replica,
                scale_out_cooldown=fleet.times.scale_out_cooldown,
                scale_in_cooldown=fleet.times.scale_in_cooldown,
                customized_metric_specification=Policy.CustomizedMetricSpecificationProperty(
                    metrics=waiting_per_replica(environment, fleet.name)
                ),
            ),
        )
        fix_logical_id(policy, f"{logical_id}ScalingPolicy")


def serves_on_gpus_alone(fleet: FleetPlan) -> bool:
    """Neuron does not serve the model: no node of it is to start."""
    return fleet.fallback is not None and fleet.fallback.mode == "model"


def waiting_per_replica(environment: str, fleet: str) -> list[Policy.TargetTrackingMetricDataQueryProperty]:
    """Both sums are over the same reports, so that their quotient does not depend on how often replicas report."""
    return [
        _engine_metric("waiting", "RequestsWaiting", environment, fleet),
        _engine_metric("replicas", "Replicas", environment, fleet),
        Policy.TargetTrackingMetricDataQueryProperty(
            id="perReplica",
            expression="waiting / IF(replicas > 0, replicas, 1)",
            label="Waiting requests for each replica",
            return_data=True,
        ),
    ]


def _engine_metric(
    id_: str, name: str, environment: str, fleet: str
) -> Policy.TargetTrackingMetricDataQueryProperty:
    return Policy.TargetTrackingMetricDataQueryProperty(
        id=id_,
        return_data=False,
        metric_stat=Policy.TargetTrackingMetricStatProperty(
            stat=METRIC_STAT,
            metric=Policy.TargetTrackingMetricProperty(
                namespace=METRICS_NAMESPACE,
                metric_name=name,
                dimensions=[
                    Policy.TargetTrackingMetricDimensionProperty(name=key, value=value)
                    for key, value in side_dimensions(environment, fleet, NEURON).items()
                ],
            ),
        ),
    )


def side_dimensions(environment: str, fleet: str, side: str) -> dict[str, str]:
    return {"Environment": environment, "Fleet": fleet, "Side": side}
