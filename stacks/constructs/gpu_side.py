"""The GPU side of a fleet: nodes and one service that the fallback controller scales, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from stacks.constructs.engine_task import ANY_PORT, ENGINE, EngineTask, TaskSurroundings
from stacks.constructs.fleet_nodes import FleetNodes, NodeShape
from stacks.constructs.fleet_place import FleetPlace
from stacks.constructs.fleet_service import FleetService
from stacks.domain.fleet_plan import FallbackPlan, FleetPlan
from stacks.domain.render.engine_container import EngineContainer
from stacks.domain.render.exporter import GPU, exporter_container
from stacks.domain.render.fleet_node_user_data import fleet_node_user_data

EPHEMERAL_PORTS = (32768, 65535)
"""From which Docker takes what is not chosen (ECS API, PortMapping)."""


class GpuSide(Construct):
    """ECS counts GPUs itself, so that no port and no memory has to make a replica exclusive."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        fleet: FleetPlan,
        fallback: FallbackPlan,
        cluster: ecs.CfnCluster,
        place: FleetPlace,
        security_group_ids: Sequence[str],
        instance_profile: iam.CfnInstanceProfile,
        node_tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self._fleet, self._fallback, self._cluster = fleet, fallback, cluster
        self._nodes = FleetNodes(
            self,
            "GpuNodes",
            shape=NodeShape(
                instance_type=fallback.instance_type,
                nodes_maximum=fallback.nodes_maximum,
                ami=fallback.ami,
                root_volume_gib=fleet.settings.root_volume_gib,
                capacity_kind=fallback.capacity.kind,
                capacity_id=fallback.capacity.id,
                user_data=fleet_node_user_data(
                    cluster_name=cluster.ref,
                    memory_gib=fallback.memory_gib_per_node,
                    stop_seconds=fleet.times.stop,
                    capacity_kind=fallback.capacity.kind,
                ),
                subnet_id=place.node_subnet_id,
                security_group_ids=security_group_ids,
            ),
            instance_profile=instance_profile,
            node_tags=node_tags,
        )
        self.provider, self.auto_scaling_group = self._nodes.provider, self._nodes.group

    def serve(
        self,
        environment: str,
        container: EngineContainer,
        *,
        surroundings: TaskSurroundings,
        target_group: elbv2.CfnTargetGroup,
        no_task_at_first: cdk.CfnCondition,
        needs: Sequence[IConstruct],
    ) -> ecs.CfnService:
        task = EngineTask(
            self,
            "GpuTask",
            container=container,
            surroundings=surroundings,
            instance_type=self._fallback.instance_type,
            vcpus=self._fallback.vcpus_per_node,
            shares_node=True,
            host_port=ANY_PORT,
            exporter=exporter_container(environment, self._fleet, container, side=GPU, engine_host=ENGINE),
            logical_id="GpuTask",
        )
        return FleetService(
            self,
            "GpuService",
            cluster=self._cluster,
            provider=self.provider,
            task=task.resource,
            port=container.port,
            target_group=target_group,
            tasks_minimum=self._fallback.replicas_minimum,
            grace_seconds=self._fleet.times.grace,
            no_task_at_first=no_task_at_first,
            needs=needs,
            logical_id="GpuService",
        ).resource
