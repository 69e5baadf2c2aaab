"""The compile task on `deploy`'s way: once, resumed, failing with words, and nothing left of it. No container runs."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from subprocess import Popen
from typing import Any

import pytest

from tests.integration.conftest import PilotFactory
from tests.integration.killing import killed_at
from tests.integration.local_cloud.serving_world import until
from tests.integration.pilots import Pilot

pytestmark = [
    pytest.mark.local_cloud,
    pytest.mark.node,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("fleets"),
]
STACK = "pilot-fleet-chat"


@pytest.fixture
def pilot(new_pilot: PilotFactory) -> Iterator[Pilot]:
    made = new_pilot("inf2-serving")
    yield made
    made.admin("DELETE", "faults")


def outputs(pilot: Pilot) -> dict[str, str]:
    (stack,) = pilot.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}


def compile_tasks(pilot: Pilot) -> list[dict[str, Any]]:
    """Those that ECS knows, the ended ones too, oldest first."""
    cluster, ecs = outputs(pilot)["EcsClusterName"], pilot.client("ecs")
    arns = [
        arn
        for status in ("RUNNING", "STOPPED")
        for arn in ecs.list_tasks(cluster=cluster, desiredStatus=status)["taskArns"]
    ]
    found = ecs.describe_tasks(cluster=cluster, tasks=arns, include=["TAGS"])["tasks"] if arns else []
    ours = [one for one in found if one.get("startedBy") == "neuronkit-compile"]
    return sorted(ours, key=lambda one: one["createdAt"])


def desired(pilot: Pilot) -> int:
    given = outputs(pilot)
    (service,) = pilot.client("ecs").describe_services(
        cluster=given["EcsClusterName"], services=[given["ServiceNames"]]
    )["services"]
    return int(service["desiredCount"])


def least(pilot: Pilot) -> int:
    """Below it scaling does not go, however idle the fleet is."""
    scaling = pilot.client("application-autoscaling")
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"]
    return int(target["MinCapacity"])


def note(pilot: Pilot) -> str | None:
    s3 = pilot.client("s3")
    (bucket,) = [one["Name"] for one in s3.list_buckets()["Buckets"] if "cdk" not in one["Name"]]
    found = s3.list_objects_v2(Bucket=bucket, Prefix="fleets/chat/compiled.json").get("Contents")
    return s3.get_object(Bucket=bucket, Key=found[0]["Key"])["Body"].read().decode() if found else None


def nothing_left(pilot: Pilot) -> None:
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert pilot.json("leftovers")["leftovers"] == []
    assert not nodes(pilot)


def nodes(pilot: Pilot) -> list[Any]:
    states = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    return list(pilot.client("ec2").describe_instances(Filters=states)["Reservations"])


def read_until(process: Popen[str], words: str) -> None:
    deadline = time.monotonic() + 200
    assert process.stdout is not None
    said = ""
    while words not in (line := process.stdout.readline()):
        said += line
        assert line, f"the command ended before it said {words!r}:\n{said}"
        assert time.monotonic() < deadline, said


def kill(process: Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)


def kill_while_it_compiles(pilot: Pilot) -> None:
    """SIGKILL for `deploy` once its compile task runs; the task goes on, and does not end by itself."""
    pilot.admin("POST", "faults", {"service": "ecs-task", "action": "ExitTask", "times": None})
    process = pilot.start("deploy", "--yes")
    try:
        read_until(process, "compile task RUNNING")
    finally:
        kill(process)


def test_a_compile_that_fails_starts_nothing_and_the_next_deploy_resumes(pilot: Pilot) -> None:
    """The stack is rolled back, nobody takes the task, it cannot start, it ends badly: each with its words; after them the
    fleet serves, and scaling leaves it its replica."""
    refused = {
        "resource_type": "AWS::ApplicationAutoScaling::ScalableTarget",
        "action": "create",
        "message": "no",
    }
    pilot.admin("POST", "faults", {**refused, "times": 1})
    pilot.run("deploy", "--yes", code=3)
    assert pilot.stack_states()[STACK] == "ROLLBACK_COMPLETE"
    pilot.admin(
        "POST", "faults", {"service": "ecs-task", "action": "PlaceTask", "message": "RESOURCE:MEMORY"}
    )
    failed = pilot.run("deploy", "--yes", code=3)
    assert "ECS starts no task of" in failed.stderr
    assert "RESOURCE:MEMORY" in failed.stderr
    assert (desired(pilot), compile_tasks(pilot)) == (0, [])
    pilot.admin(
        "POST",
        "faults",
        {
            "service": "ecs-task",
            "action": "RunTask",
            "message": "CannotPullContainerError: pull image manifest has been retried 5 time(s)",
            "times": 1,
        },
    )
    failed = pilot.run("deploy", "--yes", code=3)
    assert (
        "exit codes none; TaskFailedToStart; CannotPullContainerError: pull image manifest" in failed.stderr
    )
    assert f"its log is in log group {outputs(pilot)['LogGroupName']}" in failed.stderr
    assert "when the cause is gone, the same command compiles again" in failed.stderr
    assert (desired(pilot), note(pilot)) == (0, None)
    pilot.admin(
        "POST",
        "faults",
        {
            "service": "ecs-task",
            "action": "ExitTask",
            "exit_code": 137,
            "message": "OutOfMemoryError: Container killed due to memory usage",
            "times": 1,
        },
    )
    failed = pilot.run("deploy", "--yes", code=3)
    assert "exit codes 137; EssentialContainerExited; Essential container in task exited" in failed.stderr
    assert "OutOfMemoryError: Container killed due to memory usage" in failed.stderr
    assert (desired(pilot), note(pilot)) == (0, None)
    said = pilot.run("deploy", "--yes").stderr
    assert "the compile task ended well" in said
    first, second, third = compile_tasks(pilot)
    assert [one["containers"][0].get("exitCode") for one in (first, second, third)] == [None, 137, 0]
    assert "no container runs" in third["containers"][0]["reason"]
    assert {"key": "neuronkit:fleet", "value": "chat"} in third["tags"]
    assert (desired(pilot), note(pilot)) == (1, outputs(pilot)["CompileTaskDefinitionArn"])
    assert least(pilot) == 1
    assert "compile task" not in pilot.run("deploy", "--yes").stderr, "it is compiled"
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    nothing_left(pilot)


def test_killed_while_it_compiles_the_next_deploy_joins_the_task(pilot: Pilot) -> None:
    kill_while_it_compiles(pilot)
    (task,) = compile_tasks(pilot)
    assert (task["lastStatus"], desired(pilot)) == ("RUNNING", 0)
    process = pilot.start("deploy", "--yes")
    try:
        read_until(process, f"joined compile task {task['taskArn'].rpartition('/')[2]}")
        pilot.admin("DELETE", "faults")
        read_until(process, "the compile task ended well")
    finally:
        kill(process)
    assert note(pilot) == outputs(pilot)["CompileTaskDefinitionArn"]
    pilot.run("deploy", "--yes")
    assert [one["taskArn"] for one in compile_tasks(pilot)] == [task["taskArn"]]
    assert (desired(pilot), least(pilot)) == (1, 1)


def test_what_ended_well_while_nobody_looked_is_not_compiled_again(pilot: Pilot) -> None:
    """The command was killed in the middle of RunTask: its task starts nevertheless, and comes to its end."""
    killed_at(pilot, {"service": "ecs", "action": "RunTask"}, "deploy", "--yes")
    until(lambda: [one["lastStatus"] for one in compile_tasks(pilot)] == ["STOPPED"])
    assert note(pilot) is None
    said = pilot.run("deploy", "--yes").stderr
    assert "the compile task ended well" in said
    assert (len(compile_tasks(pilot)), desired(pilot)) == (1, 1)


def test_destroy_while_the_task_compiles_leaves_nothing(pilot: Pilot) -> None:
    kill_while_it_compiles(pilot)
    (task,) = compile_tasks(pilot)
    refused = pilot.run("leftovers", code=3).stdout
    assert task["taskArn"].rpartition("/")[2] in refused
    gone = pilot.json("destroy", "--yes")
    assert gone["leftovers"] == []
    assert "ECS task" in {one["kind"] for one in gone["deleted"]}
    nothing_left(pilot)


def test_a_compile_without_chips_needs_no_node(new_pilot: PilotFactory) -> None:
    """On Fargate, with a network interface of its own: no node starts before it has ended well."""
    pilot = new_pilot("trn2-serving")
    text = pilot.file.read_text()
    # Nobody buys a block for a test.
    text = re.sub(r"kind: capacity-block.*", "kind: on-demand", text)
    pilot.file.write_text(re.sub(r"\n    id: null .*cr-.*", "", text))
    kill_while_it_compiles(pilot)
    try:
        (task,) = compile_tasks(pilot)
        assert (task["launchType"], task["lastStatus"]) == ("FARGATE", "RUNNING")
        assert not nodes(pilot)
    finally:
        pilot.admin("DELETE", "faults")
    said = pilot.run("deploy", "--yes").stderr
    assert "the compile task ended well" in said
    assert nodes(pilot)
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    nothing_left(pilot)
