"""A job as Batch describes it: the job, its nodes, its attempts."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from scripts.local_cloud.batch.definitions import JobDefinition
from scripts.local_cloud.batch.environments import JobQueue

FINAL = ("SUCCEEDED", "FAILED")
ESSENTIAL_EXITED = "Essential container in task exited"


def now_ms() -> int:
    return int(time.time() * 1000)


@dataclass
class Node:
    """One node of the current attempt. A container job has one."""

    index: int
    container: dict[str, Any]
    status: str = "SUBMITTED"
    status_reason: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    log_stream: str | None = None
    task_arn: str | None = None
    instance_arn: str | None = None
    address: str | None = None
    started: int | None = None
    stopped: int | None = None
    attempts: list[dict[str, Any]] = field(default_factory=list)

    def attempt(self) -> dict[str, Any]:
        container = {
            "containerInstanceArn": self.instance_arn,
            "taskArn": self.task_arn,
            "exitCode": self.exit_code,
            "reason": self.reason,
            "logStreamName": self.log_stream,
            "networkInterfaces": self._interfaces(),
        }
        return {
            "container": _given(container),
            **_given(
                {"startedAt": self.started, "stoppedAt": self.stopped, "statusReason": self.status_reason}
            ),
        }

    def container_detail(self) -> dict[str, Any]:
        details = {key: value for key, value in self.container.items() if key != "instanceType"}
        observed = self.attempt()["container"]
        return {**details, **observed}

    def fresh(self) -> Node:
        """The same node before a further attempt."""
        return Node(self.index, self.container, status="RUNNABLE", attempts=self.attempts)

    def _interfaces(self) -> list[dict[str, Any]]:
        return [{"privateIpv4Address": self.address}] if self.address else []


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, [])}


@dataclass
class Job:
    id: str
    name: str
    arn: str
    account: str
    region: str
    queue: JobQueue
    definition: JobDefinition
    main_node: int
    nodes: list[Node]
    tags: dict[str, str]
    parameters: dict[str, str]
    retry: dict[str, Any]
    timeout: dict[str, Any] | None
    propagate_tags: bool
    depends_on: list[dict[str, Any]]
    status: str = "SUBMITTED"
    status_reason: str | None = None
    environment_name: str = ""
    attempt: int = 0
    attempts: list[dict[str, Any]] = field(default_factory=list)
    created: int = field(default_factory=now_ms)
    started: int | None = None
    stopped: int | None = None
    runnable_since: float = 0.0
    cancelled: bool = False
    terminated: bool = False
    stop_reason: str | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)

    def set_status(self, status: str, reason: str | None = None) -> None:
        self.status = status
        self.status_reason = reason if reason is not None else self.status_reason

    def summary(self) -> dict[str, Any]:
        answer = {
            "jobArn": self.arn,
            "jobId": self.id,
            "jobName": self.name,
            "createdAt": self.created,
            "status": self.status,
            "jobDefinition": self.definition.arn,
            **_given(
                {"statusReason": self.status_reason, "startedAt": self.started, "stoppedAt": self.stopped}
            ),
        }
        if self.definition.multinode:
            answer["nodeProperties"] = {"numNodes": len(self.nodes), "isMainNode": False}
        else:
            answer["container"] = _given(
                {"exitCode": self.nodes[0].exit_code, "reason": self.nodes[0].reason}
            )
        return answer

    def node_summary(self, node: Node) -> dict[str, Any]:
        return {
            "jobArn": f"{self.arn}#{node.index}",
            "jobId": f"{self.id}#{node.index}",
            "jobName": self.name,
            "createdAt": self.created,
            "status": node.status,
            "jobDefinition": self.definition.arn,
            "container": _given({"exitCode": node.exit_code, "reason": node.reason}),
            "nodeProperties": self._position(node) | {"numNodes": len(self.nodes)},
            **_given(
                {"statusReason": node.status_reason, "startedAt": node.started, "stoppedAt": node.stopped}
            ),
        }

    def describe(self) -> dict[str, Any]:
        answer = self._shared(self.id, self.status, self.status_reason)
        answer |= {
            "attempts": list(self.attempts),
            **_given({"startedAt": self.started, "stoppedAt": self.stopped}),
        }
        if self.definition.multinode:
            properties = self.definition.registered["nodeProperties"]
            answer["nodeProperties"] = {**properties, "numNodes": len(self.nodes), "mainNode": self.main_node}
        else:
            answer["container"] = self.nodes[0].container_detail()
        return answer

    def describe_node(self, node: Node) -> dict[str, Any]:
        answer = self._shared(f"{self.id}#{node.index}", node.status, node.status_reason)
        answer |= {
            "jobArn": f"{self.arn}#{node.index}",
            "attempts": list(node.attempts),
            "container": node.container_detail(),
            "nodeDetails": self._position(node),
            **_given({"startedAt": node.started, "stoppedAt": node.stopped}),
        }
        return answer

    def _position(self, node: Node) -> dict[str, Any]:
        return {"nodeIndex": node.index, "isMainNode": node.index == self.main_node}

    def _shared(self, job_id: str, status: str, reason: str | None) -> dict[str, Any]:
        return {
            "jobArn": self.arn,
            "jobId": job_id,
            "jobName": self.name,
            "jobQueue": self.queue.arn,
            "status": status,
            "createdAt": self.created,
            "jobDefinition": self.definition.arn,
            "parameters": self.parameters,
            "retryStrategy": self.retry,
            "dependsOn": self.depends_on,
            "tags": dict(self.tags),
            "propagateTags": self.propagate_tags,
            "platformCapabilities": ["EC2"],
            "isCancelled": self.cancelled,
            "isTerminated": self.terminated,
            **_given({"statusReason": reason, "timeout": self.timeout}),
        }
