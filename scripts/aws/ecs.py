"""ECS: services and their tasks; and whether what carries our tag is still alive (AWS Batch uses ECS behind the scenes)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

CAPACITY_PROVIDER: Final = "capacity provider"
MANAGED_PROVIDER: Final = "capacity provider of Managed Instances"
CLUSTER: Final = "ECS cluster"
SERVICE: Final = "ECS service"
TASK: Final = "ECS task"
TASK_DEFINITION: Final = "task definition"

DELETE_FAILED: Final = "DELETE_FAILED"
"""Of a capacity provider that is in use."""
_AT_ONCE: Final = 10
"""What DescribeServices takes in one call (ECS API reference)."""
_GONE: Final = ("ClusterNotFoundException", "ServiceNotFoundException", "ServiceNotActiveException")
_MISSING: Final = "MISSING"
_NO_SUCH_PROVIDER: Final = "capacity provider does not exist"
"""ECS's sentence; the code is a ClientException (hashicorp/terraform-provider-aws, resourceCapacityProviderDelete)."""
_EVENTS_KEPT: Final = 20


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    id: str
    at: datetime | None
    message: str


@dataclass(frozen=True, slots=True)
class Service:
    arn: str
    name: str
    status: str
    desired: int
    running: int
    pending: int
    events: tuple[ServiceEvent, ...]
    """Newest first."""
    rollout: str
    """IN_PROGRESS, COMPLETED or FAILED; "" where ECS does not say."""
    rollout_reason: str
    tags: dict[str, str]

    @property
    def is_active(self) -> bool:
        return self.status == "ACTIVE"


@dataclass(frozen=True, slots=True)
class Task:
    arn: str
    definition_arn: str
    status: str
    stop_code: str
    reason: str
    """Why it stopped: the task's word, and those of its containers."""
    exit_codes: tuple[int | None, ...]
    started_by: str
    """Of a service: ecs-svc/ and a number."""

    @property
    def id(self) -> str:
        return self.arn.rpartition("/")[2]

    @property
    def is_of_a_service(self) -> bool:
        """Its service stops it, and would replace one that somebody else stopped."""
        return self.started_by.startswith("ecs-svc/")

    @property
    def has_ended(self) -> bool:
        return self.status == "STOPPED"

    @property
    def has_worked(self) -> bool:
        return self.has_ended and bool(self.exit_codes) and all(code == 0 for code in self.exit_codes)


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Where a task runs: a capacity provider, and with an interface of its own a subnet and a security group."""

    cluster: str
    capacity_provider: str
    subnet_id: str | None
    security_group_id: str | None


def services(cloud: Cloud, cluster: str, names: Sequence[str]) -> tuple[Service, ...]:
    """Of those that are there; none where the cluster is gone."""
    found: list[Service] = []
    for first in range(0, len(names), _AT_ONCE):
        some = list(names[first : first + _AT_ONCE])
        try:
            answer = described(cloud, "describe_services", cluster=cluster, services=some, include=["TAGS"])
        except AwsError as error:
            if error.code in _GONE:
                return ()
            raise
        found += [_service(raw) for raw in answer["services"]]
    return tuple(found)


def described(cloud: Cloud, operation: str, /, **which: Any) -> dict[str, Any]:
    """The answer of a call that lists what it could not describe instead of failing. What is missing is gone; any
    other reason leaves the question open, and is raised: AwsError.
    """
    answer = cloud.call("ecs", operation, **which)
    for failure in answer.get("failures") or ():
        reason = str(failure.get("reason", ""))
        if reason != _MISSING:
            detail = f": {failure['detail']}" if failure.get("detail") else ""
            raise AwsError(f"ECS does not describe {failure.get('arn', 'it')}: {reason}{detail}", code=reason)
    return answer


def services_of(cloud: Cloud, cluster: str) -> tuple[Service, ...]:
    """All of a cluster's that are not deleted."""
    try:
        arns = list(cloud.pages("ecs", "list_services", "serviceArns", cluster=cluster))
    except AwsError as error:
        if error.code in _GONE:
            return ()
        raise
    return tuple(one for one in services(cloud, cluster, arns) if one.status != "INACTIVE")


