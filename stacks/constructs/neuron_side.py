"""The Neuron side of a fleet: its nodes, and a service for each slice of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from stacks.constructs.engine_task import ENGINE, EngineTask, TaskSurroundings
from stacks.constructs.fleet_nodes import FleetNodes, NodeShape
from stacks.constructs.fleet_place import FleetPlace
from stacks.constructs.fleet_service import FleetService, ServiceScaling
from stacks.constructs.managed_instances import ManagedInstances
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.render.engine_container import EngineContainer
from stacks.domain.render.exporter import NEURON, exporter_container
from stacks.domain.render.fleet_node_user_data import fleet_node_user_data


class NeuronSide(Construct):
    """Nodes first; services once the cluster knows the capacity provider and the load balancer has its rule."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: str,
        fleet: FleetPlan,
        cluster: ecs.CfnCluster,
        place: FleetPlace,
        security_group_ids: Sequence[str],
        instance_profile: iam.CfnInstanceProfile | None,
        node_tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self._environment, self._fleet, self._cluster = environment, fleet, cluster
        self._place, self._security_group_ids = place, security_group_ids
        self.auto_scaling_group: autoscaling.CfnAutoScalingGroup | None = None
        """None with Managed Instances."""
        if self._is_managed:
            managed = ManagedInstances(
                self,
                "Managed",
                fleet=fleet,
                cluster=cluster,
                subnet_id=place.node_subnet_id,
                security_group_ids=security_group_ids,
            )
            self.provider = managed.provider
            return
        assert instance_profile is not None, "of nodes of our own"
        nodes = FleetNodes(
            self,
            "Nodes",
            shape=self._shape(),
            instance_profile=instance_profile,
            node_tags=node_tags,
        )
        self.provider, self.auto_scaling_group = nodes.provider, nodes.group

    @property
    def _is_managed(self) -> bool:
        return self._fleet.settings.runs_on == "managed-instances"

    @property
    def _shares_nodes(self) -> bool:
        return self._fleet.replicas_per_node > 1

    def _shape(self) -> NodeShape:
        fleet = self._fleet
        return NodeShape(
            instance_type=fleet.instance_type,
            nodes_maximum=fleet.nodes_maximum,
            ami=fleet.ami,
            root_volume_gib=fleet.settings.root_volume_gib,
            capacity_kind=fleet.capacity.kind,
            capacity_id=fleet.capacity.id,
            user_data=fleet_node_user_data(
                cluster_name=self._cluster.ref,
                memory_gib=fleet.memory_gib_per_node,
                stop_seconds=fleet.times.stop,
                capacity_kind=fleet.capacity.kind,
            ),
            subnet_id=self._place.node_subnet_id,
            security_group_ids=self._security_group_ids,
        )

    def serve(
        self,
        containers: Sequence[EngineContainer],
        *,
        surroundings: TaskSurroundings,
        target_group: elbv2.CfnTargetGroup,
        no_task_at_first: cdk.CfnCondition,
        needs: Sequence[IConstruct],
    ) -> list[ecs.CfnService]:
        """One container a slice, in their order."""
        return [
            self._service(index, container, surroundings, target_group, no_task_at_first, needs)
            for index, container in enumerate(containers)
        ]

    def _service(
        self,
        index: int,
        container: EngineContainer,
        surroundings: TaskSurroundings,
        target_group: elbv2.CfnTargetGroup,
        no_task_at_first: cdk.CfnCondition,
        needs: Sequence[IConstruct],
    ) -> ecs.CfnService:
        slice_ = f"Slice{index}x" if self._shares_nodes else ""
        task = EngineTask(
            self,
            f"{slice_}Task",
            container=container,
            surroundings=surroundings,
            instance_type=self._fleet.instance_type,
            vcpus=self._fleet.vcpus_per_node,
            runs="on-managed-instances" if self._is_managed else "on-nodes",
            shares_node=self._shares_nodes,
            host_port=container.port,
            exporter=exporter_container(
                self._environment,
                self._fleet,
                container,
                side=NEURON,
                engine_host=ENGINE if self._shares_nodes else None,
            ),
            logical_id=f"{slice_}Task",
        )
        service = FleetService(
            self,
            f"{slice_}Service",
            cluster=self._cluster,
            provider=self.provider,
            task=task.resource,
            port=container.port,
            target_group=target_group,
            tasks_minimum=self._fleet.nodes_minimum,
            grace_seconds=self._fleet.times.grace,
            no_task_at_first=no_task_at_first,
            needs=needs,
            network=self._network(),
            logical_id=f"{slice_}Service",
        ).resource
        ServiceScaling(
            self,
            f"{slice_}Scaling",
            environment=self._environment,
            fleet=self._fleet,
            cluster=self._cluster,
            service=service,
            logical_id=f"{slice_}Service",
            no_task_at_first=no_task_at_first,
        )
        return service

    def _network(self) -> ecs.CfnService.NetworkConfigurationProperty | None:
        """Managed Instances have no bridge; a task there has a network interface of its own."""
        if not self._is_managed:
            return None
        return task_network(self._place.node_subnet_id, self._security_group_ids)


def task_network(
    subnet_id: str, security_group_ids: Sequence[str]
) -> ecs.CfnService.NetworkConfigurationProperty:
    return ecs.CfnService.NetworkConfigurationProperty(
        awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(
            subnets=[subnet_id], security_groups=list(security_group_ids), assign_public_ip="DISABLED"
        )
    )
