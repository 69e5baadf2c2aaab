"""What an ECS cluster holds here: its parts in the API's own names, and tasks that are not processes."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from scripts.local_cloud import runtime

STARTED_AFTER_SECONDS = 1.0
STOPPED_AFTER_SECONDS = 1.0
EMULATED = "emulated by the local cloud: no container runs"


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    return secrets.token_hex(16)


def emulated_seconds(since: float) -> float:
    """How long ago a moment of `time.monotonic` is, in the scaled time of the local cloud."""
    return (time.monotonic() - since) * runtime.current().settings.time_scale


@dataclass
class Task:
    """Of a service, or of RunTask: then `service` is "".

    `started_by`: the deployment of its service, or what RunTask was told. `provider`: "" without a capacity provider.
    `since`: the monotonic moment of its last change of status. `address`: its own, in network mode awsvpc.
    """

    arn: str
    service: str
    started_by: str
    definition: dict[str, Any]
    provider: str
    group: str
    launch_type: str = "EC2"
    status: str = "PROVISIONING"
    instance_id: str = ""
    container_instance: str = ""
    zone: str = ""
    address: str = ""
    since: float = field(default_factory=time.monotonic)
    created: datetime = field(default_factory=now)
    started: datetime | None = None
    stopped: datetime | None = None
    stopped_reason: str = ""
    stop_code: str = ""
    exit_code: int | None = None
    """Of every container; None where none has ended by itself."""
    container_reason: str = EMULATED
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        return self.status in ("PROVISIONING", "PENDING", "RUNNING")

    def change(self, status: str) -> None:
        self.status = status
        self.since = time.monotonic()

    def stop(self, reason: str, code: str = "ServiceSchedulerInitiated") -> None:
        self.stopped_reason, self.stop_code = reason, code
        self.change("DEPROVISIONING")

    def settle(self) -> None:
        """A task that stops has stopped after a moment."""
        if self.status == "DEPROVISIONING" and emulated_seconds(self.since) >= STOPPED_AFTER_SECONDS:
            self.change("STOPPED")
            self.stopped = now()

    def describe(self, cluster_arn: str) -> dict[str, Any]:
        described: dict[str, Any] = {
            "taskArn": self.arn,
            "clusterArn": cluster_arn,
            "taskDefinitionArn": self.definition["taskDefinitionArn"],
            "lastStatus": self.status,
            "desiredStatus": "RUNNING" if self.alive else "STOPPED",
            "launchType": self.launch_type,
            "group": self.group,
            "createdAt": self.created,
            "healthStatus": "UNKNOWN",
            "attributes": [{"name": "neuronkit.emulated", "value": EMULATED}],
            "containers": [self._container(one) for one in self.definition["containerDefinitions"]],
            "tags": [{"key": key, "value": value} for key, value in self.tags.items()],
        }
        optional = {
            "capacityProviderName": self.provider,
            "startedBy": self.started_by,
            "containerInstanceArn": self.container_instance,
            "availabilityZone": self.zone,
            "startedAt": self.started,
            "stoppedAt": self.stopped,
            "stoppedReason": self.stopped_reason,
            "stopCode": self.stop_code,
        }
        return {**described, **{name: value for name, value in optional.items() if value}}

    def _container(self, definition: dict[str, Any]) -> dict[str, Any]:
        described = {
            "name": definition["name"],
            "image": definition["image"],
            "lastStatus": self.status,
            "taskArn": self.arn,
            "reason": self.container_reason,
        }
        return described if self.exit_code is None else {**described, "exitCode": self.exit_code}


@dataclass
class ContainerInstance:
    arn: str
    instance_id: str
    instance_type: str
    zone: str
    provider: str
    address: str
    memory_mib: int
    vcpus: int
    managed: bool = False
    """A Managed Instance: ECS started it, and ends it."""
    draining: bool = False
    idle_since: float | None = None
    """The monotonic moment since which a Managed Instance has had no task."""

    def describe(self, tasks: int) -> dict[str, Any]:
        return {
            "containerInstanceArn": self.arn,
            "ec2InstanceId": self.instance_id,
            "capacityProviderName": self.provider,
            "status": "DRAINING" if self.draining else "ACTIVE",
            "agentConnected": True,
            "runningTasksCount": tasks,
            "attributes": [
                {"name": "ecs.instance-type", "value": self.instance_type},
                {"name": "ecs.availability-zone", "value": self.zone},
                {"name": "neuronkit.emulated", "value": EMULATED},
            ],
            "registeredResources": [
                {"name": "CPU", "type": "INTEGER", "integerValue": self.vcpus * 1024},
                {"name": "MEMORY", "type": "INTEGER", "integerValue": self.memory_mib},
            ],
        }


@dataclass
class Deployment:
    id: str
    definition_arn: str
    status: str = "PRIMARY"
    failed_tasks: int = 0
    rollout: str = "IN_PROGRESS"
    reason: str = "ECS deployment in progress."
    created: datetime = field(default_factory=now)


@dataclass
class Service:
    """`request`: what CreateService and UpdateService said, merged."""

    arn: str
    name: str
    cluster_arn: str
    request: dict[str, Any]
    desired: int
    tags: dict[str, str]
    status: str = "ACTIVE"
    deployments: list[Deployment] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    created: datetime = field(default_factory=now)
    last_good: str = ""
    """The task definition of the last deployment that completed."""

    @property
    def primary(self) -> Deployment:
        return self.deployments[0]

    @property
    def alive(self) -> list[Task]:
        return [task for task in self.tasks if task.alive]

    @property
    def strategy(self) -> list[dict[str, Any]]:
        return list(self.request.get("capacityProviderStrategy") or ())

    @property
    def deployment_configuration(self) -> dict[str, Any]:
        return {
            "maximumPercent": 200,
            "minimumHealthyPercent": 100,
            **(self.request.get("deploymentConfiguration") or {}),
        }

    def say(self, message: str) -> None:
        """An event, once: ECS repeats a message only after hours."""
        if not self.events or self.events[0]["message"] != message:
            self.events.insert(0, {"id": new_id(), "createdAt": now(), "message": message})
            del self.events[100:]

    def deploy(self, definition_arn: str) -> None:
        for deployment in self.deployments:
            deployment.status = "ACTIVE"
        self.deployments.insert(0, Deployment(f"ecs-svc/{secrets.randbelow(10**19):019d}", definition_arn))

    def describe(self) -> dict[str, Any]:
        running = [task for task in self.tasks if task.status == "RUNNING"]
        pending = [task for task in self.tasks if task.status in ("PROVISIONING", "PENDING")]
        kept = {
            name: value
            for name, value in self.request.items()
            if name not in ("cluster", "service", "clientToken", "tags", "desiredCount", "forceNewDeployment")
        }
        return {
            "availabilityZoneRebalancing": "ENABLED",
            "schedulingStrategy": "REPLICA",
            "enableExecuteCommand": False,
            "propagateTags": "NONE",
            **kept,
            "deploymentConfiguration": self.deployment_configuration,
            "serviceArn": self.arn,
            "serviceName": self.name,
            "clusterArn": self.cluster_arn,
            "status": self.status,
            "desiredCount": self.desired,
            "runningCount": len(running),
            "pendingCount": len(pending),
            "taskDefinition": self.primary.definition_arn,
            "deployments": [self._describe(deployment) for deployment in self.deployments],
            "events": list(self.events),
            "createdAt": self.created,
            "tags": [{"key": key, "value": value} for key, value in self.tags.items()],
        }

    def _describe(self, deployment: Deployment) -> dict[str, Any]:
        tasks = [task for task in self.tasks if task.started_by == deployment.id]
        return {
            "id": deployment.id,
            "status": deployment.status,
            "taskDefinition": deployment.definition_arn,
            "desiredCount": self.desired if deployment is self.primary else 0,
            "runningCount": sum(task.status == "RUNNING" for task in tasks),
            "pendingCount": sum(task.status in ("PROVISIONING", "PENDING") for task in tasks),
            "failedTasks": deployment.failed_tasks,
            "rolloutState": deployment.rollout,
            "rolloutStateReason": deployment.reason,
            "createdAt": deployment.created,
            "updatedAt": deployment.created,
            "capacityProviderStrategy": self.strategy,
        }


@dataclass
class Provider:
    """A capacity provider; `cluster_arn` only for Managed Instances."""

    arn: str
    name: str
    request: dict[str, Any]
    tags: dict[str, str]
    cluster_arn: str = ""
    status: str = "ACTIVE"
    update_status: str = ""
    update_reason: str = ""

    @property
    def group_name(self) -> str:
        """Of its Auto Scaling group, "" for Managed Instances."""
        group = self.request.get("autoScalingGroupProvider") or {}
        return str(group.get("autoScalingGroupArn", "")).rsplit("/", 1)[-1]

    @property
    def scaling(self) -> dict[str, Any]:
        return dict((self.request.get("autoScalingGroupProvider") or {}).get("managedScaling") or {})

    @property
    def scales(self) -> bool:
        return self.scaling.get("status") == "ENABLED"

    @property
    def drains(self) -> bool:
        group = self.request.get("autoScalingGroupProvider") or {}
        return bool(group.get("managedDraining") == "ENABLED")

    @property
    def protects(self) -> bool:
        group = self.request.get("autoScalingGroupProvider") or {}
        return bool(group.get("managedTerminationProtection") == "ENABLED")

    def describe(self) -> dict[str, Any]:
        managed = "managedInstancesProvider" in self.request
        described = {
            "capacityProviderArn": self.arn,
            "name": self.name,
            "status": self.status,
            "type": "MANAGED_INSTANCES" if managed else "EC2_AUTOSCALING",
            "tags": [{"key": key, "value": value} for key, value in self.tags.items()],
            **{name: self.request[name] for name in _PROVIDERS if name in self.request},
        }
        optional = {
            "cluster": self.cluster_arn,
            "updateStatus": self.update_status,
            "updateStatusReason": self.update_reason,
        }
        return {**described, **{name: value for name, value in optional.items() if value}}


_PROVIDERS = ("autoScalingGroupProvider", "managedInstancesProvider")


@dataclass
class Cluster:
    arn: str
    name: str
    request: dict[str, Any]
    tags: dict[str, str]
    status: str = "ACTIVE"
    providers: list[str] = field(default_factory=list)
    default_strategy: list[dict[str, Any]] = field(default_factory=list)
    services: dict[str, Service] = field(default_factory=dict)
    instances: dict[str, ContainerInstance] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    """When each EC2 instance of its groups was first seen."""
    surplus_since: dict[str, float] = field(default_factory=dict)
    """Since when each capacity provider has had more instances than it needs."""
    run_tasks: list[Task] = field(default_factory=list)
    """Those that RunTask started."""
    run_requests: dict[str, tuple[dict[str, Any], list[Task]]] = field(default_factory=dict)
    """By client token: what RunTask was asked, and what it started."""

    @property
    def active_services(self) -> list[Service]:
        return [service for service in self.services.values() if service.status != "INACTIVE"]

    @property
    def tasks(self) -> list[Task]:
        return [task for service in self.services.values() for task in service.tasks] + self.run_tasks

    def describe(self) -> dict[str, Any]:
        tasks = self.tasks
        return {
            "clusterArn": self.arn,
            "clusterName": self.name,
            "status": self.status,
            "settings": self.request.get("settings") or [{"name": "containerInsights", "value": "disabled"}],
            **{name: self.request[name] for name in _CLUSTER_EXTRAS if name in self.request},
            "capacityProviders": list(self.providers),
            "defaultCapacityProviderStrategy": list(self.default_strategy),
            "registeredContainerInstancesCount": len(self.instances),
            "runningTasksCount": sum(task.status == "RUNNING" for task in tasks),
            "pendingTasksCount": sum(task.status in ("PROVISIONING", "PENDING") for task in tasks),
            "activeServicesCount": len(self.active_services),
            "tags": [{"key": key, "value": value} for key, value in self.tags.items()],
        }


_CLUSTER_EXTRAS = ("configuration", "serviceConnectDefaults")
