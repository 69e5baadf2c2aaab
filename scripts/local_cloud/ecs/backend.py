"""ECS of one account and region: what its API keeps, and the order in which it lets things go."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.resource_tagging import TaggableResourcesMixin, TaggedResource

from scripts.local_cloud.ecs import provider_rules, service_rules, task_definition_rules
from scripts.local_cloud.ecs.errors import (
    ClientException,
    ClusterContainsCapacityProviderException,
    ClusterContainsContainerInstancesException,
    ClusterContainsServicesException,
    ClusterContainsTasksException,
    ClusterNotFoundException,
    InvalidParameterException,
    ResourceInUseException,
    ServiceNotActiveException,
    ServiceNotFoundException,
)
from scripts.local_cloud.ecs.resources import Cluster, Provider, Service, now

_PROVIDERS_MAX = 20
_DEPLOYS_ANEW = ("taskDefinition", "capacityProviderStrategy", "networkConfiguration", "loadBalancers")


class EcsBackend(BaseBackend, TaggableResourcesMixin):
    SERVICE_NAMESPACE = "ecs"

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.clusters: dict[str, Cluster] = {}
        self.providers: dict[str, Provider] = {}
        self.definitions: dict[str, dict[str, Any]] = {}
        self.revisions: dict[str, int] = {}
        self.lock = threading.RLock()

    # ---- clusters

    def find_cluster(self, identifier: str | None) -> Cluster | None:
        return self.clusters.get((identifier or "default").rsplit("/", 1)[-1])

    def cluster(self, identifier: str | None) -> Cluster:
        cluster = self.find_cluster(identifier)
        if cluster is None:
            raise ClusterNotFoundException()
        return cluster

    def create_cluster(self, request: Mapping[str, Any]) -> Cluster:
        name = request.get("clusterName") or "default"
        if name in self.clusters:
            return self.clusters[name]
        cluster = Cluster(self.arn(f"cluster/{name}"), name, dict(request), lower_tags(request))
        self._associate(
            cluster,
            request.get("capacityProviders") or (),
            request.get("defaultCapacityProviderStrategy") or (),
        )
        self.clusters[name] = cluster
        return cluster

    def update_cluster(self, request: Mapping[str, Any]) -> Cluster:
        cluster = self.cluster(request["cluster"])
        cluster.request.update({name: value for name, value in request.items() if name != "cluster"})
        return cluster

    def delete_cluster(self, identifier: str) -> Cluster:
        cluster = self.cluster(identifier)
        if any(service.status == "ACTIVE" for service in cluster.services.values()):
            raise ClusterContainsServicesException()
        if any(task.status != "STOPPED" for task in cluster.tasks):
            raise ClusterContainsTasksException()
        if cluster.instances:
            raise ClusterContainsContainerInstancesException()
        if any(provider.cluster_arn == cluster.arn for provider in self.providers.values()):
            raise ClusterContainsCapacityProviderException()
        del self.clusters[cluster.name]
        cluster.status = "INACTIVE"
        return cluster

    def put_providers(self, request: Mapping[str, Any]) -> Cluster:
        cluster = self.cluster(request["cluster"])
        names = [
            *provider_rules.associable(request["capacityProviders"], self.providers),
            *self._managed(cluster),
        ]
        dropped = set(cluster.providers) - set(names)
        used = {
            item["capacityProvider"] for service in cluster.active_services for item in service.strategy
        } | {task.provider for task in cluster.tasks if task.status != "STOPPED"}
        if dropped & used:
            raise ResourceInUseException("The specified capacity provider is in use and cannot be removed.")
        self._associate(cluster, names, request["defaultCapacityProviderStrategy"])
        return cluster

    def _managed(self, cluster: Cluster) -> list[str]:
        """Providers of Managed Instances belong to their cluster as long as they live."""
        return [one.name for one in self.providers.values() if one.cluster_arn == cluster.arn]

    def _associate(self, cluster: Cluster, names: Any, strategy: Any) -> None:
        if len(names) > _PROVIDERS_MAX:
            raise InvalidParameterException(
                "The maximum number of capacity providers per cluster has been exceeded."
            )
        for name in names:
            if name not in service_rules.FARGATE and name.rsplit("/", 1)[-1] not in self.providers:
                raise InvalidParameterException(
                    f"The specified capacity provider '{name}' was not found. Specify a valid name or ARN and try "
                    "again."
                )
            other = next((one for one in self._users(name) if one is not cluster), None)
            if name not in service_rules.FARGATE and other is not None and self.providers[name].scales:
                raise ClientException(f"{name} has managed scaling and belongs to the cluster {other.name}.")
        kept, cluster.providers = cluster.providers, list(names)
        try:
            service_rules.check_strategy(cluster, list(strategy))
        except InvalidParameterException:
            cluster.providers = kept
            raise
        cluster.default_strategy = list(strategy)

    def _users(self, provider: str) -> list[Cluster]:
        return [cluster for cluster in self.clusters.values() if provider in cluster.providers]

    # ---- capacity providers

    def provider(self, identifier: str) -> Provider:
        name = identifier.rsplit("/", 1)[-1]
        if name not in self.providers:
            raise ClientException(
                "The specified capacity provider does not exist. Specify a valid name or ARN."
            )
        return self.providers[name]

    def create_provider(self, request: Mapping[str, Any]) -> Provider:
        name = request["name"]
        provider_rules.check_name(name)
        provider_rules.check_request(request)
        if name in self.providers:
            raise ClientException("The specified capacity provider already exists.")
        kept = deepcopy(
            {key: value for key, value in request.items() if key not in ("name", "tags", "cluster")}
        )
        provider = Provider(self.arn(f"capacity-provider/{name}"), name, kept, lower_tags(request))
        if request.get("managedInstancesProvider"):
            cluster = self.cluster(request["cluster"])
            provider.cluster_arn = cluster.arn
            cluster.providers.append(name)
        else:
            given = kept["autoScalingGroupProvider"]
            group = provider_rules.check_group(
                self.account_id, self.region_name, given, self.providers.values()
            )
            given["autoScalingGroupArn"] = group.arn
            _complete(given)
        self.providers[name] = provider
        return provider

    def update_provider(self, request: Mapping[str, Any]) -> Provider:
        provider = self.provider(request["name"])
        given = request.get("autoScalingGroupProvider")
        if given:
            merged = {**provider.request["autoScalingGroupProvider"], **given}
            group = provider_rules.check_group(
                self.account_id,
                self.region_name,
                merged,
                [one for one in self.providers.values() if one is not provider],
            )
            merged["autoScalingGroupArn"] = group.arn
            provider.request["autoScalingGroupProvider"] = merged
        if request.get("managedInstancesProvider"):
            provider.request["managedInstancesProvider"] = request["managedInstancesProvider"]
        return provider

    def delete_provider(self, identifier: str) -> Provider:
        """The call succeeds in any case; a provider that a cluster has says in its description that it stays.

        One of Managed Instances cannot go while they are registered (aws/aws-cdk issue 36071).
        """
        provider = self.provider(identifier)
        if provider.cluster_arn and self._registered(provider):
            provider.update_status = "DELETE_FAILED"
            provider.update_reason = "The capacity provider cannot be deleted because its container instances are still registered."
            return provider
        users = self._users(provider.name)
        if provider.cluster_arn:
            for cluster in users:
                cluster.providers.remove(provider.name)
            users = []
        if users:
            provider.update_status = "DELETE_FAILED"
            provider.update_reason = (
                f"The capacity provider cannot be deleted because it is associated with cluster: {users[0].name}. "
                "Remove the capacity provider from the cluster and try again."
            )
        else:
            del self.providers[provider.name]
            provider.status, provider.update_status = "INACTIVE", "DELETE_COMPLETE"
        return provider

    def _registered(self, provider: Provider) -> bool:
        clusters = self.clusters.values()
        return any(one.provider == provider.name for c in clusters for one in c.instances.values())

    # ---- task definitions

    def register(self, request: Mapping[str, Any]) -> dict[str, Any]:
        task_definition_rules.check(request)
        family = request["family"]
        revision = self.revisions[family] = self.revisions.get(family, 0) + 1
        kept = deepcopy({name: value for name, value in request.items() if name != "tags"})
        for container in kept["containerDefinitions"]:
            container.setdefault("essential", True)
        arn = self.arn(f"task-definition/{family}:{revision}")
        definition = {
            **{name: kept.pop(name, None) or [] for name in ("volumes", "placementConstraints")},
            **kept,
            "taskDefinitionArn": arn,
            "revision": revision,
            "status": "ACTIVE",
            "compatibilities": request.get("requiresCompatibilities") or ["EC2"],
            "registeredAt": now(),
            "tags": lower_tags(request),
        }
        self.definitions[arn] = definition
        return definition

    def definition(
        self, identifier: str, missing: str = "Unable to describe task definition."
    ) -> dict[str, Any]:
        """By ARN, "family:revision", or the family's newest active revision."""
        name = identifier.rsplit("/", 1)[-1]
        if ":" not in name:
            active = [
                one
                for one in self.definitions.values()
                if one["family"] == name and one["status"] == "ACTIVE"
            ]
            if active:
                return active[-1]
        found = self.definitions.get(self.arn(f"task-definition/{name}"))
        if found is None:
            raise ClientException(missing)
        return found

    def delete_definition(self, identifier: str) -> dict[str, Any]:
        definition = self.definition(identifier)
        if definition["status"] == "ACTIVE":
            raise ClientException(
                "The specified task definition is still in ACTIVE status. Deregister it first."
            )
        return self.definitions.pop(definition["taskDefinitionArn"])

    # ---- services

    def service(self, cluster: Cluster, identifier: str) -> Service:
        service = cluster.services.get(identifier.rsplit("/", 1)[-1])
        if service is None:
            raise ServiceNotFoundException()
        return service

    def create_service(self, request: Mapping[str, Any]) -> Service:
        cluster = self.cluster(request.get("cluster"))
        name = request["serviceName"]
        before = cluster.services.get(name)
        if before is not None and before.status == "DRAINING":
            raise InvalidParameterException("Unable to Start a service that is still Draining.")
        if before is not None and before.status == "ACTIVE":
            raise InvalidParameterException("Creation of service was not idempotent.")
        kept = deepcopy(dict(request))
        if not kept.get("launchType") and not kept.get("capacityProviderStrategy"):
            kept["capacityProviderStrategy"] = list(cluster.default_strategy)
        definition = self._check_service(cluster, kept)
        service = Service(
            self.arn(f"service/{cluster.name}/{name}"),
            name,
            cluster.arn,
            kept,
            int(request.get("desiredCount", 1)),
            lower_tags(request),
        )
        service.deploy(definition["taskDefinitionArn"])
        cluster.services[name] = service
        return service

    def update_service(self, request: Mapping[str, Any]) -> Service:
        cluster = self.cluster(request.get("cluster"))
        service = self.service(cluster, request["service"])
        if service.status != "ACTIVE":
            raise ServiceNotActiveException()
        kept = {**service.request, **deepcopy(dict(request))}
        definition = self._check_service(cluster, kept)
        changed = any(
            name in request and request[name] != service.request.get(name) for name in _DEPLOYS_ANEW
        )
        service.request = kept
        service.desired = int(request.get("desiredCount", service.desired))
        other = definition["taskDefinitionArn"] != service.primary.definition_arn
        if request.get("forceNewDeployment") or (changed and ("taskDefinition" not in request or other)):
            service.deploy(definition["taskDefinitionArn"])
        return service

    def delete_service(self, request: Mapping[str, Any]) -> Service:
        service = self.service(self.cluster(request.get("cluster")), request["service"])
        if service.desired > 0 and not request.get("force"):
            raise InvalidParameterException("The service cannot be stopped while it is scaled above 0.")
        service.desired = 0
        service.status = "DRAINING"
        return service

    def _check_service(self, cluster: Cluster, request: Mapping[str, Any]) -> dict[str, Any]:
        service_rules.check_deployments(request)
        definition = self.check_run(cluster, request)
        service_rules.check_load_balancers(self.account_id, self.region_name, request, definition)
        return definition

    def check_run(self, cluster: Cluster, request: Mapping[str, Any]) -> dict[str, Any]:
        """What a service and a task of RunTask need alike. Returns the task definition."""
        service_rules.check_one_way(request)
        service_rules.check_strategy(cluster, list(request.get("capacityProviderStrategy") or ()))
        definition = self.definition(request["taskDefinition"], missing="TaskDefinition not found.")
        if definition["status"] != "ACTIVE":
            raise ClientException("TaskDefinition is inactive")
        service_rules.check_compatibility(request, definition)
        service_rules.check_network(request, definition)
        return definition

    # ---- tags

    def _tagged(self) -> Iterator[tuple[str, dict[str, str], str]]:
        for cluster in list(self.clusters.values()):
            yield cluster.arn, cluster.tags, "ecs:cluster"
            for service in list(cluster.services.values()):
                if service.status != "INACTIVE":
                    yield service.arn, service.tags, "ecs:service"
            for task in cluster.tasks:
                if task.status != "STOPPED":
                    yield task.arn, task.tags, "ecs:task"
        for provider in list(self.providers.values()):
            yield provider.arn, provider.tags, "ecs:capacity-provider"
        for definition in list(self.definitions.values()):
            if definition["status"] == "ACTIVE":
                yield definition["taskDefinitionArn"], definition["tags"], "ecs:task-definition"

    def tags_of(self, arn: str) -> dict[str, str]:
        for found, tags, _ in self._tagged():
            if found == arn:
                return tags
        raise InvalidParameterException("The specified resource was not found.")

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        for arn, tags, kind in self._tagged():
            yield TaggedResource(arn, dict(tags), kind)

    def tag_resource(self, arn: str, tags: dict[str, str]) -> None:
        self.tags_of(arn).update(tags)

    def untag_resource(self, arn: str, tag_keys: list[str]) -> None:
        carried = self.tags_of(arn)
        for key in tag_keys:
            carried.pop(key, None)

    def arn(self, resource: str) -> str:
        return f"arn:{self.partition}:ecs:{self.region_name}:{self.account_id}:{resource}"


def lower_tags(request: Mapping[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag.get("value", "") for tag in request.get("tags") or ()}


def _complete(provider: dict[str, Any]) -> None:
    provider.setdefault("managedTerminationProtection", "DISABLED")
    provider.setdefault("managedDraining", "ENABLED")
    provider["managedScaling"] = {
        "status": "DISABLED",
        "targetCapacity": 100,
        "minimumScalingStepSize": 1,
        "maximumScalingStepSize": 10000,
        "instanceWarmupPeriod": 300,
        **(provider.get("managedScaling") or {}),
    }


ecs_backends = BackendDict(EcsBackend, "ecs")
