# ruff: noqa: N803 (parameters as boto3 spells them)
"""The two sides of a shift in memory, as the controller's clients show them: slow, refusing, and cut off at any call."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError
from shift.handler import Clients

ACTIVE = ("SUBMITTED", "RUNNABLE", "STARTING", "RUNNING")
CAPACITY_NODES = 4
SERVICES = ("slice-0", "slice-1")
STATE_PARAMETER = "/neuronkit/pilot/shifts/day-state"


class CutOffError(Exception):
    """The function was killed: nothing after this call happened."""


@dataclass
class FakeJob:
    id: str
    name: str
    created_at: int
    status: str = "RUNNABLE"
    reason: str = ""
    is_asked: bool = False
    is_listed: bool = True
    request: dict[str, Any] = field(default_factory=dict)


def refused(operation: str, code: str = "ThrottlingException", message: str = "Rate exceeded") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


class FakeCloud:
    """`fault(operation)` says what befalls a call: None, "refused", "cut-before", "cut-after"."""

    def __init__(self, now: datetime, floor: int = 1) -> None:
        self.now = now
        self.fault: Callable[[str], str | None] = lambda _operation: None
        self.calls: list[str] = []
        self.is_open = True
        self.ranges = dict.fromkeys(SERVICES, (floor, floor))
        self.desired = dict.fromkeys(SERVICES, floor)
        self.instances = floor
        self.training_instances = 0
        self.jobs: list[FakeJob] = []
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.override = json.dumps({"mode": "auto", "until": None, "reason": ""})
        self.override_at = now
        self.state = "{}"
        self.metrics: dict[str, float] = {}
        self.stacks = {"pilot-fleet-chat", "pilot-cluster-train"}
        self.stubborn = False
        self.no_nodes = False
        self.forbidden: set[str] = set()
        self._numbers = itertools.count()
        self._etags = itertools.count()

    # --- the world goes on ---

    def later(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        self.progress()

    def progress(self) -> None:
        for job in self.jobs:
            job.is_listed = True
            if job.is_asked and job.status in ACTIVE and not (self.stubborn and job.status == "RUNNING"):
                job.status = "FAILED"
        running = [job for job in self.jobs if job.status == "RUNNING"]
        self.training_instances = max(len(running), self.training_instances - 1)
        wanted = max(self.desired.values())
        if self.instances > wanted:
            self.instances -= 1
        elif self.instances < wanted and not self.no_nodes and self._free() > 0:
            self.instances += 1
        for job in self.jobs:
            if job.status == "RUNNABLE" and not job.is_asked and self.is_open and self._free() > 0:
                job.status = "RUNNING"
                self.training_instances += 1

    def _free(self) -> int:
        return CAPACITY_NODES - self.instances - self.training_instances

    def launch(self, name: str) -> FakeJob:
        return self._submit(
            {"jobName": name, "jobQueue": "queue", "jobDefinition": "definition:1", "tags": tags_of(name)}
        )

    def _submit(self, request: dict[str, Any]) -> FakeJob:
        number = next(self._numbers)
        job = FakeJob(f"job-{number}", request["jobName"], self._created_ms(number), request=request)
        self.jobs.append(job)
        return job

    def _created_ms(self, number: int) -> int:
        return int(self.now.timestamp() * 1000) + number

    def active(self, name: str) -> list[FakeJob]:
        return [job for job in self.jobs if job.name == name and job.status in ACTIVE]

    def remembered_names(self) -> list[str]:
        return [
            json.loads(body)["name"] for key, (body, _) in self.objects.items() if key.startswith("shifts/")
        ]

    # --- calls ---

    def clients(self) -> Clients:
        batch = FakeClient(self)
        one = FakeClient(self)
        return Clients(one, one, one, one, one, one, batch, batch, one, one)

    def describe_stacks(self, StackName: str) -> dict[str, Any]:
        if StackName not in self.stacks:
            raise refused("DescribeStacks", "ValidationError", f"Stack with id {StackName} does not exist")
        outputs = {
            "EcsClusterName": "fleet", "ServiceNames": ",".join(SERVICES), "AutoScalingGroupName": "group",
            "ComputeEnvironmentArn": "environment", "JobQueueArn": "queue",
        }  # fmt: skip
        return {"Stacks": [{"Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in outputs.items()]}]}

    def get_parameter(self, Name: str) -> dict[str, Any]:
        if Name == STATE_PARAMETER:
            return {"Parameter": {"Value": self.state}}
        return {"Parameter": {"Value": self.override, "LastModifiedDate": self.override_at}}

    def put_parameter(self, Name: str, Value: str, Type: str, Overwrite: bool) -> dict[str, Any]:
        assert (Name, Type, Overwrite) == (STATE_PARAMETER, "String", True)
        assert len(Value.encode()) <= 4096
        self.state = Value
        return {}

    def describe_services(self, cluster: str, services: list[str]) -> dict[str, Any]:
        return {
            "services": [
                {
                    "serviceName": n,
                    "desiredCount": self.desired[n],
                    "runningCount": min(self.desired[n], self.instances),
                }
                for n in services
            ]
        }

    def describe_scalable_targets(
        self, ServiceNamespace: str, ResourceIds: list[str], ScalableDimension: str
    ) -> Any:
        return {
            "ScalableTargets": [
                {"ResourceId": f"service/fleet/{n}", "MinCapacity": low, "MaxCapacity": high}
                for n, (low, high) in self.ranges.items()
            ]
        }

    def describe_auto_scaling_groups(self, AutoScalingGroupNames: list[str]) -> dict[str, Any]:
        return {"AutoScalingGroups": [{"Instances": [{}] * self.instances}]}

    def register_scalable_target(
        self, *, ResourceId: str, MinCapacity: int, MaxCapacity: int, **_: Any
    ) -> Any:
        assert MinCapacity <= MaxCapacity
        self.ranges[ResourceId.rpartition("/")[2]] = (MinCapacity, MaxCapacity)
        return {}

    def update_service(self, cluster: str, service: str, desiredCount: int) -> dict[str, Any]:
        self.desired[service] = desiredCount
        return {}

    def describe_instances(self, Filters: list[dict[str, Any]]) -> dict[str, Any]:
        names = {one["Name"] for one in Filters}
        assert names == {"tag:neuronkit:environment", "tag:neuronkit:cluster", "instance-state-name"}
        return {"Reservations": [{"Instances": [{}] * self.training_instances}]}

    def describe_compute_environments(self, computeEnvironments: list[str]) -> dict[str, Any]:
        state = "ENABLED" if self.is_open else "DISABLED"
        return {"computeEnvironments": [{"state": state, "status": "VALID"}]}

    def update_compute_environment(self, computeEnvironment: str, state: str) -> dict[str, Any]:
        self.is_open = state == "ENABLED"
        return {}

    def list_jobs(self, jobQueue: str, jobStatus: str | None = None, filters: Any = ()) -> dict[str, Any]:
        name = filters[0]["values"][0] if filters else None
        found = [
            {"jobId": j.id, "jobName": j.name, "status": j.status, "createdAt": j.created_at}
            for j in self.jobs
            if j.is_listed and (j.name == name if name else j.status == jobStatus)
        ]
        return {"jobSummaryList": found}

    def describe_jobs(self, jobs: list[str]) -> dict[str, Any]:
        return {
            "jobs": [
                {
                    "jobId": j.id, "jobName": j.name, "status": j.status, "statusReason": j.reason,
                    "createdAt": j.created_at, "jobQueue": "queue", "jobDefinition": "definition:1",
                    "tags": tags_of(j.name), "propagateTags": True, "nodeProperties": {
                        "numNodes": 2, "nodeRangeProperties": [{"targetNodes": "0:1", "container": {}}]},
                }
                for j in self.jobs
                if j.id in jobs
            ]
        }  # fmt: skip

    def terminate_job(self, jobId: str, reason: str) -> dict[str, Any]:
        if jobId in self.forbidden:
            raise refused("TerminateJob", "AccessDeniedException", "no tag allows it")
        (job,) = [j for j in self.jobs if j.id == jobId]
        if job.status in ACTIVE and not job.is_asked:
            job.is_asked, job.reason = True, reason
        return {}

    def submit_job(self, **request: Any) -> dict[str, Any]:
        job = self._submit(request)
        job.is_listed = False
        return {"jobId": job.id}

    def list_objects_v2(self, Bucket: str, Prefix: str) -> dict[str, Any]:
        return {"Contents": [{"Key": key} for key in sorted(self.objects) if key.startswith(Prefix)]}

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self.objects:
            raise refused("GetObject", "NoSuchKey", "The specified key does not exist.")
        body, etag = self.objects[Key]
        return {"Body": io.BytesIO(body), "ETag": etag}

    def put_object(
        self, Bucket: str, Key: str, Body: bytes, ContentType: str, IfMatch: str | None = None
    ) -> Any:
        if IfMatch is not None and self.objects.get(Key, (b"", ""))[1] != IfMatch:
            raise refused(
                "PutObject", "PreconditionFailed", "At least one of the pre-conditions did not hold"
            )
        self.objects[Key] = (Body, f"etag-{next(self._etags)}")
        return {}

    def delete_object(self, Bucket: str, Key: str) -> dict[str, Any]:
        self.objects.pop(Key, None)
        return {}

    def put_metric_data(self, Namespace: str, MetricData: list[dict[str, Any]]) -> dict[str, Any]:
        assert Namespace == "neuronkit/serving"
        self.metrics = {one["MetricName"]: one["Value"] for one in MetricData}
        return {}


def tags_of(name: str) -> dict[str, str]:
    """A job of `theirs` was not launched by the kit."""
    if name == "theirs":
        return {"aws:internal": "x"}
    return {"neuronkit:job": "smoke", "neuronkit:run": name, "aws:internal": "x"}


class FakeClient:
    """Every operation of FakeCloud, each of which may fail; pages come one by one."""

    def __init__(self, cloud: FakeCloud) -> None:
        self._cloud = cloud

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            cloud = self._cloud
            cloud.calls.append(operation)
            fault = cloud.fault(operation)
            if fault == "refused":
                raise refused(operation)
            if fault == "cut-before":
                raise CutOffError(operation)
            answer = getattr(cloud, operation)(**arguments)
            if fault == "cut-after":
                raise CutOffError(operation)
            if fault == "lost":
                raise refused(operation, "InternalFailure", "the answer was lost")
            return answer

        return call

    def get_paginator(self, operation: str) -> Any:
        client = self

        class Pages:
            def paginate(self, **arguments: Any) -> Iterator[Any]:
                yield getattr(client, operation)(**arguments)

        return Pages()


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
