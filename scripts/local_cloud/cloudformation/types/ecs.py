"""AWS::ECS: Cluster, CapacityProvider, ClusterCapacityProviderAssociations, TaskDefinition, Service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.local_cloud.cloudformation.resource_type import (
    Created,
    ReplacementNeededError,
    Request,
    ResourceError,
    ResourceType,
    split_words,
)
from scripts.local_cloud.cloudformation.types.coerce import api_parameters, without
from scripts.local_cloud.cloudformation.types.waiting import wait_until

# How long CloudFormation waits for a service to become stable.
STABLE_SECONDS_MAX = 3 * 3600.0


class Cluster(ResourceType):
    name = "AWS::ECS::Cluster"
    properties = split_words("ClusterName ClusterSettings Configuration ServiceConnectDefaults Tags")

    def create(self, request: Request) -> Created:
        ecs = request.client("ecs")
        cluster = request.name_or_generated("ClusterName", 255)
        made = ecs.create_cluster(clusterName=cluster, tags=_tags(request), **self._settings(request))[
            "cluster"
        ]
        return Created(cluster, {"Arn": made["clusterArn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "ClusterName" in changed:
            raise ReplacementNeededError
        ecs = request.client("ecs")
        ecs.update_cluster(cluster=physical_id, **self._settings(request))
        _retag(request, request.arn("ecs", f"cluster/{physical_id}"))

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ecs").delete_cluster(cluster=physical_id)

    def _settings(self, request: Request) -> dict[str, Any]:
        given = without(request.properties, "ClusterName", "Tags")
        if "ClusterSettings" in given:
            given["Settings"] = given.pop("ClusterSettings")
        return api_parameters(request.client("ecs"), "CreateCluster", given)


class CapacityProvider(ResourceType):
    name = "AWS::ECS::CapacityProvider"
    properties = split_words("Name ClusterName AutoScalingGroupProvider ManagedInstancesProvider Tags")

    def create(self, request: Request) -> Created:
        ecs = request.client("ecs")
        name = request.name_or_generated("Name", 255)
        ecs.create_capacity_provider(
            name=name, tags=_tags(request), **self._given(request, "CreateCapacityProvider")
        )
        return Created(name, {"Arn": request.arn("ecs", f"capacity-provider/{name}")})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & {"Name", "ClusterName"} or _group(request.properties) != _group(old):
            raise ReplacementNeededError
        given = self._given(request, "UpdateCapacityProvider")
        request.client("ecs").update_capacity_provider(name=physical_id, **given)
        _retag(request, request.arn("ecs", f"capacity-provider/{physical_id}"))

    def delete(self, request: Request, physical_id: str) -> None:
        ecs = request.client("ecs")
        # ECS has no code of its own for one that is gone; a handler has to say NotFound then (CloudFormation's contract
        # for resource types), which is taken for deleted.
        if not ecs.describe_capacity_providers(capacityProviders=[physical_id])["capacityProviders"]:
            return
        answer = ecs.delete_capacity_provider(capacityProvider=physical_id)
        if answer["capacityProvider"].get("updateStatus") == "DELETE_FAILED":
            raise ResourceError(answer["capacityProvider"]["updateStatusReason"])

    def _given(self, request: Request, operation: str) -> dict[str, Any]:
        given = without(request.properties, "Name", "ClusterName", "Tags")
        if operation.startswith("Update") and "AutoScalingGroupProvider" in given:
            given["AutoScalingGroupProvider"] = without(
                given["AutoScalingGroupProvider"], "AutoScalingGroupArn"
            )
        if request.has("ClusterName"):
            given["Cluster"] = request["ClusterName"]
        return api_parameters(request.client("ecs"), operation, given)


def _group(properties: Mapping[str, Any]) -> Any:
    return (properties.get("AutoScalingGroupProvider") or {}).get("AutoScalingGroupArn")


class ClusterCapacityProviderAssociations(ResourceType):
    name = "AWS::ECS::ClusterCapacityProviderAssociations"
    properties = split_words("Cluster CapacityProviders DefaultCapacityProviderStrategy")

    def create(self, request: Request) -> Created:
        ecs = request.client("ecs")
        described = ecs.describe_clusters(clusters=[request["Cluster"]])["clusters"]
        names = described[0]["capacityProviders"] if described else []
        found = ecs.describe_capacity_providers(capacityProviders=names)["capacityProviders"] if names else []
        if any(provider["type"] != "MANAGED_INSTANCES" for provider in found):
            raise ResourceError(f"The cluster {request['Cluster']} already has capacity providers.")
        self._put(request)
        return Created(request["Cluster"])

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if "Cluster" in changed:
            raise ReplacementNeededError
        self._put(request)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ecs").put_cluster_capacity_providers(
            cluster=physical_id, capacityProviders=[], defaultCapacityProviderStrategy=[]
        )

    def _put(self, request: Request) -> None:
        ecs = request.client("ecs")
        given = {
            name: request[name]
            for name in ("Cluster", "CapacityProviders", "DefaultCapacityProviderStrategy")
        }
        ecs.put_cluster_capacity_providers(**api_parameters(ecs, "PutClusterCapacityProviders", given))


class TaskDefinition(ResourceType):
    """Every change makes a new revision; the old one stays, inactive."""

    name = "AWS::ECS::TaskDefinition"
    properties = split_words(
        "Family TaskRoleArn ExecutionRoleArn NetworkMode ContainerDefinitions Volumes PlacementConstraints "
        "RequiresCompatibilities Cpu Memory PidMode IpcMode EphemeralStorage RuntimePlatform Tags"
    )

    def create(self, request: Request) -> Created:
        ecs = request.client("ecs")
        given = self._spelled(without(request.properties, "Family", "Tags"))
        parameters = api_parameters(ecs, "RegisterTaskDefinition", given)
        family = request.name_or_generated("Family", 255)
        made = ecs.register_task_definition(family=family, tags=_tags(request), **parameters)[
            "taskDefinition"
        ]
        return Created(made["taskDefinitionArn"], {"TaskDefinitionArn": made["taskDefinitionArn"]})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed - {"Tags"}:
            raise ReplacementNeededError
        _retag(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        request.client("ecs").deregister_task_definition(taskDefinition=physical_id)

    def _spelled(self, properties: dict[str, Any]) -> dict[str, Any]:
        """Two names that CloudFormation spells otherwise than the API."""
        volumes = [
            {
                ("EfsVolumeConfiguration" if key == "EFSVolumeConfiguration" else key): item
                for key, item in one.items()
            }
            for one in properties.get("Volumes") or ()
        ]
        return {**properties, "Volumes": volumes} if volumes else properties


class Service(ResourceType):
    name = "AWS::ECS::Service"
    properties = split_words(
        "ServiceName Cluster TaskDefinition DesiredCount LaunchType CapacityProviderStrategy PlacementConstraints "
        "PlacementStrategies AvailabilityZoneRebalancing HealthCheckGracePeriodSeconds LoadBalancers "
        "DeploymentConfiguration NetworkConfiguration EnableECSManagedTags EnableExecuteCommand PropagateTags "
        "SchedulingStrategy PlatformVersion ForceNewDeployment Tags"
    )
    _create_only = split_words("ServiceName Cluster LaunchType SchedulingStrategy")

    def create(self, request: Request) -> Created:
        ecs = request.client("ecs")
        given = self._given(request, "CreateService")
        name = request.name_or_generated("ServiceName", 255)
        made = ecs.create_service(serviceName=name, tags=_tags(request), **given)["service"]
        request.made(made["serviceArn"])
        self._wait(request, made["serviceArn"])
        return Created(made["serviceArn"], {"ServiceArn": made["serviceArn"], "Name": name})

    def update(self, request: Request, physical_id: str, changed: set[str], old: Mapping[str, Any]) -> None:
        if changed & self._create_only:
            raise ReplacementNeededError
        ecs = request.client("ecs")
        given = self._given(request, "UpdateService")
        forced = request.get("ForceNewDeployment") or {}
        force = "ForceNewDeployment" in changed and bool(forced.get("EnableForceNewDeployment"))
        ecs.update_service(service=physical_id, forceNewDeployment=force, **given)
        _retag(request, physical_id)
        self._wait(request, physical_id)

    def delete(self, request: Request, physical_id: str) -> None:
        ecs = request.client("ecs")
        cluster = request["Cluster"]
        ecs.delete_service(cluster=cluster, service=physical_id, force=True)

        def gone() -> bool:
            found = ecs.describe_services(cluster=cluster, services=[physical_id])["services"]
            return not found or found[0]["status"] == "INACTIVE"

        wait_until(request, gone, STABLE_SECONDS_MAX, "the tasks of the service did not stop")

    def _given(self, request: Request, operation: str) -> dict[str, Any]:
        given = without(request.properties, "ServiceName", "Tags", "ForceNewDeployment")
        if operation == "UpdateService":
            given = without(given, "LaunchType", "SchedulingStrategy")
        if "PlacementStrategies" in given:
            given["PlacementStrategy"] = given.pop("PlacementStrategies")
        return api_parameters(request.client("ecs"), operation, given)

    def _wait(self, request: Request, arn: str) -> None:
        ecs = request.client("ecs")

        def stable() -> bool:
            (service,) = ecs.describe_services(cluster=request["Cluster"], services=[arn])["services"]
            primary = service["deployments"][0]
            failed = [
                one
                for one in service["deployments"]
                if one["rolloutState"] == "FAILED"
                and one["taskDefinition"].endswith(request["TaskDefinition"])
            ]
            if failed:
                raise ResourceError(
                    f"Error occurred during operation 'ECS Deployment Circuit Breaker was triggered'. "
                    f"{failed[0]['rolloutStateReason']}"
                )
            return bool(primary["rolloutState"] == "COMPLETED" and len(service["deployments"]) == 1)

        wait_until(request, stable, STABLE_SECONDS_MAX, f"the service {arn} did not stabilize")


def _tags(request: Request) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in request.tags.items()]


def _retag(request: Request, arn: str) -> None:
    ecs = request.client("ecs")
    found = {tag["key"] for tag in ecs.list_tags_for_resource(resourceArn=arn)["tags"]}
    superfluous = sorted(found - set(request.tags))
    if superfluous:
        ecs.untag_resource(resourceArn=arn, tagKeys=superfluous)
    ecs.tag_resource(resourceArn=arn, tags=_tags(request))


TYPES: list[ResourceType] = [
    Cluster(),
    CapacityProvider(),
    ClusterCapacityProviderAssociations(),
    TaskDefinition(),
    Service(),
]
