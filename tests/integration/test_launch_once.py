"""A run is started once: by launches at the same time, and by launches that were killed at any step."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.conftest import PilotFactory
from tests.integration.killing import killed_at
from tests.integration.pilots import Pilot

pytestmark = [
    pytest.mark.local_cloud,
    pytest.mark.node,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("launch_once"),
]
LAUNCHES = 4


@pytest.fixture
def deployed(new_pilot: PilotFactory) -> Iterator[Pilot]:
    pilot = new_pilot()
    text = pilot.file.read_text()
    pilot.file.write_text(
        text.replace('[python3, train.py, --steps, "60", --checkpoint-every, "20"]', "[sleep, '60']")
    )
    pilot.run("deploy", "--yes")
    yield pilot
    pilot.admin("DELETE", "faults")
    pilot.run("destroy", "--yes")


def jobs(pilot: Pilot) -> list[dict[str, Any]]:
    batch = pilot.client("batch")
    (queue,) = batch.describe_job_queues()["jobQueues"]
    found = batch.list_jobs(
        jobQueue=queue["jobQueueArn"], filters=[{"name": "JOB_NAME", "values": ["smoke-*"]}]
    )
    return list(found["jobSummaryList"])


STEPS: list[dict[str, Any]] = [
    {"service": "s3", "action": "ListObjectsV2"},
    {"service": "s3", "action": "PutObject"},
    {"service": "batch", "action": "DescribeJobDefinitions"},
    {"service": "batch", "action": "RegisterJobDefinition"},
    {"service": "batch", "action": "SubmitJob"},
]


def test_killed_at_every_step_one_run_is_started(deployed: Pilot) -> None:
    for fault in STEPS:
        killed_at(deployed, fault, "launch", "smoke")
    launched = deployed.json("launch", "smoke")
    assert launched["run"] == "smoke-1"
    assert [(job["jobName"], job["jobId"]) for job in jobs(deployed)] == [
        ("smoke-1", launched["scheduler_id"])
    ]
    assert deployed.json("launch", "smoke")["scheduler_id"] == launched["scheduler_id"]


def test_launches_at_the_same_time_start_one_run(deployed: Pilot) -> None:
    processes = [
        subprocess.Popen(
            deployed.command("launch", "smoke", "--json"),
            cwd=deployed.directory,
            env={**deployed.environment, **elsewhere(deployed, index)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(LAUNCHES)
    ]
    answers = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert {answer["run"] for answer in answers} == {"smoke-1"}
    assert len({answer["scheduler_id"] for answer in answers}) == 1
    assert len(jobs(deployed)) == 1


def elsewhere(pilot: Pilot, index: int) -> dict[str, str]:
    """Half of them do not see the others' lock, as if they ran on another machine: only the claim keeps them apart."""
    if index % 2 == 0:
        return {}
    directory = pilot.directory / f"machine-{index}"
    directory.mkdir()
    return {"TMPDIR": str(directory)}


def test_ctrl_c_stops_the_following_and_not_the_run(deployed: Pilot) -> None:
    process = deployed.start("launch", "smoke", "--follow")
    wait_for_state(deployed, "RUNNING")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"logs {deployed.file} smoke-1 --follow" in said
    assert f"status {deployed.file} --cancel smoke-1" in said
    (job,) = jobs(deployed)
    assert job["status"] == "RUNNING"
    cancelled = deployed.run("status", "--cancel", "smoke-1")
    assert "being stopped" in cancelled.stderr
    wait_for_state(deployed, "FAILED")
    assert "neuronkit status --cancel" in deployed.run("status").stdout
    assert "already ended: FAILED" in deployed.run("status", "--cancel", "smoke-1").stderr


def wait_for_state(pilot: Pilot, state: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if [job["status"] for job in jobs(pilot)] == [state]:
            return
        time.sleep(0.2)
    raise AssertionError(f"the job never was {state}: {jobs(pilot)}")


def test_what_is_not_there_is_said(deployed: Pilot) -> None:
    assert "no job smok" in deployed.run("launch", "smok", code=2).stderr
    assert "no run smoke-9" in deployed.run("logs", "smoke-9", code=2).stderr
    assert "has a checkpoint" in deployed.run("launch", "smoke", "--resume", "latest", code=2).stderr
    assert "no runs" in deployed.run("status").stdout


def test_before_a_deploy_there_is_nothing_to_launch_on(new_pilot: PilotFactory) -> None:
    pilot = new_pilot(bootstrapped=False)
    pilot.run("lock")
    assert "is not deployed" in pilot.run("launch", "smoke", code=3).stderr
    status = pilot.json("status")
    assert {stack["status"] for stack in status["stacks"]} == {"not deployed"}


def test_a_job_that_can_never_start_says_why(deployed: Pilot) -> None:
    batch = deployed.client("batch")
    (environment,) = batch.describe_compute_environments()["computeEnvironments"]
    batch.update_compute_environment(
        computeEnvironment=environment["computeEnvironmentArn"], computeResources={"maxvCpus": 192}
    )
    deployed.run("launch", "smoke")
    wait_for_state(deployed, "RUNNABLE")
    assert "needs 768 vCPUs, the compute environment may grow to 192" in deployed.run("status").stdout