def set_desired(cloud: Cloud, cluster: str, service: str, count: int) -> None:
    cloud.call("ecs", "update_service", cluster=cluster, service=service, desiredCount=count)


def delete_service(cloud: Cloud, cluster: str, service: str) -> None:
    """With its tasks."""
    try:
        cloud.call("ecs", "delete_service", cluster=cluster, service=service, force=True)
    except AwsError as error:
        if error.code not in _GONE:
            raise


def run_task(cloud: Cloud, place: TaskPlace, definition: str, started_by: str, token: str) -> Task:
    """One task; the same token never starts a second one. Raises AwsError, with ECS's reason when nothing takes it."""
    network: dict[str, Any] = {}
    if place.subnet_id and place.security_group_id:
        configuration = {"subnets": [place.subnet_id], "securityGroups": [place.security_group_id]}
        network = {"networkConfiguration": {"awsvpcConfiguration": configuration}}
    answer = cloud.call(
        "ecs",
        "run_task",
        cluster=place.cluster,
        taskDefinition=definition,
        count=1,
        capacityProviderStrategy=[{"capacityProvider": place.capacity_provider, "weight": 1}],
        startedBy=started_by,
        clientToken=token,
        propagateTags="TASK_DEFINITION",
        **network,
    )
    for raw in answer["tasks"]:
        return _task(raw)
    reasons = "; ".join(str(failure.get("reason", "")) for failure in answer.get("failures", ()))
    raise AwsError(f"ECS starts no task of {definition}: {reasons or 'it gives no reason'}")


def tasks(cloud: Cloud, cluster: str) -> tuple[Task, ...]:
    """Those that are to run, and those that stop or have stopped; none where the cluster is gone."""
    found: dict[str, None] = {}
    for status in ("RUNNING", "STOPPED"):
        asked = {"cluster": cluster, "desiredStatus": status}
        try:
            found |= dict.fromkeys(cloud.pages("ecs", "list_tasks", "taskArns", **asked))
        except AwsError as error:
            if error.code in _GONE:
                return ()
            raise
    return tuple(one for one in describe_tasks(cloud, cluster, list(found)))


def describe_tasks(cloud: Cloud, cluster: str, arns: Sequence[str]) -> tuple[Task, ...]:
    """ECS forgets a stopped task after an hour."""
    found: list[Task] = []
    for first in range(0, len(arns), 100):
        some = list(arns[first : first + 100])
        answer = described(cloud, "describe_tasks", cluster=cluster, tasks=some)
        found += [_task(raw) for raw in answer["tasks"]]
    return tuple(found)


def stop_task(cloud: Cloud, cluster: str, arn: str, reason: str) -> None:
    cloud.call("ecs", "stop_task", cluster=cluster, task=arn, reason=reason)


def tags(cloud: Cloud, arn: str) -> dict[str, str]:
    """Of whatever is ECS's."""
    return _tags(cloud.call("ecs", "list_tags_for_resource", resourceArn=arn).get("tags"))


def task_definition_is_active(cloud: Cloud, arn: str) -> bool:
    try:
        answer = cloud.call("ecs", "describe_task_definition", taskDefinition=arn)
    except AwsError as error:
        if error.code in ("ClientException", "InvalidParameterException"):
            return False
        raise
    return bool(answer["taskDefinition"].get("status") == "ACTIVE")


def deregister_task_definition(cloud: Cloud, arn: str) -> None:
    cloud.call("ecs", "deregister_task_definition", taskDefinition=arn)


def delete_cluster(cloud: Cloud, arn: str) -> None:
    cloud.call("ecs", "delete_cluster", cluster=arn)


