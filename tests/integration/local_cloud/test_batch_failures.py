"""What goes wrong ends as Batch ends it: states, reasons, exit codes, retries, limits, and no process left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.local_cloud import process
from tests.integration.local_cloud.batch_world import BatchWorld
from tests.integration.local_cloud.conftest import session_for

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]


def processes_with(marker: str) -> list[int]:
    """Processes of this machine that have the text in their environment or command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in text and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_main_node_decides_and_a_child_that_fails_changes_nothing(world: BatchWorld) -> None:
    command = 'if [ "$AWS_BATCH_JOB_NODE_INDEX" = 1 ]; then exit 3; fi; sleep 1.5'
    job_id = world.submit(world.register_nodes("child-fails", 3, world.container("sh", "-c", command)))
    wait_for(lambda: world.job(f"{job_id}#1")["status"] == "FAILED")
    assert world.job(job_id)["status"] == "RUNNING"
    assert world.job(f"{job_id}#1")["container"]["exitCode"] == 3
    assert world.wait(job_id)["status"] == "SUCCEEDED"


def test_the_end_of_the_main_node_stops_the_children(world: BatchWorld) -> None:
    command = 'if [ "$AWS_BATCH_JOB_NODE_INDEX" = 0 ]; then sleep 1; exit 7; fi; exec sleep 60'
    job = world.run(world.register_nodes("main-fails", 2, world.container("sh", "-c", command)))
    assert (job["status"], job["statusReason"]) == ("FAILED", "Essential container in task exited")
    assert job["attempts"][0]["container"]["exitCode"] == 7
    assert world.job(f"{job['jobId']}#1")["container"]["exitCode"] == 143
    assert processes_with(job["jobId"]) == []


def test_a_child_that_ignores_sigterm_is_killed_after_the_grace(
    world: BatchWorld, admin: Callable[..., Any]
) -> None:
    admin("POST", "settings", {"time_scale": 30})
    command = "trap '' TERM; if [ $AWS_BATCH_JOB_NODE_INDEX = 0 ]; then sleep 1; exit 0; fi; while :; do sleep 0.1; done"
    job = world.run(world.register_nodes("stubborn", 2, world.container("sh", "-c", command)))
    assert job["status"] == "SUCCEEDED"
    assert world.job(f"{job['jobId']}#1")["container"]["exitCode"] == 137
    assert processes_with(job["jobId"]) == []


def test_what_a_node_started_in_the_background_ends_with_it(world: BatchWorld) -> None:
    command = "setsid sleep 300 & (setsid sh -c 'sleep 300; true' &) ; sleep 0.3"
    job = world.run(world.register("leaves", world.container("sh", "-c", command)))
    assert job["status"] == "SUCCEEDED"
    assert processes_with(job["jobId"]) == []


