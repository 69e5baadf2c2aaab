"""ECS's API. Tasks are placed, start and end as they do on AWS, but none of them is a process."""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.ecs import capacity, run_task_rules, run_tasks, targets
from scripts.local_cloud.ecs.backend import EcsBackend, ecs_backends
from scripts.local_cloud.ecs.errors import ClientException, InvalidParameterException
from scripts.local_cloud.ecs.resources import Cluster
from scripts.local_cloud.own_service import ActionResult, OwnService

_DESCRIBED_MAX = 10
_TASKS_DESCRIBED_MAX = 100
_REASON_MAX = 1024


class Ecs(OwnService):
    service = "ecs"

    @property
    def backend(self) -> EcsBackend:
        return ecs_backends[self.current_account][self.region]

    # ---- clusters

    def create_cluster(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"cluster": self.backend.create_cluster(self.arguments()).describe()})

    def update_cluster(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"cluster": self.backend.update_cluster(self.arguments()).describe()})

    def describe_clusters(self) -> ActionResult:
        found, failures = [], []
        for identifier in self.arguments().get("clusters") or ["default"]:
            cluster = self.backend.find_cluster(identifier)
            if cluster is None:
                failures.append({"arn": self._arn_of("cluster", identifier), "reason": "MISSING"})
            else:
                found.append(cluster.describe())
        return ActionResult({"clusters": found, "failures": failures})

    def list_clusters(self) -> ActionResult:
        return ActionResult({"clusterArns": [cluster.arn for cluster in self.backend.clusters.values()]})

    def delete_cluster(self) -> ActionResult:
        with self.backend.lock:
            # Instances that were ended a moment ago no longer count.
            capacity.refresh(self.backend, self.backend.cluster(self.arguments()["cluster"]))
            cluster = self.backend.delete_cluster(self.arguments()["cluster"])
        return ActionResult({"cluster": cluster.describe()})

    def put_cluster_capacity_providers(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"cluster": self.backend.put_providers(self.arguments()).describe()})

    # ---- capacity providers

    def create_capacity_provider(self) -> ActionResult:
        with self.backend.lock:
            provider = self.backend.create_provider(self.arguments())
        return ActionResult({"capacityProvider": provider.describe()})

    def update_capacity_provider(self) -> ActionResult:
        with self.backend.lock:
            provider = self.backend.update_provider(self.arguments())
        return ActionResult({"capacityProvider": provider.describe()})

    def describe_capacity_providers(self) -> ActionResult:
        wanted = self.arguments().get("capacityProviders")
        names = [one.rsplit("/", 1)[-1] for one in wanted] if wanted else list(self.backend.providers)
        found = [self.backend.providers[name].describe() for name in names if name in self.backend.providers]
        failures = [
            {"arn": self._arn_of("capacity-provider", name), "reason": "MISSING"}
            for name in names
            if name not in self.backend.providers
        ]
        return ActionResult({"capacityProviders": found, "failures": failures})

    def delete_capacity_provider(self) -> ActionResult:
        with self.backend.lock:
            provider = self.backend.delete_provider(self.arguments()["capacityProvider"])
        return ActionResult({"capacityProvider": provider.describe()})

    # ---- task definitions

    def register_task_definition(self) -> ActionResult:
        with self.backend.lock:
            return self._definition(self.backend.register(self.arguments()))

    def describe_task_definition(self) -> ActionResult:
        return self._definition(self.backend.definition(self.arguments()["taskDefinition"]))

    def deregister_task_definition(self) -> ActionResult:
        definition = self.backend.definition(self.arguments()["taskDefinition"])
        definition["status"] = "INACTIVE"
        return self._definition(definition)

    def delete_task_definitions(self) -> ActionResult:
        deleted, failures = [], []
        for identifier in self.arguments()["taskDefinitions"]:
            try:
                deleted.append(self._plain(self.backend.delete_definition(identifier)))
            except ClientException as error:
                failures.append({"arn": identifier, "reason": str(error)})
        return ActionResult({"taskDefinitions": deleted, "failures": failures})

    def list_task_definitions(self) -> ActionResult:
        arguments = self.arguments()
        prefix, status = arguments.get("familyPrefix"), arguments.get("status", "ACTIVE")
        arns = [
            arn
            for arn, definition in self.backend.definitions.items()
            if definition["status"] == status and prefix in (None, definition["family"])
        ]
        return ActionResult({"taskDefinitionArns": arns})

    def _definition(self, definition: dict[str, Any]) -> ActionResult:
        tags = [{"key": key, "value": value} for key, value in definition["tags"].items()]
        return ActionResult({"taskDefinition": self._plain(definition), "tags": tags})

    def _plain(self, definition: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in definition.items() if name != "tags"}

    # ---- services

    def create_service(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"service": self.backend.create_service(self.arguments()).describe()})

    def update_service(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"service": self.backend.update_service(self.arguments()).describe()})

    def describe_services(self) -> ActionResult:
        arguments = self.arguments()
        if len(arguments["services"]) > _DESCRIBED_MAX:
            raise InvalidParameterException("A call describes up to 10 services.")
        cluster = self._cluster()
        found, failures = [], []
        for identifier in arguments["services"]:
            service = cluster.services.get(identifier.rsplit("/", 1)[-1])
            if service is None:
                failures.append({"arn": identifier, "reason": "MISSING"})
            else:
                found.append(service.describe())
        return ActionResult({"services": found, "failures": failures})

    def list_services(self) -> ActionResult:
        return ActionResult({"serviceArns": [service.arn for service in self._cluster().active_services]})

    def delete_service(self) -> ActionResult:
        with self.backend.lock:
            return ActionResult({"service": self.backend.delete_service(self.arguments()).describe()})

    # ---- tasks and container instances

    def list_tasks(self) -> ActionResult:
        arguments = self.arguments()
        cluster = self._cluster()
        run_task_rules.check_filters(arguments)
        stopped = arguments.get("desiredStatus") == "STOPPED"
        found = [
            task.arn
            for task in cluster.tasks
            if task.alive is not stopped
            and arguments.get("serviceName", task.service).rsplit("/", 1)[-1] == task.service
            and arguments.get("containerInstance", task.container_instance) == task.container_instance
            and arguments.get("startedBy", task.started_by) == task.started_by
            and arguments.get("family", task.definition["family"]) == task.definition["family"]
        ]
        return ActionResult({"taskArns": found})

    def describe_tasks(self) -> ActionResult:
        arguments, cluster = self.arguments(), self._cluster()
        if not 1 <= len(arguments["tasks"]) <= _TASKS_DESCRIBED_MAX:
            raise InvalidParameterException(f"A call describes 1 to {_TASKS_DESCRIBED_MAX} tasks.")
        known = {task.arn.rsplit("/", 1)[-1]: task for task in cluster.tasks}
        wanted = [arn.rsplit("/", 1)[-1] for arn in arguments["tasks"]]
        found = [known[one].describe(cluster.arn) for one in wanted if one in known]
        if "TAGS" not in (arguments.get("include") or ()):
            found = [{name: value for name, value in one.items() if name != "tags"} for one in found]
        arns = self._arn_of("task", cluster.name)
        failures = [{"arn": f"{arns}/{one}", "reason": "MISSING"} for one in wanted if one not in known]
        return ActionResult({"tasks": found, "failures": failures})

    def stop_task(self) -> ActionResult:
        arguments, cluster = self.arguments(), self._cluster()
        wanted = arguments["task"].rsplit("/", 1)[-1]
        if len(arguments.get("reason") or "") > _REASON_MAX:
            raise InvalidParameterException(f"A reason has up to {_REASON_MAX} characters.")
        with self.backend.lock:
            task = next((one for one in cluster.tasks if one.arn.rsplit("/", 1)[-1] == wanted), None)
            if task is None:
                raise InvalidParameterException("The referenced task was not found.")
            if task.alive:
                if task.service:
                    targets.deregister(self.backend, cluster.services[task.service], task)
                task.stop(arguments.get("reason") or "Task stopped by user", "UserInitiated")
            return ActionResult({"task": task.describe(cluster.arn)})

    def run_task(self) -> ActionResult:
        with self.backend.lock:
            cluster = self._cluster()
            tasks, failures = run_tasks.run(self.backend, cluster, self.arguments())
            return ActionResult(
                {"tasks": [task.describe(cluster.arn) for task in tasks], "failures": failures}
            )

    def list_container_instances(self) -> ActionResult:
        return ActionResult(
            {"containerInstanceArns": [one.arn for one in self._cluster().instances.values()]}
        )

    def describe_container_instances(self) -> ActionResult:
        cluster = self._cluster()
        wanted = [arn.rsplit("/", 1)[-1] for arn in self.arguments()["containerInstances"]]
        found = [
            instance.describe(
                sum(task.instance_id == instance.instance_id for task in cluster.tasks if task.alive)
            )
            for instance in cluster.instances.values()
            if instance.arn.rsplit("/", 1)[-1] in wanted
        ]
        return ActionResult({"containerInstances": found, "failures": []})

    # ---- tags

    def list_tags_for_resource(self) -> ActionResult:
        tags = self.backend.tags_of(self.arguments()["resourceArn"])
        return ActionResult({"tags": [{"key": key, "value": value} for key, value in tags.items()]})

    def tag_resource(self) -> ActionResult:
        arguments = self.arguments()
        given = {tag["key"]: tag.get("value", "") for tag in arguments["tags"]}
        self.backend.tag_resource(arguments["resourceArn"], given)
        return ActionResult({})

    def untag_resource(self) -> ActionResult:
        self.backend.untag_resource(self.arguments()["resourceArn"], list(self.arguments()["tagKeys"]))
        return ActionResult({})

    # ---- shared

    def _cluster(self) -> Cluster:
        return self.backend.cluster(self.arguments().get("cluster"))

    def _arn_of(self, kind: str, identifier: str) -> str:
        return identifier if identifier.startswith("arn:") else self.backend.arn(f"{kind}/{identifier}")