def delete_capacity_provider(cloud: Cloud, arn: str) -> None:
    """No error if it is gone. One of Managed Instances is known by its name within its cluster only: hence the ARN.

    The call itself succeeds even where the provider stays: then its answer says why (ekristen/aws-nuke#542).
    """
    try:
        answer = cloud.call("ecs", "delete_capacity_provider", capacityProvider=arn)
    except AwsError as error:
        if _NO_SUCH_PROVIDER in error.reason:
            return
        raise
    provider = answer.get("capacityProvider") or {}
    if provider.get("updateStatus") == DELETE_FAILED:
        why = provider.get("updateStatusReason") or "it gives no reason"
        raise AwsError(
            f"ECS keeps capacity provider {arn.rpartition('/')[2]}: {why}", code=DELETE_FAILED, reason=why
        )


@dataclass(frozen=True, slots=True)
class CapacityProvider:
    arn: str
    cluster: str
    """Of Managed Instances, the one that it belongs to; "" for an Auto Scaling group's."""
    state: str
    """ACTIVE, or how a change of it went: DELETE_FAILED, …"""
    why: str

    @property
    def is_kept(self) -> bool:
        """ECS answers a deletion with success, and says afterwards that it did not delete."""
        return self.state == DELETE_FAILED


def find_capacity_provider(cloud: Cloud, arn: str) -> CapacityProvider | None:
    """None when it is deleted."""
    try:
        answer = described(cloud, "describe_capacity_providers", capacityProviders=[arn])
    except AwsError as error:
        if _NO_SUCH_PROVIDER in error.reason:
            return None
        raise
    for raw in answer["capacityProviders"]:
        if raw.get("status") != "INACTIVE":
            state = raw.get("updateStatus") or raw.get("status", "")
            cluster = raw.get("cluster") or ""
            return CapacityProvider(
                raw["capacityProviderArn"], cluster, state, raw.get("updateStatusReason", "")
            )
    return None


def cluster_is_active(cloud: Cloud, arn: str) -> bool:
    found = described(cloud, "describe_clusters", clusters=[arn])["clusters"]
    return any(cluster.get("status") != "INACTIVE" for cluster in found)


def lone_task_runs(cloud: Cloud, arn: str) -> bool:
    """One that no service owns. The cluster's name is part of the task's ARN."""
    cluster = arn.split(":task/")[1].split("/")[0]
    try:
        found = describe_tasks(cloud, cluster, [arn])
    except AwsError as error:
        if error.code in _GONE:
            return False
        raise
    return any(not task.has_ended and not task.is_of_a_service for task in found)


def _service(raw: dict[str, Any]) -> Service:
    primary: dict[str, Any] = next(
        (one for one in raw.get("deployments") or () if one.get("status") == "PRIMARY"), {}
    )
    return Service(
        arn=raw["serviceArn"],
        name=raw["serviceName"],
        status=raw["status"],
        desired=raw.get("desiredCount", 0),
        running=raw.get("runningCount", 0),
        pending=raw.get("pendingCount", 0),
        events=tuple(
            ServiceEvent(event["id"], event.get("createdAt"), event.get("message", ""))
            for event in (raw.get("events") or ())[:_EVENTS_KEPT]
        ),
        rollout=primary.get("rolloutState", ""),
        rollout_reason=primary.get("rolloutStateReason", ""),
        tags=_tags(raw.get("tags")),
    )


def _task(raw: dict[str, Any]) -> Task:
    containers = raw.get("containers") or ()
    return Task(
        arn=raw["taskArn"],
        definition_arn=raw.get("taskDefinitionArn", ""),
        status=raw.get("lastStatus", ""),
        stop_code=raw.get("stopCode", ""),
        reason="; ".join(_reasons(raw.get("stoppedReason", ""), containers)),
        exit_codes=tuple(container.get("exitCode") for container in containers),
        started_by=raw.get("startedBy", ""),
    )


def _reasons(stopped: str, containers: Iterable[dict[str, Any]]) -> Iterator[str]:
    if stopped:
        yield stopped
    for container in containers:
        if container.get("reason"):
            yield f"{container.get('name', 'container')}: {container['reason']}"


def _tags(raw: Iterable[dict[str, str]] | None) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in raw or ()}
