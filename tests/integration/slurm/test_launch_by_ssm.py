"""A Slurm cluster of the local cloud as a user works with it: launch, follow, status, logs and cancel over the login node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.conftest import PilotFactory
from tests.integration.killing import killed_at
from tests.integration.pilots import Pilot
from tests.slurm import needs_slurm, wait_for

pytestmark = [
    *needs_slurm,
    pytest.mark.local_cloud,
    pytest.mark.node,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("launch_by_ssm"),
]
COMMAND = '[python3, train.py, --steps, "60", --checkpoint-every, "20"]'


@pytest.fixture
def deployed(new_pilot: PilotFactory) -> Iterator[Pilot]:
    pilot = new_pilot("trn1-slurm")
    pilot.run("image build", "--yes")
    pilot.run("lock")
    pilot.run("deploy", "--yes")
    yield pilot
    pilot.admin("DELETE", "faults")
    pilot.run("destroy", "--yes")
    assert pilot.json("leftovers")["leftovers"] == []


def with_command(pilot: Pilot, command: str, attempts: int = 1) -> None:
    text = pilot.file.read_text()
    pilot.file.write_text(text.replace(COMMAND, command).replace("attempts: 2", f"attempts: {attempts}"))


def runs(pilot: Pilot) -> dict[str, dict[str, Any]]:
    return {run["run"]: run for run in pilot.json("status")["runs"]}


def test_launch_follow_logs_and_resume(deployed: Pilot) -> None:
    followed = deployed.run("launch", "smoke", "--follow")
    assert "[0] step 60/60" in followed.stdout
    assert "[job] neuronkit: ended: COMPLETED" in followed.stdout
    assert "smoke-1: COMPLETED" in followed.stderr
    status = deployed.json("status")
    assert [run["state"] for run in status["runs"]] == ["COMPLETED"]
    assert status["runs"][0]["step"] == 60
    (cluster,) = status["clusters"]
    assert (cluster["pcs_cluster"], cluster["login_node"]) == ("ACTIVE", "answers")
    assert cluster["node_groups"] == [{"name": "trn1-32xlarge", "status": "ACTIVE", "nodes": "4 idle"}]

    document = deployed.json("logs", "smoke-1", "--node", "2")
    assert document["state"] == "COMPLETED"
    assert any("rank 2 of 4" in line for line in document["lines"])
    assert not any("step 60/60" in line for line in document["lines"])
    assert "no node 4" in deployed.run("logs", "smoke-1", "--node", "4", code=2).stderr

    resumed = deployed.json("launch", "smoke", "--resume", "smoke-1:20", "--follow")
    assert (resumed["run"], resumed["state"], resumed["nodes"]) == ("smoke-2", "COMPLETED", 4)
    assert losses(deployed, "smoke-2") == {
        step: loss for step, loss in losses(deployed, "smoke-1").items() if step > 20
    }


def losses(pilot: Pilot, run: str) -> dict[int, float]:
    s3 = pilot.client("s3")
    bucket = next(b["Name"] for b in s3.list_buckets()["Buckets"] if b["Name"].startswith("pilot-storage"))
    body = s3.get_object(Bucket=bucket, Key=f"runs/smoke/{run}/metrics.jsonl")["Body"].read()
    return {row["step"]: row["loss"] for row in map(json.loads, body.splitlines())}


def test_killed_at_every_step_one_run_is_started_and_a_cancelled_one_is_told(deployed: Pilot) -> None:
    with_command(deployed, "[sleep, '600']")
    for fault in (
        {"service": "s3", "action": "PutObject"},
        {"service": "ssm", "action": "SendCommand"},
        {"service": "ssm", "action": "GetCommandInvocation"},
    ):
        killed_at(deployed, fault, "launch", "smoke")
    launched = deployed.json("launch", "smoke")
    assert launched["run"] == "smoke-1"
    assert list(runs(deployed)) == ["smoke-1"]
    again = [
        subprocess.Popen(
            deployed.command("launch", "smoke", "--json"),
            cwd=deployed.directory,
            env=deployed.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    answers = [json.loads(process.communicate(timeout=120)[0]) for process in again]
    assert {answer["scheduler_id"] for answer in answers} == {launched["scheduler_id"]}

    waiting = deployed.json("launch", "smoke", "--run", "second")
    assert waiting["state"] == "PENDING"
    wait_for("its reason", lambda: "Slurm says" in " ".join(runs(deployed)["second"]["why"]))
    for run in ("second", "smoke-1"):
        assert "being stopped" in deployed.run("status", "--cancel", run).stderr
        wait_for("its end", lambda run=run: runs(deployed)[run]["state"] == "CANCELLED")  # type: ignore[misc]
    assert "already ended: CANCELLED" in deployed.run("status", "--cancel", "second").stderr


def test_a_failing_node_is_named_and_a_refusal_has_slurms_words(deployed: Pilot) -> None:
    with_command(deployed, COMMAND.replace('"20"]', '"20", --fail-at-step, "5", --fail-rank, "2"]'))
    failed = deployed.run("launch", "smoke", "--follow", code=4)
    assert "run smoke-1 failed: its script ended with an error" in failed.stderr
    assert "node 2 (trn1-32xlarge-3): exit code 17" in failed.stderr, failed.stderr

    on_login_node(deployed, "scontrol update PartitionName=train State=INACTIVE")
    refused = deployed.run("launch", "smoke", code=3)
    assert "Slurm refuses run smoke-2" in refused.stderr
    assert "partition not available" in refused.stderr
    on_login_node(deployed, "scontrol update PartitionName=train State=UP")

    text = deployed.file.read_text()
    deployed.file.write_text(text.replace("nodes: 4\n", "nodes: 5\n"))
    too_many = deployed.run("launch", "smoke", code=3)
    assert "the deployed cluster train takes 4 nodes, the job asks for 5" in too_many.stderr


def login_node(deployed: Pilot) -> dict[str, Any]:
    (instance,) = [
        instance
        for reservation in deployed.client("ec2").describe_instances()["Reservations"]
        for instance in reservation["Instances"]
        if any(tag["Key"] == "aws:pcs:compute-node-group-id" for tag in instance.get("Tags", ()))
        and instance["InstanceType"].startswith("c6i")
    ]
    return dict(instance)


def on_login_node(deployed: Pilot, command: str) -> None:
    ssm, node = deployed.client("ssm"), login_node(deployed)["InstanceId"]
    sent = ssm.send_command(
        InstanceIds=[node], DocumentName="AWS-RunShellScript", Parameters={"commands": [command]}
    )["Command"]["CommandId"]
    waiter = ssm.get_waiter("command_executed")
    waiter.wait(CommandId=sent, InstanceId=node, WaiterConfig={"Delay": 1, "MaxAttempts": 30})


def test_a_login_node_that_does_not_answer_is_said(deployed: Pilot) -> None:
    instance = login_node(deployed)
    deployed.admin("POST", "settings", {"time_scale": 30})
    deployed.admin("POST", "faults", {"service": "login-node", "times": None})
    silent = deployed.run("launch", "smoke", code=3)
    assert f"the login node {instance['InstanceId']} does not answer" in silent.stderr
    status = deployed.run("status")
    assert "PCS cluster ACTIVE" in status.stdout
    assert "login node does not answer" in status.stdout
    deployed.admin("DELETE", "faults")
    deployed.admin("POST", "settings", {"time_scale": 1})
    deployed.client("ec2").stop_instances(InstanceIds=[instance["InstanceId"]])
    stopped = deployed.run("launch", "smoke", code=3)
    assert f"the login node {instance['InstanceId']} is stopp" in stopped.stderr
    assert "start-instances" in stopped.stderr
