"""A fleet of two slices on ECS, as its calls see it: a test sets what is there and what becomes of it."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from scripts.aws.cloudformation import Stack
from scripts.aws.translation import AwsError
from stacks.domain import names
from stacks.domain.plan import Plan
from tests.environments import plan_of
from tests.unit.scripts.fakes import a_stack

FLEET: dict[str, Any] = {
    "instance_type": "inf2.24xlarge",
    "capacity": "hourly",
    "engine": "vllm-nxdi",
    "model": {
        "name": "llama", "source": "hf:a/b", "family": "llama", "parameters_billions": 8.0,
        "layers": 32, "attention_heads": 32, "key_value_heads": 8, "head_size": 128,
    },
    "tensor_parallel": 4,
    "replicas": {"minimum": 2, "maximum": 4, "per_node": 2},
}  # fmt: skip
FALLBACK: dict[str, Any] = {"instance_type": "g6e.xlarge", "capacity": "hourly"}
NEURON, GPU, WAKER = "arn:tg/neuron", "arn:tg/gpu", "arn:tg/waker"
RULE, COMPILE = "arn:rule", "arn:aws:ecs:us-east-2:1:task-definition/compile:3"


def fleet_plan(**changes: Any) -> Plan:
    return plan_of({"fleets.chat": {**FLEET, **changes}})


class World:
    """Stands in for a `Cloud`: answers calls from what is set here; `calls` are the changing ones."""

    region, account, is_local, poll_seconds, name = "us-east-2", "111122223333", False, 60.0, "AWS"

    def __init__(self) -> None:
        self.services = {name: self.service(name) for name in ("s0", "s1", "gpu")}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.health: dict[str, list[str]] = {NEURON: [], GPU: []}
        self.weights = {NEURON: 100, GPU: 0, WAKER: 0}
        self.parameters: dict[str, Any] = {}
        self.objects: dict[str, bytes] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.tokens: list[str] = []
        self.refused: dict[str, str] = {}
        self.activities: list[dict[str, str]] = []
        self.group = {"AutoScalingGroupName": "asg", "DesiredCapacity": 1, "MaxSize": 2, "Instances": []}
        self.on_pause: list[Callable[[], None]] = []
        self.said: list[str] = []
        self.ids = itertools.count(1)

    @staticmethod
    def service(name: str, **more: Any) -> dict[str, Any]:
        return {
            "serviceArn": f"arn:service/{name}", "serviceName": name, "status": "ACTIVE", "desiredCount": 0,
            "runningCount": 0, "pendingCount": 0, "events": [], "deployments": [{"status": "PRIMARY", "rolloutState": "COMPLETED"}],
            **more,
        }  # fmt: skip

    def call(self, service: str, operation: str, /, **parameters: Any) -> dict[str, Any]:
        if operation in self.refused:
            raise AwsError("not allowed", code=self.refused[operation])
        answer: Callable[..., dict[str, Any]] = getattr(self, f"_{operation}")
        return answer(**parameters)

    def pages(self, service: str, operation: str, key: str, /, **parameters: Any) -> Iterator[Any]:
        yield from self.call(service, operation, **parameters)[key]

    def pause(self, _: float) -> None:
        """One step of the world's own course for each."""
        if self.on_pause:
            self.on_pause.pop(0)()

    def event(self, service: str, message: str) -> None:
        self.services[service]["events"].insert(0, {"id": str(next(self.ids)), "message": message})

    def serve(self, nodes: int = 1) -> None:
        """What is wanted runs, and its targets are healthy."""
        for one in self.services.values():
            one["runningCount"] = one["desiredCount"]
        self.health[NEURON] = ["healthy"] * 2 * nodes

    def _describe_services(self, cluster: str, services: list[str], include: list[str]) -> dict[str, Any]:
        return {"services": [self.services[name] for name in services if name in self.services]}

    def _update_service(self, cluster: str, service: str, desiredCount: int) -> dict[str, Any]:  # noqa: N803
        self.calls.append(("desired", service, desiredCount))
        self.services[service]["desiredCount"] = desiredCount
        return {}

    def _run_task(self, **parameters: Any) -> dict[str, Any]:
        arn = f"arn:task/{next(self.ids)}"
        self.calls.append(
            (
                "run",
                parameters["taskDefinition"],
                parameters["capacityProviderStrategy"][0]["capacityProvider"],
            )
        )
        self.tokens.append(parameters["clientToken"])
        task = {
            "taskArn": arn,
            "taskDefinitionArn": parameters["taskDefinition"],
            "lastStatus": "PENDING",
            "startedBy": parameters["startedBy"],
            "containers": [{"name": "engine"}],
        }
        self.tasks[arn] = task
        return {"tasks": [dict(task)]}

    def _stop_task(self, cluster: str, task: str, reason: str) -> dict[str, Any]:
        self.calls.append(("stop", task))
        return {}

    def _list_tasks(self, cluster: str, desiredStatus: str) -> dict[str, Any]:  # noqa: N803
        stopped = desiredStatus == "STOPPED"
        return {
            "taskArns": [arn for arn, t in self.tasks.items() if (t["lastStatus"] == "STOPPED") == stopped]
        }

    def _describe_tasks(self, cluster: str, tasks: list[str]) -> dict[str, Any]:
        return {"tasks": [dict(self.tasks[arn]) for arn in tasks if arn in self.tasks]}

    def end_task(self, code: int | None, reason: str = "") -> None:
        for task in self.tasks.values():
            task |= {"lastStatus": "STOPPED", "stopCode": "EssentialContainerExited", "stoppedReason": reason}
            task["containers"] = [{"name": "engine", **({} if code is None else {"exitCode": code})}]

    def _describe_target_health(self, TargetGroupArn: str) -> dict[str, Any]:  # noqa: N803
        states = self.health[TargetGroupArn]
        return {
            "TargetHealthDescriptions": [
                {"TargetHealth": {"State": s, "Description": f"is {s}"}} for s in states
            ]
        }

    def _describe_rules(self, RuleArns: list[str]) -> dict[str, Any]:  # noqa: N803
        groups = [{"TargetGroupArn": arn, "Weight": weight} for arn, weight in self.weights.items()]
        return {"Rules": [{"Actions": [{"Type": "forward", "ForwardConfig": {"TargetGroups": groups}}]}]}

    def _get_object(self, Bucket: str, Key: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        if Key not in self.objects:
            raise AwsError("no", code="NoSuchKey")
        return {"Body": io.BytesIO(self.objects[Key]), "ContentLength": len(self.objects[Key])}

    def _put_object(self, Bucket: str, Key: str, Body: bytes, **_: Any) -> dict[str, Any]:  # noqa: N803
        self.objects[Key] = Body
        return {}

    def _describe_auto_scaling_groups(self, **_: Any) -> dict[str, Any]:
        return {"AutoScalingGroups": [self.group]}

    def _describe_scaling_activities(self, **_: Any) -> dict[str, Any]:
        return {"Activities": self.activities}

    def _get_parameter(self, Name: str) -> dict[str, Any]:  # noqa: N803
        if Name not in self.parameters:
            raise AwsError("no", code="ParameterNotFound")
        return {"Parameter": {"Value": json.dumps(self.parameters[Name])}}


def first(stack: Stack) -> Stack:
    """As a creation leaves it: services without a task."""
    return replace(stack, parameters={names.PARAMETER_FIRST_DEPLOY: "true"})


def stacks_of(plan: Plan, **more: str) -> dict[str, Stack]:
    outputs = {
        names.OUTPUT_ECS_CLUSTER: "c",
        names.OUTPUT_SERVICES: "s0,s1",
        names.OUTPUT_LOAD_BALANCER_DNS_NAME: "lb.internal",
        names.OUTPUT_NEURON_TARGET_GROUP: NEURON,
        names.OUTPUT_LISTENER_RULE: RULE,
        names.OUTPUT_LOG_GROUP: "/pilot/chat",
        names.OUTPUT_AUTO_SCALING_GROUP: "asg",
        **more,
    }
    made = {name: a_stack(name) for name in plan.stacks.all}
    made[plan.stacks.storage] = a_stack(plan.stacks.storage, outputs={names.OUTPUT_BUCKET: "b"})
    made[plan.stacks.of_fleet("chat")] = a_stack(plan.stacks.of_fleet("chat"), outputs=outputs)
    return made
