"""A task definition out of an engine's container: what `EngineContainer` says, in CloudFormation's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.constructs.acknowledged_rule import acknowledge
from stacks.constructs.fleet_artifacts import FleetArtifacts
from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.render.engine_container import ARTIFACTS_VOLUME, BUCKET_VARIABLE, EngineContainer
from stacks.domain.render.exporter import ExporterContainer

Task = ecs.CfnTaskDefinition
ENGINE = "engine"
"""The container's name."""
EXPORTER = "exporter"
ANY_PORT = 0
"""Docker chooses one: for GPUs, which ECS counts itself."""
# Fargate's largest, and its memory for that; a compile asks for more memory than for processors.
FARGATE_CPU, FARGATE_MEMORY_MIB, FARGATE_DISK_GIB = "16384", "122880", 200
FARGATE_STOP_SECONDS_MAX = 120
CPU_UNITS = 1024

Runs = Literal["on-nodes", "on-managed-instances", "on-fargate"]


@dataclass(frozen=True, slots=True)
class TaskSurroundings:
    """What all tasks of a fleet share."""

    execution_role: iam.Role
    task_role: iam.Role
    log_group: logs.ILogGroup
    bucket_name: str
    artifacts: FleetArtifacts | None


class EngineTask(Construct):
    """`host_port` None: no port is opened. The mode is host where one replica has a node, bridge where several do."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        container: EngineContainer,
        surroundings: TaskSurroundings,
        instance_type: str,
        vcpus: int,
        runs: Runs = "on-nodes",
        shares_node: bool = False,
        host_port: int | None = None,
        exporter: ExporterContainer | None = None,
        logical_id: str,
    ) -> None:
        super().__init__(scope, id_)
        self._container, self._around = container, surroundings
        self._runs, self._host_port, self._shares_node = runs, host_port, shares_node
        mode = "awsvpc" if runs != "on-nodes" else "bridge" if shares_node else "host"
        self.resource = Task(
            self,
            "Definition",
            requires_compatibilities=[_COMPATIBILITY[runs]],
            network_mode=mode,
            execution_role_arn=surroundings.execution_role.role_arn,
            task_role_arn=surroundings.task_role.role_arn,
            placement_constraints=[
                Task.TaskDefinitionPlacementConstraintProperty(
                    type="memberOf", expression=f"attribute:ecs.instance-type == {instance_type}"
                )
            ]
            if runs == "on-nodes"
            else None,
            cpu=self._cpu(vcpus),
            memory=self._memory(exporter),
            ephemeral_storage=Task.EphemeralStorageProperty(size_in_gib=FARGATE_DISK_GIB)
            if runs == "on-fargate"
            else None,
            container_definitions=[self._engine(), *([self._sidecar(exporter)] if exporter else [])],
            volumes=self._volumes() or None,
        )
        fix_logical_id(self.resource, logical_id)
        if container.security_note:
            self.resource.add_metadata("neuronkit:security", container.security_note)
        acknowledge(
            self.resource,
            ["AwsSolutions-ECS2"],
            "Variables are settings that the environment file shows; secrets come by their ARN.",
        )

    def _cpu(self, vcpus: int) -> str | None:
        """None on nodes of our own: a share of the processors would only be a way to be refused."""
        if self._runs == "on-fargate":
            return FARGATE_CPU
        # One is left to the agent (derived: what Managed Instances keep is not published).
        return str((vcpus - 1) * CPU_UNITS) if self._runs == "on-managed-instances" else None

    def _memory(self, exporter: ExporterContainer | None) -> str | None:
        """None on nodes of our own: a hard limit kills compilers."""
        if self._runs == "on-fargate":
            return str(FARGATE_MEMORY_MIB)
        if self._runs == "on-managed-instances":
            return str(
                self._container.memory_reservation_mib + (exporter.memory_reservation_mib if exporter else 0)
            )
        return None

    def _engine(self) -> Task.ContainerDefinitionProperty:
        container = self._container
        bucket = ((BUCKET_VARIABLE, self._around.bucket_name),) if container.needs_bucket else ()
        on_fargate = self._runs == "on-fargate"
        stop = container.stop_timeout_seconds
        return Task.ContainerDefinitionProperty(
            name=ENGINE,
            image=container.image,
            essential=True,
            entry_point=list(container.entry_point),
            command=list(container.command),
            environment=_variables((*container.environment, *bucket)),
            secrets=[Task.SecretProperty(name=name, value_from=arn) for name, arn in container.secrets]
            or None,
            memory_reservation=None if on_fargate else container.memory_reservation_mib,
            port_mappings=self._ports(),
            linux_parameters=None if on_fargate else self._linux(),
            resource_requirements=self._resources(),
            ulimits=[
                Task.UlimitProperty(name=limit.name, soft_limit=limit.soft, hard_limit=limit.hard)
                for limit in container.ulimits
                # Fargate takes this one only (ECS API, Ulimit).
                if not on_fargate or limit.name == "nofile"
            ],
            mount_points=[
                Task.MountPointProperty(
                    source_volume=mount.volume, container_path=mount.path, read_only=mount.read_only
                )
                for mount in container.mounts
            ]
            or None,
            stop_timeout=min(stop, FARGATE_STOP_SECONDS_MAX) if on_fargate else stop,
            log_configuration=self._logs(ENGINE),
        )

    def _linux(self) -> Task.LinuxParametersProperty | None:
        """Devices by hand on our own nodes; Managed Instances hand out all of them by themselves, never both."""
        container = self._container
        by_hand = self._runs == "on-nodes"
        return Task.LinuxParametersProperty(
            devices=[
                Task.DeviceProperty(host_path=path, container_path=path, permissions=["read", "write"])
                for path in container.devices
            ]
            if by_hand and container.devices
            else None,
            capabilities=Task.KernelCapabilitiesProperty(add=list(container.capabilities))
            if container.capabilities
            else None,
            shared_memory_size=container.shared_memory_mib,
        )

    def _resources(self) -> list[Task.ResourceRequirementProperty] | None:
        if self._container.gpus:
            return [Task.ResourceRequirementProperty(type="GPU", value=str(self._container.gpus))]
        if self._runs == "on-managed-instances" and self._container.devices:
            return [Task.ResourceRequirementProperty(type="NeuronDevice", value="ALL")]
        return None

    def _ports(self) -> list[Task.PortMappingProperty] | None:
        if self._host_port is None:
            return None
        return [
            Task.PortMappingProperty(
                container_port=self._container.port, host_port=self._host_port, protocol="tcp"
            )
        ]

    def _sidecar(self, exporter: ExporterContainer) -> Task.ContainerDefinitionProperty:
        return Task.ContainerDefinitionProperty(
            name=EXPORTER,
            image=exporter.image,
            essential=exporter.essential,
            entry_point=list(exporter.entry_point),
            command=list(exporter.command),
            environment=_variables(exporter.environment),
            memory_reservation=exporter.memory_reservation_mib,
            # On a bridge, containers of a task have no loopback in common.
            links=[f"{ENGINE}:{ENGINE}"] if self._shares_node else None,
            log_configuration=self._logs(EXPORTER),
        )

    def _volumes(self) -> list[Task.VolumeProperty]:
        names = sorted({mount.volume for mount in self._container.mounts})
        return [self._volume(name) for name in names]

    def _volume(self, name: str) -> Task.VolumeProperty:
        assert name == ARTIFACTS_VOLUME, name
        artifacts = self._around.artifacts
        assert artifacts is not None, "a fleet whose containers mount it has it"
        return Task.VolumeProperty(
            name=name,
            efs_volume_configuration=Task.EFSVolumeConfigurationProperty(
                filesystem_id=artifacts.file_system.attr_file_system_id,
                transit_encryption="ENABLED",
                authorization_config=Task.AuthorizationConfigProperty(
                    access_point_id=artifacts.access_point.attr_access_point_id, iam="ENABLED"
                ),
            ),
        )

    def _logs(self, prefix: str) -> Task.LogConfigurationProperty:
        return Task.LogConfigurationProperty(
            log_driver="awslogs",
            options={
                "awslogs-group": self._around.log_group.log_group_name,
                "awslogs-region": cdk.Stack.of(self).region,
                "awslogs-stream-prefix": prefix,
                # A log that cannot be sent must not stop a stream of tokens.
                "mode": "non-blocking",
            },
        )


_COMPATIBILITY: dict[Runs, str] = {
    "on-nodes": "EC2",
    "on-managed-instances": "MANAGED_INSTANCES",
    "on-fargate": "FARGATE",
}


def _variables(pairs: Sequence[tuple[str, str]]) -> list[Task.KeyValuePairProperty]:
    return [Task.KeyValuePairProperty(name=name, value=value) for name, value in pairs]
