"""Nodes of fleets against an Auto Scaling and an ECS in memory: who is emptied, what is completed, who is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from scripts.aws.translation import AccessDeniedError, AwsError
from scripts.teardown import executor
from scripts.teardown.executor import Executor, Outcome
from scripts.teardown.fleet_nodes import NODE_REMOVALS, nodes
from scripts.teardown.model import Inventory, StackItem, Target
from scripts.teardown.scope import FleetScope, Scope
from stacks.domain.names import stack_names

HOOK, LAUNCH_HOOK = "ecs-managed-draining-termination-hook", "theirs"
ENDING, STARTING = "autoscaling:EC2_INSTANCE_TERMINATING", "autoscaling:EC2_INSTANCE_LAUNCHING"
NODES, REGISTERED = NODE_REMOVALS.values()
STACK = "pilot-fleet-chat"


@dataclass
class Group:
    minimum: int = 0
    desired: int = 1
    states: dict[str, str] = field(default_factory=lambda: {"i-1": "InService"})
    protected: set[str] = field(default_factory=set)

    def describe(self, name: str) -> dict[str, Any]:
        instances = [
            {"InstanceId": id_, "LifecycleState": state, "ProtectedFromScaleIn": id_ in self.protected}
            for id_, state in self.states.items()
        ]
        return {
            "AutoScalingGroupName": name,
            "MinSize": self.minimum,
            "MaxSize": 4,
            "DesiredCapacity": self.desired,
            "Instances": instances,
        }


@dataclass
class Aws:
    """A scale-in puts what is not protected into Terminating:Wait; a completed action ends it."""

    groups: dict[str, Group] = field(default_factory=dict)
    registered: list[dict[str, Any]] = field(default_factory=list)
    refused: dict[str, AwsError] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    poll_seconds: float = 1.0

    def call(self, service: str, operation: str, /, **given: Any) -> dict[str, Any]:
        if not operation.startswith("describe"):
            self.log.append(f"{operation} {given.get('AutoScalingGroupName') or given['containerInstance']}")
        if operation in self.refused:
            raise self.refused[operation]
        answer: dict[str, Any] = getattr(self, operation)(**given) or {}
        return answer

    def pages(self, service: str, operation: str, key: str, /, **given: Any) -> Iterator[str]:
        assert (service, operation) == ("ecs", "list_container_instances")
        if given["cluster"] == "gone":
            raise AwsError("", code="ClusterNotFoundException")
        yield from (one["containerInstanceArn"] for one in self.registered)

    def describe_auto_scaling_groups(self, **given: Any) -> dict[str, Any]:
        known = [name for name in given["AutoScalingGroupNames"] if name in self.groups]
        return {"AutoScalingGroups": [self.groups[name].describe(name) for name in known]}

    def update_auto_scaling_group(self, **given: Any) -> None:
        group = self._group(given["AutoScalingGroupName"])
        group.minimum, group.desired = given["MinSize"], given["DesiredCapacity"]
        for id_ in set(group.states) - group.protected:
            group.states[id_] = "Terminating:Wait"

    def set_instance_protection(self, **given: Any) -> None:
        assert not given["ProtectedFromScaleIn"]
        self._group(given["AutoScalingGroupName"]).protected -= set(given["InstanceIds"])

    def describe_lifecycle_hooks(self, **given: Any) -> dict[str, Any]:
        hooks = ((HOOK, ENDING), (LAUNCH_HOOK, STARTING))
        return {"LifecycleHooks": [{"LifecycleHookName": n, "LifecycleTransition": t} for n, t in hooks]}

    def complete_lifecycle_action(self, **given: str) -> None:
        assert (given["LifecycleHookName"], given["LifecycleActionResult"]) == (HOOK, "CONTINUE")
        del self._group(given["AutoScalingGroupName"]).states[given["InstanceId"]]

    def describe_container_instances(self, **given: Any) -> dict[str, Any]:
        asked = given["containerInstances"]
        return {
            "containerInstances": [one for one in self.registered if one["containerInstanceArn"] in asked]
        }

    def deregister_container_instance(self, **given: Any) -> None:
        assert given["force"]
        arn = given["containerInstance"]
        self.registered = [one for one in self.registered if one["containerInstanceArn"] != arn]

    def _group(self, name: str) -> Group:
        if name not in self.groups:
            raise AwsError("", code="ValidationError", reason="AutoScalingGroup name not found")
        return self.groups[name]


def container_instance(arn: str, status: str = "ACTIVE", connected: bool = True) -> dict[str, Any]:
    return {
        "containerInstanceArn": arn,
        "ec2InstanceId": f"i-{arn}",
        "status": status,
        "agentConnected": connected,
    }


def scope(*groups: str, clusters: tuple[str, ...] = (), stuck: tuple[str, ...] = ()) -> Scope:
    fleets = FleetScope(True, frozenset(clusters), frozenset(groups), frozenset(stuck))
    return Scope("pilot", fleets=fleets)


def found(aws: Aws, asked: Scope) -> list[tuple[str, str]]:
    return [(item.label, item.state) for item in nodes(aws, asked).loose]  # type: ignore[arg-type]


def test_groups_of_our_stacks_with_something_in_them_are_found_and_no_others() -> None:
    held = Group(desired=0, states={"i-1": "Terminating:Wait", "i-2": "InService", "i-3": "InService"})
    aws = Aws(
        {
            "runs": held,
            "empty": Group(desired=0, states={}),
            "wants": Group(states={}),
            "stuck": Group(),
            "theirs": Group(),
        }
    )
    asked = scope("runs", "empty", "wants", "stuck", "gone", stuck=("stuck",))
    assert found(aws, asked) == [
        ("nodes of Auto Scaling group runs", "2 InService, 1 Terminating:Wait"),
        ("nodes of Auto Scaling group wants", "1 wanted"),
    ]
    assert aws.log == []


def test_registered_instances_are_found_unless_they_are_nodes_of_a_group() -> None:
    aws = Aws({"runs": Group(states={"i-of-group": "InService"})}, [container_instance("of-group")])
    assert found(aws, scope("runs", clusters=("c", "gone"))) == [
        ("nodes of Auto Scaling group runs", "1 InService")
    ]
    aws.registered.append(container_instance("managed"))
    assert found(aws, scope("runs", clusters=("c",)))[1] == (
        "instances registered with ECS cluster c",
        "1 registered",
    )


def test_nodes_are_freed_from_protection_ended_and_let_go() -> None:
    aws = Aws({"g": Group(1, 2, {"i-1": "InService", "i-2": "InService"}, {"i-2"})})
    NODES.begin(aws, "g")  # type: ignore[arg-type]
    assert (aws.groups["g"].minimum, aws.groups["g"].desired) == (0, 0)
    standing = NODES.look(aws, "g")  # type: ignore[arg-type]
    assert standing is not None
    assert standing.state == "2 Terminating:Wait"
    assert NODES.look(aws, "g") is None  # type: ignore[arg-type]
    assert aws.log == [
        "set_instance_protection g",
        "update_auto_scaling_group g",
        "complete_lifecycle_action g",
        "complete_lifecycle_action g",
    ]


def test_a_count_that_somebody_raised_meanwhile_is_lowered_again() -> None:
    aws = Aws({"g": Group(0, 1, {})})
    assert NODES.look(aws, "g") is not None  # type: ignore[arg-type]
    assert NODES.look(aws, "g") is None  # type: ignore[arg-type]
    assert aws.log == ["update_auto_scaling_group g"]


def test_a_group_that_went_meanwhile_is_no_error() -> None:
    aws = Aws()
    NODES.begin(aws, "g")  # type: ignore[arg-type]
    assert NODES.look(aws, "g") is None  # type: ignore[arg-type]


def test_an_action_that_somebody_completed_is_no_error_and_any_other_refusal_is_one() -> None:
    aws = Aws({"g": Group(desired=0, states={"i-1": "Terminating:Wait"})})
    over = AwsError(
        "", code="ValidationError", reason="No active Lifecycle Action found with instance ID i-1"
    )
    aws.refused["complete_lifecycle_action"] = over
    assert NODES.look(aws, "g") is not None  # type: ignore[arg-type]
    aws.refused["complete_lifecycle_action"] = AwsError("", code="ResourceContention")
    with pytest.raises(AwsError):
        NODES.look(aws, "g")  # type: ignore[arg-type]


def test_registered_instances_are_waited_for_and_lost_ones_deregistered() -> None:
    aws = Aws(registered=[container_instance("a"), container_instance("lost", connected=False)])
    REGISTERED.begin(aws, "c")  # type: ignore[arg-type]
    assert aws.log == ["deregister_container_instance lost"]
    aws.registered = [container_instance("a", "DEREGISTERING", connected=False)]
    standing = REGISTERED.look(aws, "c")  # type: ignore[arg-type]
    assert standing is not None
    assert standing.state == "1 registered"
    aws.registered = []
    assert REGISTERED.look(aws, "c") is None  # type: ignore[arg-type]
    assert len(aws.log) == 1


@dataclass
class World:
    """A stack with one group; its deletion takes one look."""

    aws: Aws
    stack: str | None = "CREATE_COMPLETE"

    def take_inventory(self, cloud: Any, target: Target) -> Inventory:
        stacks = (StackItem(STACK, STACK, self.stack),) if self.stack else ()
        asked = scope("g", clusters=("c",)) if self.stack else scope()
        return Inventory(stacks=stacks, loose=nodes(self.aws, asked).loose)  # type: ignore[arg-type]

    def delete_stack(self, cloud: Any, stack_id: str) -> None:
        states = list(self.aws.groups["g"].states.values())
        self.aws.log.append(f"delete {stack_id} with {states}")
        self.stack = None

    def find_stack(self, cloud: Any, stack_id: str) -> None:
        return None


def destroyed(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome, list[str]]:
    said: list[str] = []
    monkeypatch.setattr(executor, "take_inventory", world.take_inventory)
    monkeypatch.setattr(executor, "cloudformation", world)
    target = Target("pilot", stack_names("pilot", (), ("chat",)), "CDKToolkit", ())
    work = Executor(world.aws, target, said.append, pause=lambda _: None)  # type: ignore[arg-type]
    return work.run(world.take_inventory(None, target)), said


def test_the_stack_goes_when_its_group_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(Aws({"g": Group()}))
    outcome, said = destroyed(world, monkeypatch)
    assert world.aws.log[-1] == f"delete {STACK} with []"
    assert [item.label for item in outcome.deleted] == [
        "nodes of Auto Scaling group g",
        f"stack {STACK}",
    ]
    assert said[0] == "delete nodes of Auto Scaling group g"
    assert outcome.failures == {}


@pytest.mark.parametrize("operation", ["update_auto_scaling_group", "complete_lifecycle_action"])
def test_a_missing_permission_costs_the_hour_and_not_the_deletion(
    monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    world = World(Aws({"g": Group()}))
    world.aws.refused[operation] = AccessDeniedError(f"not allowed: {operation}", "add it")
    outcome, said = destroyed(world, monkeypatch)
    assert world.stack is None
    assert [item.label for item in outcome.deleted] == [f"stack {STACK}"]
    assert f"  not deleted: nodes of Auto Scaling group g: not allowed: {operation}; add it" in said
    assert len([line for line in world.aws.log if line.startswith(operation)]) == 1


def test_nodes_that_never_end_are_waited_for_with_words_and_then_left_to_the_stack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(Aws({"g": Group()}))
    never = AwsError("", code="ValidationError", reason="No active Lifecycle Action found")
    world.aws.refused["complete_lifecycle_action"] = never
    monkeypatch.setattr(executor, "WAIT_MINUTES_MAX", 2)
    outcome, said = destroyed(world, monkeypatch)
    assert "  waiting for nodes of Auto Scaling group g (1 min): 1 Terminating:Wait" in said
    assert world.stack is None
    assert [item.kind for item in outcome.deleted] == ["stack"]
