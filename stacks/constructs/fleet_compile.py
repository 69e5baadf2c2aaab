"""The task that compiles a fleet's graphs once, before its replicas start: on a node of the fleet, or without chips."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from stacks.constructs.engine_task import EngineTask, Runs, TaskSurroundings
from stacks.constructs.fleet_artifacts import FleetArtifacts
from stacks.constructs.fleet_place import FleetPlace
from stacks.constructs.fleet_security_groups import CompileSecurityGroup
from stacks.domain.fleet_plan import FleetPlan
from stacks.domain.render.engine_container import EngineContainer

FARGATE = "FARGATE"


class FleetCompile(Construct):
    """`neuronkit deploy` runs it. On a node it takes the first slice's port, so that no replica shares its chips."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        fleet: FleetPlan,
        container: EngineContainer,
        surroundings: TaskSurroundings,
        artifacts: FleetArtifacts,
        place: FleetPlace,
        node_provider: ecs.CfnCapacityProvider,
        node_security_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        runs = _place_of(fleet, container)
        self.storage_client: CompileSecurityGroup | None = None
        """A group that must reach the artifacts, besides the nodes'."""
        self.on_fargate = runs == "on-fargate"
        self.capacity_provider = FARGATE if self.on_fargate else node_provider.ref
        self.security_group_id: str | None = None
        """None where the task has no network interface of its own."""
        if self.on_fargate:
            self.storage_client = CompileSecurityGroup(
                self, "SecurityGroup", place=place, storage=artifacts.security_group.group
            )
            self.security_group_id = self.storage_client.group.attr_group_id
        elif runs == "on-managed-instances":
            self.security_group_id = node_security_group_ids[0]
        self.task = EngineTask(
            self,
            "Task",
            container=container,
            surroundings=surroundings,
            instance_type=fleet.instance_type,
            vcpus=fleet.vcpus_per_node,
            runs=runs,
            host_port=container.port if runs == "on-nodes" else None,
            logical_id="CompileTask",
        ).resource


def _place_of(fleet: FleetPlan, container: EngineContainer) -> Runs:
    if not container.devices:
        return "on-fargate"
    return "on-managed-instances" if fleet.settings.runs_on == "managed-instances" else "on-nodes"
