"""One serving fleet on ECS: nodes, replicas, load balancer, and what wakes it and falls back. It goes and comes alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.constructs.capacity_association import associate
from stacks.constructs.engine_task import TaskSurroundings
from stacks.constructs.fleet_alarms import FleetAlarms, WatchedFleet
from stacks.constructs.fleet_artifacts import FleetArtifacts
from stacks.constructs.fleet_balancer import FleetBalancer, Weighted
from stacks.constructs.fleet_compile import FARGATE, FleetCompile
from stacks.constructs.fleet_fallback import FleetFallback, TwoSides
from stacks.constructs.fleet_place import FleetPlace
from stacks.constructs.fleet_roles import FleetExecutionRole, ReplicaRole
from stacks.constructs.fleet_security_groups import NodeSecurityGroup
from stacks.constructs.fleet_waker import FleetWaker, WokenFleet
from stacks.constructs.gpu_side import EPHEMERAL_PORTS, GpuSide
from stacks.constructs.logical_id import fix_logical_id
from stacks.constructs.neuron_side import NeuronSide
from stacks.constructs.node_role import NodeRole
from stacks.domain import names
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.plan import Plan
from stacks.domain.render.engine_container import EngineContainer
from stacks.domain.render.engines import compile_container, engine_container, fallback_container

ALL = 100


@dataclass(frozen=True, slots=True)
class Containers:
    replicas: tuple[EngineContainer, ...]
    """Of one node: one a slice."""
    compile: EngineContainer | None
    gpu: EngineContainer | None

    @property
    def all(self) -> tuple[EngineContainer, ...]:
        others = (self.compile, self.gpu)
        return (*self.replicas, *(container for container in others if container is not None))


def containers_of(plan: Plan, fleet: FleetPlan) -> Containers:
    return Containers(
        replicas=tuple(engine_container(plan, fleet, place) for place in fleet.slices),
        compile=compile_container(plan, fleet),
        gpu=fallback_container(plan, fleet) if fleet.fallback else None,
    )


class FleetStack(cdk.Stack):
    """`node_tags` go on instances, volumes and interfaces.

    The parameter FirstDeploy is "true" until a deploy has seen the fleet started: services begin without a task, and nobody
    waits for a compile. At every later deploy it is "false", so that what has scaled stays as it is.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        plan: Plan,
        fleet: FleetPlan,
        place: FleetPlace,
        bucket: s3.IBucket,
        node_tags: Mapping[str, str],
        **stack_arguments: Any,
    ) -> None:
        super().__init__(scope, id_, **stack_arguments)
        self._environment, self._fleet, self._place = plan.name, fleet, place
        self._node_tags = node_tags
        self._containers = containers_of(plan, fleet)
        self._outputs: dict[str, str] = {}
        self._add_cluster()
        self._add_entry()
        self._add_nodes()
        self._add_tasks(bucket)
        self._associate()
        self._add_rule()
        self._serve()
        self._watch()
        for name, value in self._outputs.items():
            cdk.CfnOutput(self, name, value=value)

    def _add_cluster(self) -> None:
        """With Container Insights, which alone know how many replicas are wanted."""
        self._cluster = ecs.CfnCluster(
            self,
            "Cluster",
            cluster_settings=[
                ecs.CfnCluster.ClusterSettingsProperty(name="containerInsights", value="enabled")
            ],
        )
        fix_logical_id(self._cluster, "Cluster")
        self._outputs[names.OUTPUT_ECS_CLUSTER] = self._cluster.ref

    def _add_entry(self) -> None:
        """The load balancer, and what may speak with whom."""
        fleet, place = self._fleet, self._place
        self._balancer = FleetBalancer(self, "Balancer", fleet=fleet, place=place)
        shares = any(container.mounts for container in self._containers.all)
        self._artifacts = FleetArtifacts(self, "Artifacts", place=place) if shares else None
        self._neuron_group = self._node_group("Neuron", (fleet.slices[0].port, fleet.slices[-1].port))
        self._gpu_group = self._node_group("Gpu", EPHEMERAL_PORTS) if fleet.fallback else None
        self._outputs[names.OUTPUT_LOAD_BALANCER] = self._balancer.resource.ref
        self._outputs[names.OUTPUT_LOAD_BALANCER_DNS_NAME] = self._balancer.resource.attr_dns_name
        if self._artifacts is None:
            return
        self._outputs[names.OUTPUT_ARTIFACTS_ID] = self._artifacts.file_system.attr_file_system_id
        for side, group in (("Neuron", self._neuron_group), ("Gpu", self._gpu_group)):
            if group is not None:
                group.mount(self._artifacts.security_group.group)
                self._artifacts.security_group.admit(side, group.group)

    def _node_group(self, side: str, ports: tuple[int, int]) -> NodeSecurityGroup:
        return NodeSecurityGroup(
            self,
            f"{side}Group",
            side=side,
            place=self._place,
            balancer=self._balancer.security_group,
            ports=ports,
        )

    def _add_nodes(self) -> None:
        fleet = self._fleet
        profile = (
            NodeRole(self, "NodeRole").instance_profile
            if fleet.settings.runs_on == "ec2" or fleet.fallback
            else None
        )
        self._neuron = NeuronSide(
            self,
            "Neuron",
            environment=self._environment,
            fleet=fleet,
            cluster=self._cluster,
            place=self._place,
            security_group_ids=self._groups_of(self._neuron_group),
            instance_profile=profile,
            node_tags=self._node_tags,
        )
        self._outputs[names.OUTPUT_CAPACITY_PROVIDER] = self._neuron.provider.ref
        if self._neuron.auto_scaling_group is not None:
            self._outputs[names.OUTPUT_AUTO_SCALING_GROUP] = self._neuron.auto_scaling_group.ref
        self._gpu: GpuSide | None = None
        if fleet.fallback is None:
            return
        assert self._gpu_group is not None
        assert profile is not None
        self._gpu = GpuSide(
            self,
            "Gpu",
            fleet=fleet,
            fallback=fleet.fallback,
            cluster=self._cluster,
            place=self._place,
            security_group_ids=self._groups_of(self._gpu_group),
            instance_profile=profile,
            node_tags=self._node_tags,
        )
        self._outputs[names.OUTPUT_GPU_AUTO_SCALING_GROUP] = self._gpu.auto_scaling_group.ref

    def _groups_of(self, side: NodeSecurityGroup) -> list[str]:
        brought = self._place.brought_security_group_id
        return [side.group.attr_group_id, *([brought] if brought else [])]

    def _add_tasks(self, bucket: s3.IBucket) -> None:
        """What tasks share, and the one that compiles."""
        log_group = self._log_group()
        containers = self._containers.all
        self._around = TaskSurroundings(
            execution_role=FleetExecutionRole(
                self, "ExecutionRole", log_group=log_group, containers=containers
            ).role,
            task_role=ReplicaRole(
                self,
                "ReplicaRole",
                model_source=self._fleet.settings.model.source,
                bucket=bucket,
                artifacts=self._artifacts,
            ).role,
            log_group=log_group,
            bucket_name=bucket.bucket_name,
            artifacts=self._artifacts,
        )
        self._outputs[names.OUTPUT_LOG_GROUP] = log_group.log_group_name
        self._compile = self._compile_task()

    def _log_group(self) -> logs.LogGroup:
        """With a generated name: a group that somebody kept never stands in the way of the next deploy."""
        group = logs.LogGroup(
            self,
            "FleetLogs",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        fix_logical_id(group, "FleetLogs")
        return group

    def _compile_task(self) -> FleetCompile | None:
        container = self._containers.compile
        if container is None:
            return None
        assert self._artifacts is not None, "what is compiled is shared"
        made = FleetCompile(
            self,
            "Compile",
            fleet=self._fleet,
            container=container,
            surroundings=self._around,
            artifacts=self._artifacts,
            place=self._place,
            node_provider=self._neuron.provider,
            node_security_group_ids=self._groups_of(self._neuron_group),
        )
        if made.storage_client is not None:
            self._artifacts.security_group.admit("Compile", made.storage_client.group)
        self._outputs[names.OUTPUT_COMPILE_TASK_DEFINITION] = made.task.ref
        self._outputs[names.OUTPUT_COMPILE_CAPACITY_PROVIDER] = made.capacity_provider
        if made.security_group_id is not None:
            self._outputs[names.OUTPUT_COMPILE_SUBNET_ID] = self._place.node_subnet_id
            self._outputs[names.OUTPUT_COMPILE_SECURITY_GROUP_ID] = made.security_group_id
        return made

    def _associate(self) -> None:
        neuron, gpu, compiling = self._neuron, self._gpu, self._compile
        self._association = associate(
            self,
            self._cluster,
            by_default=[neuron.provider.ref] if neuron.auto_scaling_group else [],
            others=[
                *([gpu.provider.ref] if gpu else []),
                *([FARGATE] if compiling and compiling.on_fargate else []),
            ],
        )

    def _add_rule(self) -> None:
        fleet, balancer = self._fleet, self._balancer
        replica, gpu = self._containers.replicas[0], self._containers.gpu
        self._neuron_targets = balancer.replicas(
            "Neuron",
            health_path=replica.health_path,
            port=replica.port,
            by_address=fleet.settings.runs_on == "managed-instances",
        )
        self._gpu_targets = (
            balancer.replicas("Gpu", health_path=gpu.health_path, port=gpu.port) if gpu else None
        )
        self._waker = self._make_waker()
        shares = first_weights(fleet)
        groups = {
            "neuron": self._neuron_targets,
            "gpu": self._gpu_targets,
            "waker": self._waker.target_group if self._waker else None,
        }
        self._rule = balancer.forward(
            [Weighted(group, shares[name]) for name, group in groups.items() if group is not None]
        )
        self._outputs[names.OUTPUT_LISTENER_RULE] = self._rule.ref
        for output, group in zip(_TARGET_GROUP_OUTPUTS, groups.values(), strict=True):
            if group is not None:
                self._outputs[output] = group.ref

    def _make_waker(self) -> FleetWaker | None:
        if self._fleet.settings.scale_to_zero is None:
            return None
        waker = FleetWaker(
            self,
            "Wake",
            environment=self._environment,
            fleet=self._fleet,
            cluster=self._cluster,
            balancer=self._balancer.resource,
            auto_scaling_group=self._neuron.auto_scaling_group,
        )
        self._outputs[names.OUTPUT_WAKER_FUNCTION] = waker.function.ref
        return waker

    def _serve(self) -> None:
        needs = [
            *([self._association] if self._association else []),
            self._rule,
            *([self._artifacts.mount_target] if self._artifacts else []),
        ]
        first = self._first_deploy()
        self._services = self._neuron.serve(
            self._containers.replicas,
            surroundings=self._around,
            target_group=self._neuron_targets,
            no_task_at_first=first,
            needs=needs,
        )
        self._outputs[names.OUTPUT_SERVICES] = cdk.Fn.join(",", [s.attr_name for s in self._services])
        self._gpu_service: ecs.CfnService | None = None
        if self._gpu is None:
            return
        assert self._containers.gpu is not None
        assert self._gpu_targets is not None
        self._gpu_service = self._gpu.serve(
            self._environment,
            self._containers.gpu,
            surroundings=self._around,
            target_group=self._gpu_targets,
            no_task_at_first=first,
            needs=needs,
        )
        self._outputs[names.OUTPUT_GPU_SERVICE] = self._gpu_service.attr_name

    def _first_deploy(self) -> cdk.CfnCondition:
        parameter = cdk.CfnParameter(
            self,
            names.PARAMETER_FIRST_DEPLOY,
            type="String",
            default="false",
            allowed_values=["true", "false"],
            description="true until the fleet has started once: services begin without a task",
        )
        is_first = cdk.Fn.condition_equals(parameter.value_as_string, "true")
        return cdk.CfnCondition(self, "IsFirstDeploy", expression=is_first)

    def _watch(self) -> None:
        watched = WatchedFleet(
            environment=self._environment,
            fleet=self._fleet,
            balancer=self._balancer.resource,
            neuron=self._neuron_targets,
            cluster=self._cluster,
            service=self._services[0],
        )
        alarms = FleetAlarms(self, "Alarms", watched=watched)
        if self._waker is not None:
            woken = WokenFleet(self._services, self._rule, self._neuron_targets, self._gpu_targets)
            self._waker.knows(woken)
            alarms.waker()
        fallback = self._fallback()
        if fallback is not None:
            alarms.fallback(fallback.function)

    def _fallback(self) -> FleetFallback | None:
        plan, gpu = self._fleet.fallback, self._gpu
        if plan is None or gpu is None:
            return None
        assert self._gpu_targets is not None
        assert self._gpu_service is not None
        made = FleetFallback(
            self,
            "Fallback",
            environment=self._environment,
            fleet=self._fleet,
            fallback=plan,
            sides=TwoSides(
                cluster=self._cluster,
                balancer=self._balancer.resource,
                rule=self._rule,
                neuron=self._neuron_targets,
                gpu=self._gpu_targets,
                waker=self._waker.target_group if self._waker else None,
                neuron_services=self._services,
                gpu_service=self._gpu_service,
                neuron_auto_scaling_group=self._neuron.auto_scaling_group,
                gpu_auto_scaling_group=gpu.auto_scaling_group,
            ),
        )
        self._outputs[names.OUTPUT_FALLBACK_FUNCTION] = made.function.ref
        self._outputs[names.OUTPUT_FALLBACK_PARAMETER] = made.parameter.ref
        return made


_TARGET_GROUP_OUTPUTS = (
    names.OUTPUT_NEURON_TARGET_GROUP,
    names.OUTPUT_GPU_TARGET_GROUP,
    names.OUTPUT_WAKER_TARGET_GROUP,
)


def first_weights(fleet: FleetPlan) -> dict[str, int]:
    """Of the listener rule, by side. A fleet that can sleep begins asleep, and a weight of the waker's means just that."""
    if fleet.settings.scale_to_zero is not None:
        return {"neuron": 0, "gpu": 0, "waker": ALL}
    gpu = fleet.fallback.weight_percent if fleet.fallback else 0
    return {"neuron": ALL - gpu, "gpu": gpu, "waker": 0}