def test_a_killed_supervisor_leaves_no_process_and_a_failed_job(world: BatchWorld) -> None:
    definition = world.register("host-loss", world.container("sleep", "300"))
    job_id = world.submit(definition)
    world.wait(job_id, "RUNNING")

    def sleeping() -> list[int]:
        return [
            pid for pid in processes_with(job_id) if b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    wait_for(lambda: len(sleeping()) == 1)
    supervisor = int(Path(f"/proc/{sleeping()[0]}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    assert world.wait(job_id)["status"] == "FAILED"
    assert processes_with(job_id) == []


def test_retries_number_their_attempts_and_stop_on_success(world: BatchWorld) -> None:
    command = 'echo "attempt $AWS_BATCH_JOB_ATTEMPT"; [ "$AWS_BATCH_JOB_ATTEMPT" = 3 ]'
    definition = world.register("third", world.container("sh", "-c", command), retryStrategy={"attempts": 5})
    job = world.run(definition)
    assert job["status"] == "SUCCEEDED"
    assert [attempt["container"]["exitCode"] for attempt in job["attempts"]] == [1, 1, 0]
    assert world.log(job) == ["attempt 3"]


@pytest.mark.parametrize(
    ("conditions", "attempts"),
    [
        ([{"onExitCode": "9", "action": "EXIT"}], 1),
        ([{"onExitCode": "1*", "action": "EXIT"}], 2),
        ([{"onStatusReason": "Essential*", "onExitCode": "9", "action": "exit"}], 1),
        ([{"onReason": "CannotPull*", "action": "RETRY"}, {"onReason": "*", "action": "EXIT"}], 1),
    ],
)
def test_evaluate_on_exit(world: BatchWorld, conditions: list[dict[str, str]], attempts: int) -> None:
    retry = {"attempts": 2, "evaluateOnExit": conditions}
    job = world.run(world.register("exits", world.container("sh", "-c", "exit 9")), retryStrategy=retry)
    assert len(job["attempts"]) == attempts


def test_an_attempt_that_takes_too_long_is_stopped_and_not_retried(
    world: BatchWorld, admin: Callable[..., Any]
) -> None:
    admin("POST", "settings", {"time_scale": 60})
    definition = world.register("slow", world.container("sleep", "60"), retryStrategy={"attempts": 3})
    job = world.run(definition, timeout={"attemptDurationSeconds": 60})
    assert (job["status"], job["statusReason"]) == ("FAILED", "Job attempt duration exceeded timeout")
    assert len(job["attempts"]) == 1


@pytest.mark.parametrize(
    ("container", "reason"),
    [
        ({"secrets": [{"name": "T", "valueFrom": "/no/such"}]}, "ResourceInitializationError"),
        (
            {"logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": "/no/such/group"}}},
            "The specified log group does not exist",
        ),
    ],
)
def test_a_container_that_cannot_be_set_up_fails_with_ecss_reason(
    world: BatchWorld, container: dict[str, Any], reason: str
) -> None:
    job = world.run(world.register("unready", world.container("true", **container)))
    assert (job["status"], job["statusReason"]) == ("FAILED", "Task failed to start")
    assert reason in job["container"]["reason"]
    assert "exitCode" not in job["container"]


def test_a_command_that_does_not_exist_fails_and_says_so_in_the_log(world: BatchWorld) -> None:
    job = world.run(world.register("absent", world.container("/no/such/command")))
    assert (job["status"], job["container"]["exitCode"]) == ("FAILED", 127)
    assert "CannotStartContainerError" in world.log(job)[0]


def test_a_job_that_no_instance_can_hold_waits_with_batchs_words_until_the_queues_limit(
    world: BatchWorld, admin: Callable[..., Any]
) -> None:
    limit = {
        "reason": "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
        "state": "RUNNABLE",
        "maxTimeSeconds": 600,
        "action": "CANCEL",
    }
    queue = world.make_queue("limited", world.environment, jobStateTimeLimitActions=[limit])
    requirements = [{"type": "VCPU", "value": "8"}, {"type": "MEMORY", "value": str(512 * 1024)}]
    definition = world.register("huge", world.container("true") | {"resourceRequirements": requirements})
    job_id = world.submit(definition, queue)
    wait_for(lambda: "statusReason" in world.job(job_id))
    job = world.job(job_id)
    assert job["status"] == "RUNNABLE"
    assert job["statusReason"].startswith("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - ")
    admin("POST", "settings", {"time_scale": 6000})
    job = world.wait(job_id)
    assert job["status"] == "FAILED"
    assert job["statusReason"].endswith("action due to reason: MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT")
    assert job["isCancelled"]


def test_too_few_vcpus_a_disabled_and_an_invalid_environment_keep_jobs_runnable(world: BatchWorld) -> None:
    definition = world.register_nodes("nodes", 4, world.container("true"))
    small = world.make_queue("small", world.make_environment("small-env", maxvCpus=256))
    disabled = world.make_environment("off-env")
    world.batch.update_compute_environment(computeEnvironment=disabled, state="DISABLED")
    invalid = world.make_environment("bad-env", subnets=["subnet-00000000"])
    described = world.batch.describe_compute_environments(computeEnvironments=[invalid])[
        "computeEnvironments"
    ][0]
    assert (described["status"], described["statusReason"][:12]) == ("INVALID", "CLIENT_ERROR")
    expected = {
        small: "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
        world.make_queue("off", disabled): "UNDETERMINED",
        world.make_queue("bad", invalid): "ACTION_REQUIRED",
    }
    jobs = {world.submit(definition, queue): reason for queue, reason in expected.items()}
    for job_id, reason in jobs.items():
        wait_for(lambda job_id=job_id: "statusReason" in world.job(job_id))  # type: ignore[misc]
        job = world.job(job_id)
        assert (job["status"], job["statusReason"].split(" - ")[0]) == ("RUNNABLE", reason)
        world.batch.cancel_job(jobId=job_id, reason="not needed")
        ended = world.wait(job_id)
        assert (ended["statusReason"], ended["isCancelled"], ended["attempts"]) == ("not needed", True, [])


def test_a_job_waits_for_the_instances_of_another(world: BatchWorld) -> None:
    queue = world.make_queue("one-at-a-time", world.make_environment("one-env", maxvCpus=128))
    definition = world.register("naps", world.container("sleep", "1"))
    first, second = world.submit(definition, queue), world.submit(definition, queue)
    world.wait(first, "RUNNING")
    assert world.job(second)["status"] in ("SUBMITTED", "PENDING", "RUNNABLE")
    assert world.wait(first)["stoppedAt"] <= world.wait(second)["startedAt"]


def test_deleting_a_queue_ends_its_jobs(world: BatchWorld) -> None:
    environment = world.make_environment("doomed-env")
    queue = world.make_queue("doomed", environment)
    job_id = world.submit(world.register("naps", world.container("sleep", "100")), queue)
    world.wait(job_id, "RUNNING")
    with pytest.raises(world.batch.exceptions.ClientException, match="disabled"):
        world.batch.delete_job_queue(jobQueue=queue)
    world.batch.update_compute_environment(computeEnvironment=environment, state="DISABLED")
    with pytest.raises(world.batch.exceptions.ClientException, match="JobQueue relationship"):
        world.batch.delete_compute_environment(computeEnvironment=environment)
    world.batch.update_job_queue(jobQueue=queue, state="DISABLED")
    world.batch.delete_job_queue(jobQueue=queue)
    assert world.wait(job_id)["status"] == "FAILED"
    assert processes_with(job_id) == []


@pytest.fixture
def own_cloud(tmp_path: Path) -> Iterator[process.LocalCloud]:
    yield process.start(tmp_path)
    process.stop(tmp_path)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_survives_the_local_cloud(
    own_cloud: process.LocalCloud, account: str, how: signal.Signals
) -> None:
    world = BatchWorld(session_for(own_cloud, account))
    command = "trap '' TERM; setsid sleep 300 & while :; do sleep 0.2; done"
    job_id = world.submit(world.register_nodes("endless", 2, world.container("sh", "-c", command)))
    wait_for(lambda: world.job(f"{job_id}#1")["status"] == "RUNNING")
    wait_for(lambda: len(processes_with(job_id)) >= 4)
    os.kill(own_cloud.pid, how)
    wait_for(lambda: processes_with(job_id) == [])
    wait_for(lambda: process.find(own_cloud.state_dir) is None)
    assert process.stop(own_cloud.state_dir) is False
