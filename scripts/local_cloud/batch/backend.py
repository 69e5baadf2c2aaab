"""AWS Batch of one account and region: environments, queues, definitions and jobs."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.resource_tagging import TaggableResourcesMixin, TaggedResource

from scripts.local_cloud import runtime
from scripts.local_cloud.batch import definitions, environments
from scripts.local_cloud.batch.container import node_containers
from scripts.local_cloud.batch.definitions import JobDefinition
from scripts.local_cloud.batch.environments import ComputeEnvironment, JobQueue
from scripts.local_cloud.batch.errors import ClientException
from scripts.local_cloud.batch.job import FINAL, Job, Node
from scripts.local_cloud.batch.job_run import JobRun
from scripts.local_cloud.batch.placement import Placement, place

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}$")


class BatchBackend(BaseBackend, TaggableResourcesMixin):
    SERVICE_NAMESPACE = "batch"

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.environments: dict[str, ComputeEnvironment] = {}
        self.queues: dict[str, JobQueue] = {}
        self.definitions: dict[str, JobDefinition] = {}
        self.jobs: dict[str, Job] = {}
        self.runs: dict[str, JobRun] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self.lock = threading.RLock()

    def reset(self) -> None:
        """moto's own reset: what runs must not go on without anybody who knows of it."""
        for run in list(self.runs.values()):
            run.kill()
        super().reset()

    def arn(self, resource: str) -> str:
        return f"arn:{self.partition}:batch:{self.region_name}:{self.account_id}:{resource}"

    def client(self, service: str) -> Any:
        return runtime.current().clients.client(service, self.account_id, self.region_name)

    # ---- tags

    def tagged(self) -> Iterator[tuple[str, dict[str, str], str]]:
        for environment in self.environments.values():
            yield environment.arn, environment.tags, "batch:compute-environment"
        for queue in self.queues.values():
            yield queue.arn, queue.tags, "batch:job-queue"
        for definition in self.definitions.values():
            yield definition.arn, definition.tags, "batch:job-definition"
        for job in self.jobs.values():
            yield job.arn, job.tags, "batch:job"

    def tags_of(self, arn: str) -> dict[str, str]:
        for known, tags, _ in self.tagged():
            if known == arn:
                return tags
        raise ClientException(f"Resource {arn} does not exist")

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        for arn, tags, kind in list(self.tagged()):
            yield TaggedResource(arn, dict(tags), kind)

    def tag_resource(self, arn: str, tags: dict[str, str]) -> None:
        self.tags_of(arn).update(tags)

    def untag_resource(self, arn: str, tag_keys: list[str]) -> None:
        carried = self.tags_of(arn)
        for key in tag_keys:
            carried.pop(key, None)

    # ---- compute environments

    def environment(self, identifier: str) -> ComputeEnvironment:
        for environment in self.environments.values():
            if identifier in (environment.name, environment.arn):
                return environment
        raise ClientException(f"{identifier} does not exist")

    def create_environment(self, request: Mapping[str, Any]) -> ComputeEnvironment:
        name = self._new_name(request["computeEnvironmentName"], self.environments)
        resources = dict(request.get("computeResources") or {})
        environments.check_environment_request(request["type"], resources)
        role = f"arn:{self.partition}:iam::{self.account_id}:role/aws-service-role/batch.amazonaws.com/AWSServiceRoleForBatch"
        environment = ComputeEnvironment(
            name=name,
            arn=self.arn(f"compute-environment/{name}"),
            ecs_cluster_arn=f"arn:{self.partition}:ecs:{self.region_name}:{self.account_id}:cluster/"
            f"AWSBatch-{name}-{uuid.uuid4()}",
            type=request["type"],
            state=request.get("state", "ENABLED"),
            resources=deepcopy(resources),
            service_role=request.get("serviceRole") or role,
            update_policy=None,
            context=request.get("context"),
            tags=dict(request.get("tags") or {}),
        )
        self._validate(environment)
        self.environments[name] = environment
        return environment

    def update_environment(self, request: Mapping[str, Any]) -> ComputeEnvironment:
        environment = self.environment(request["computeEnvironment"])
        environment.state = request.get("state", environment.state)
        environment.service_role = request.get("serviceRole") or environment.service_role
        environment.update_policy = request.get("updatePolicy") or environment.update_policy
        environment.context = request.get("context", environment.context)
        environment.resources.update(deepcopy(dict(request.get("computeResources") or {})))
        self._validate(environment)
        return environment

    def delete_environment(self, identifier: str) -> None:
        environment = self.environment(identifier)
        if environment.state != "DISABLED":
            raise ClientException(
                "Cannot delete, found existing ENABLED compute environment; disable it first"
            )
        users = [queue.name for queue in self.queues.values() if environment.arn in queue.environments()]
        if users:
            raise ClientException(f"Cannot delete, found existing JobQueue relationship ({', '.join(users)})")
        del self.environments[environment.name]

    def _validate(self, environment: ComputeEnvironment) -> None:
        found = environments.problem(environment.resources, self.client)
        environment.status = "INVALID" if found else "VALID"
        environment.status_reason = found or "ComputeEnvironment Healthy"

    # ---- queues

    def queue(self, identifier: str) -> JobQueue:
        for queue in self.queues.values():
            if identifier in (queue.name, queue.arn):
                return queue
        raise ClientException(f"{identifier} does not exist")

    def create_queue(self, request: Mapping[str, Any]) -> JobQueue:
        name = self._new_name(request["jobQueueName"], self.queues)
        queue = JobQueue(
            name=name,
            arn=self.arn(f"job-queue/{name}"),
            state=request.get("state", "ENABLED"),
            priority=int(request["priority"]),
            environment_order=self._order(request.get("computeEnvironmentOrder") or []),
            time_limit_actions=deepcopy(list(request.get("jobStateTimeLimitActions") or ())),
            scheduling_policy_arn=request.get("schedulingPolicyArn"),
            tags=dict(request.get("tags") or {}),
        )
        self.queues[name] = queue
        return queue

    def update_queue(self, request: Mapping[str, Any]) -> JobQueue:
        queue = self.queue(request["jobQueue"])
        queue.state = request.get("state", queue.state)
        queue.priority = int(request.get("priority", queue.priority))
        queue.scheduling_policy_arn = request.get("schedulingPolicyArn", queue.scheduling_policy_arn)
        if "computeEnvironmentOrder" in request:
            queue.environment_order = self._order(request["computeEnvironmentOrder"])
        if "jobStateTimeLimitActions" in request:
            queue.time_limit_actions = deepcopy(list(request["jobStateTimeLimitActions"]))
        return queue

    def delete_queue(self, identifier: str) -> None:
        """ "All jobs in the queue are eventually terminated when you delete a job queue" (Batch API reference)."""
        queue = self.queue(identifier)
        if queue.state != "DISABLED":
            raise ClientException("Cannot delete, job queue must be disabled first")
        for job in self.jobs.values():
            if job.queue is queue and job.status not in FINAL:
                self.stop_job(job, "Job queue deleted", terminate=True)
        del self.queues[queue.name]

    def _order(self, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not given:
            raise ClientException("At least one compute environment must be specified")
        return [
            {
                "order": int(item["order"]),
                "computeEnvironment": self.environment(item["computeEnvironment"]).arn,
            }
            for item in given
        ]

    def _new_name(self, name: str, existing: Mapping[str, Any]) -> str:
        if not _NAME.match(name):
            raise ClientException(f"Name {name} should match valid pattern")
        if name in existing:
            raise ClientException("Object already exists")
        return name

    # ---- job definitions

    def register(self, request: Mapping[str, Any]) -> JobDefinition:
        registered = definitions.check(request)
        name = request["jobDefinitionName"]
        with self.lock:
            revision = 1 + max(
                (item.revision for item in self.definitions.values() if item.name == name), default=0
            )
            arn = self.arn(f"job-definition/{name}:{revision}")
            definition = JobDefinition(name, revision, arn, registered, dict(request.get("tags") or {}))
            self.definitions[arn] = definition
        return definition

    def definition(self, identifier: str) -> JobDefinition:
        """By ARN or `name:revision`; by name alone the newest active one."""
        short = identifier.split("job-definition/", 1)[-1]
        name, _, revision = short.partition(":")
        found = [item for item in self.definitions.values() if item.name == name]
        if revision:
            found = [item for item in found if str(item.revision) == revision]
        else:
            found = [item for item in found if item.status == "ACTIVE"]
        if not found:
            raise ClientException(f"JobDefinition {identifier} does not exist")
        return max(found, key=lambda item: item.revision)

    # ---- jobs

    def submit(self, request: Mapping[str, Any]) -> Job:
        if not _NAME.match(request["jobName"]):
            raise ClientException("Job name should match valid pattern")
        queue = self.queue(request["jobQueue"])
        if queue.state != "ENABLED":
            raise ClientException(f"Job Queue {queue.arn} is not in ENABLED state")
        if request.get("arrayProperties"):
            raise ClientException("Array jobs are not emulated by the local cloud")
        definition = self.definition(request["jobDefinition"])
        if definition.status != "ACTIVE":
            raise ClientException(f"JobDefinition {definition.arn} is not ACTIVE")
        job = self._job(request, queue, definition)
        run = JobRun(job, self)
        with self.lock:
            self.jobs[job.id] = job
            self.runs[job.id] = run
        run.start()
        return job

    def _job(self, request: Mapping[str, Any], queue: JobQueue, definition: JobDefinition) -> Job:
        registered = definition.registered
        main_node, containers = node_containers(definition, request)
        timeout = request.get("timeout") or registered.get("timeout")
        retry = request.get("retryStrategy") or registered.get("retryStrategy") or {}
        definitions.check_timeout(timeout)
        definitions.check_retry(retry)
        for dependency in request.get("dependsOn") or ():
            if self.find_job(dependency.get("jobId", "")) is None:
                raise ClientException(f"Job {dependency.get('jobId')} in dependsOn does not exist")
        job_id = str(uuid.uuid4())
        return Job(
            id=job_id,
            name=request["jobName"],
            arn=self.arn(f"job/{job_id}"),
            account=self.account_id,
            region=self.region_name,
            queue=queue,
            definition=definition,
            main_node=main_node,
            nodes=[Node(index, container) for index, container in enumerate(containers)],
            tags=dict(request.get("tags") or {}),
            parameters={**(registered.get("parameters") or {}), **(request.get("parameters") or {})},
            retry={"attempts": 1, **retry},
            timeout=dict(timeout) if timeout else None,
            propagate_tags=bool(request.get("propagateTags", registered.get("propagateTags", False))),
            depends_on=list(request.get("dependsOn") or ()),
        )

    def find_job(self, job_id: str) -> Job | None:
        return self.jobs.get(job_id.partition("#")[0])

    def stop_job(self, job: Job, reason: str, terminate: bool) -> None:
        """Cancelling stops what has not started; terminating stops anything."""
        if job.status in FINAL or (not terminate and job.status in ("STARTING", "RUNNING")):
            return
        job.stop_reason = reason
        job.cancelled = job.cancelled or not terminate
        job.terminated = job.terminated or terminate
        job.stop.set()

    def take_place(self, job: Job) -> Placement:
        with self.lock:
            by_arn = {environment.arn: environment for environment in self.environments.values()}
            in_use: dict[str, int] = {}
            for arn, vcpus in self._places.values():
                in_use[arn] = in_use.get(arn, 0) + vcpus
            placement = place(job, [by_arn.get(arn) for arn in job.queue.environments()], in_use)
            if placement.environment is not None:
                self._places[job.id] = (placement.environment.arn, placement.vcpus)
            return placement

    def give_back(self, job: Job) -> None:
        with self.lock:
            self._places.pop(job.id, None)


batch_backends = BackendDict(BatchBackend, "batch")


def running_jobs() -> dict[str, Job]:
    """By id, over all accounts and regions."""
    return {
        job.id: job
        for _, _, backend in batch_backends.iter_backends()
        if isinstance(backend, BatchBackend)
        for job in list(backend.jobs.values())
        if job.status not in FINAL
    }


def end_all_jobs() -> None:
    for _, _, backend in batch_backends.iter_backends():
        if isinstance(backend, BatchBackend):
            for run in list(backend.runs.values()):
                run.kill()
