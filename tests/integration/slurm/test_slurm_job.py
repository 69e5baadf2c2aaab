"""The rendered job on a real Slurm: runs, retries, resumes, refuses. Virtual trn1.32xlarge nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from stacks.domain.render.batch import Run
from stacks.domain.render.slurm import job_script, submit_arguments
from tests.environments import plan_of
from tests.integration.slurm.job_world import (
    BUCKET,
    SLURM,
    JobWorld,
    leave_nothing_running,
    slurm_of,
    smoke_command,
)
from tests.slurm import needs_slurm

pytestmark = [*needs_slurm, pytest.mark.timeout(420)]

STEPS = 40
SHORT = {**SLURM, "jobs.smoke.nodes": 4, "jobs.smoke.command": smoke_command("--steps", "5")}
# The first attempt takes its time, so that something can happen to it; the others do not.
SLOW_AT_FIRST = (
    f"exec python3 train.py --backend numpy --steps {STEPS} --checkpoint-every 5 "
    '--step-seconds "$([ "$NEURONKIT_ATTEMPT" = 1 ] && echo 0.5 || echo 0)"'
)
INTERRUPTED = {
    **SLURM,
    "jobs.smoke.nodes": 4,
    "jobs.smoke.attempts": 2,
    "jobs.smoke.command": ["bash", "-c", SLOW_AT_FIRST],
}
UNINTERRUPTED = {
    **INTERRUPTED,
    "jobs.smoke.command": smoke_command("--steps", str(STEPS), "--checkpoint-every", "5"),
}
SECRET_ARN = "arn:aws:secretsmanager:us-east-2:111122223333:secret:token-AbCdEf"


@pytest.fixture(scope="module")
def trn1() -> Iterator[PrivateSlurm]:
    with slurm_of(SLURM) as slurm:
        yield slurm


@pytest.fixture
def world(trn1: PrivateSlurm, tmp_path: Path) -> Iterator[JobWorld]:
    yield JobWorld(trn1, tmp_path)
    leave_nothing_running(trn1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"jobs.smoke.attempts": 3},
        {"jobs.smoke.framework": "torch-neuronx"},
        {"jobs.smoke.nodes": 1, "jobs.smoke.time_limit_minutes": 60 * 24 * 7},
        {"clusters.train.slurm": {"shared_storage": {"kind": "efs"}, "minimum_nodes": 8}},
        {"clusters.train.slurm": {"shared_storage": {"kind": "efs"}, "gres": 0}},
        {"clusters.train.slurm": {"shared_storage": {"kind": "efs"}, "runs_in": "apptainer"}},
        {
            "clusters.train.slurm": {
                "shared_storage": {"kind": "efs"},
                "node_settings": {"CpuSpecList": "0"},
            }
        },
    ],
)
def test_slurm_takes_every_script(world: JobWorld, changes: dict[str, Any]) -> None:
    plan = plan_of({**SLURM, **changes})
    job = plan.job("smoke")
    options, arguments = submit_arguments(plan, job, Run("smoke-1"))
    script = job_script(plan, job, "0" * 64, BUCKET)
    answer = world.sbatch(script, "--test-only", *options, arguments=arguments)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"clusters.train.slurm": {"shared_storage": {"kind": "efs"}, "gres": 17}},
            "Requested node configuration is not available",
        ),
        ({"clusters.train.nodes": 9}, "Requested node configuration is not available"),
        ({"clusters.train.instance_type": "trn2.48xlarge"}, "Requested node configuration is not available"),
    ],
)
def test_slurm_refuses_what_the_nodes_do_not_have(
    world: JobWorld, changes: dict[str, Any], says: str
) -> None:
    plan = plan_of({**SLURM, **changes})
    script = job_script(plan, plan.job("smoke"), "0" * 64, BUCKET)
    answer = world.sbatch(script, "--test-only", arguments=("smoke-1",))
    assert answer.returncode != 0
    assert says in answer.stderr


@pytest.mark.parametrize("nodes", [4, 8])
def test_the_smoke_job_runs(world: JobWorld, nodes: int) -> None:
    run = world.launch({**SHORT, "jobs.smoke.nodes": nodes})
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 1}, run.words()
    assert sorted(run.losses()) == [1, 2, 3, 4, 5]
    assert [place[:2] for place in run.places()] == [
        [str(rank), f"trn1-32xlarge-{rank + 1}"] for rank in range(nodes)
    ]
    assert sorted(run.node_logs()) == [f"node-{index}.log" for index in range(nodes)]
    assert run.fields()["JobState"] == "COMPLETED"
    assert not list((run.directory / "attempt-1" / "failures").iterdir())


def test_two_runs_at_once_do_not_meet(world: JobWorld) -> None:
    runs = [world.launch(SHORT) for _ in range(2)]
    ends = [run.ended() for run in runs]
    assert [end["state"] for end in ends] == ["COMPLETED"] * 2, runs[0].words() + runs[1].words()
    nodes = [{place[1] for place in run.places()} for run in runs]
    assert nodes[0].isdisjoint(nodes[1])
    assert runs[0].losses() == runs[1].losses()


def test_a_lost_node_the_job_resumes_elsewhere_with_the_same_losses(world: JobWorld) -> None:
    whole = world.launch(UNINTERRUPTED)
    assert whole.ended()["state"] == "COMPLETED", whole.words()
    run = world.launch(INTERRUPTED)
    run.wait_for_checkpoint()
    lost = run.places()[2][1]
    world.slurm.kill_node(lost)
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 2}, run.words()
    assert lost not in [place[1] for place in run.places(attempt=2)]
    assert "resuming from s3://" in run.node_logs(attempt=2)["node-0.log"]
    assert run.losses() == whole.losses()


def test_the_node_of_the_script_is_lost(world: JobWorld) -> None:
    run = world.launch(INTERRUPTED)
    run.wait_for_checkpoint()
    world.slurm.kill_node(run.places()[0][1])
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 2}, run.words()
    assert sorted(run.losses()) == list(range(1, STEPS + 1))


def test_near_the_time_limit_the_job_saves_and_goes_on_in_another_attempt(world: JobWorld) -> None:
    run = world.launch(INTERRUPTED)
    run.wait_for_checkpoint()
    # What Slurm itself does for `--signal=B:USR1@…`.
    assert world.slurm.run(["scancel", "--batch", "--signal=USR1", run.job_id]).returncode == 0
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 2}, run.words()
    assert "results are in s3://" in run.node_logs()["node-0.log"]
    assert "which is saved" in run.node_logs()["node-0.log"]
    assert sorted(run.losses()) == list(range(1, STEPS + 1))


# The signal comes after srun was started and before Slurm knows of its step.
EARLY_SIGNAL = """() {
  if [[ $NEURONKIT_ATTEMPT == 1 && $* == *--job-name=WHICH* ]]; then kill -USR1 $$; fi
  command srun "$@"
}"""


@pytest.mark.parametrize("step", ["look", "run"])
def test_a_warning_that_comes_before_its_step_stops_it_nevertheless(world: JobWorld, step: str) -> None:
    world.more_variables["BASH_FUNC_srun%%"] = EARLY_SIGNAL.replace("WHICH", step)
    run = world.launch(INTERRUPTED)
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 2}, run.words()
    assert "attempt 1 ended: TIMEOUT" in run.words()
    assert (run.directory / "attempt-1" / "stopped").exists() == (step == "run")
    assert sorted(run.losses()) == list(range(1, STEPS + 1))


def test_a_job_that_ends_by_itself_after_the_warning_is_complete(world: JobWorld) -> None:
    """Its step is over before it is told to stop."""
    world.more_variables["BASH_FUNC_scancel%%"] = "() { :; }"
    run = world.launch(INTERRUPTED)
    run.wait_for_checkpoint()
    world.slurm.run(["scancel", "--batch", "--signal=USR1", run.job_id])
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 1}, run.words()
    assert "the time limit is near" in run.words()


def test_near_the_time_limit_of_the_last_attempt_the_run_ends(world: JobWorld) -> None:
    run = world.launch({**INTERRUPTED, "jobs.smoke.attempts": 1})
    run.wait_for_checkpoint()
    world.slurm.run(["scancel", "--batch", "--signal=USR1", run.job_id])
    assert run.ended() == {"state": "TIMEOUT", "exit_code": 143, "attempt": 1}, run.words()


def test_a_cancelled_run_copies_what_there_is(world: JobWorld) -> None:
    run = world.launch(INTERRUPTED)
    run.wait_for_checkpoint()
    world.slurm.run(["scancel", run.job_id])
    assert run.ended() == {"state": "CANCELLED", "exit_code": 143, "attempt": 1}, run.words()
    assert run.fields()["JobState"] == "CANCELLED"
    assert "results are in s3://" in run.node_logs()["node-0.log"]


def test_a_command_that_fails_is_tried_again_until_the_attempts_are_used_up(world: JobWorld) -> None:
    script = 'if [ "$NEURONKIT_NODE_RANK" = 1 ]; then exit 3; fi; exec sleep 600'
    run = world.launch({**INTERRUPTED, "jobs.smoke.command": ["bash", "-c", script]})
    assert run.ended() == {"state": "FAILED", "exit_code": 3, "attempt": 2}, run.words()
    for attempt in (1, 2):
        failures = (run.directory / f"attempt-{attempt}" / "failures" / "1").read_text()
        assert failures.split()[1:] == ["trn1-32xlarge-2", "1", "3"]
    assert "attempt 1 ended: FAILED, exit code 3; the job goes back into the queue" in run.words()
    world.slurm.run(["scontrol", "requeue", run.job_id])
    run.wait_until("the script refuses", lambda: "but the run has ended" in run.words())
    run.wait_until("Slurm has seen that", lambda: run.fields()["JobState"] == "FAILED")
    # As if the script's own node had been lost in the last attempt.
    (run.directory / "ended.json").unlink()
    world.slurm.run(["scontrol", "requeue", run.job_id])
    assert run.ended() == {"state": "FAILED", "exit_code": 1, "attempt": 2}
    assert "its 2 attempts are used up" in run.words()


SILENT_ONCE = """() {
  if [[ ${NEURONKIT_ATTEMPT:-} == 1 && "$*" == *"show node"* ]]; then echo "Unable to contact slurm controller" >&2; return 1; fi
  command scontrol "$@"
}"""


def test_a_controller_that_is_silent_for_a_moment_costs_an_attempt_and_not_the_run(world: JobWorld) -> None:
    world.more_variables["BASH_FUNC_scontrol%%"] = SILENT_ONCE
    run = world.launch({**SHORT, "jobs.smoke.attempts": 2})
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 2}, run.words()
    assert "failed: Slurm did not tell the nodes' addresses" in run.words()


# Slurm's SIGTERM at the time limit, while the script writes down that the run has ended well.
LATE_TERM = """() {
  if [[ $* == *ended.json.new* && ! -e $SEEN/term ]]; then touch "$SEEN/term"; kill -TERM $$; fi
  command mv "$@"
}"""
SAYS_TIME_LIMIT = """() {
  if [[ "$*" == *"show job"* ]]; then echo " Reason=TimeLimit Restarts=0 "; else command scontrol "$@"; fi
}"""


def test_an_end_that_is_written_down_stays(world: JobWorld) -> None:
    world.more_variables["BASH_FUNC_mv%%"] = LATE_TERM
    world.more_variables["BASH_FUNC_scontrol%%"] = SAYS_TIME_LIMIT
    run = world.launch(SHORT)
    assert run.ended() == {"state": "COMPLETED", "exit_code": 0, "attempt": 1}, run.words()
    assert (world.root / "seen" / "term").exists()


def test_a_node_without_its_devices_is_named(world: JobWorld) -> None:
    plan = plan_of(SHORT)
    job = dataclasses.replace(plan.job("smoke"), efa_devices_per_node=9)
    run = world.launch_job(plan, job)
    assert run.ended() == {"state": "FAILED", "exit_code": 78, "attempt": 1}, run.words()
    assert "refused: 8 EFA devices, the job was planned for 9" in run.words()


def test_nodes_with_different_drivers_do_not_start(world: JobWorld) -> None:
    world.more_variables["NEURONKIT_MODULE_ROOT"] = "/sys/class/neuron_device"
    files = [
        world.slurm.directory / "nodes" / f"trn1-32xlarge-{number}" / "neuron_device" / "neuron" / "version"
        for number in range(1, 9)
    ]
    for file in files:
        file.parent.mkdir()
        file.write_text("2.22.1\n")
    same = world.launch(SHORT)
    assert same.ended()["state"] == "COMPLETED", same.words()
    files[2].write_text("2.21.0\n")
    run = world.launch(SHORT)
    assert run.ended() == {"state": "FAILED", "exit_code": 78, "attempt": 1}, run.words()
    assert "driver 2.22.1 on trn1-32xlarge-1, 2.21.0 on trn1-32xlarge-3" in run.words()
    assert run.node_logs() == {}


@pytest.mark.parametrize(("ends", "state"), [("exit 0", "COMPLETED"), ("exit 1", "FAILED")])
def test_nccom_test_decides_where_it_is(world: JobWorld, ends: str, state: str) -> None:
    world.program(
        "nccom-test", f'echo "$@" >"$SEEN/links-$SLURM_NODEID"; if [ "$SLURM_NODEID" = 1 ]; then {ends}; fi'
    )
    run = world.launch(SHORT)
    assert run.ended()["state"] == state, run.words()
    assert (world.root / "seen" / "links-1").read_text() == "-r 32 allr\n"
    refusal = "trn1-32xlarge-2 refused: nccom-test over the node's 32 logical cores ended with exit code 1"
    assert (refusal in run.words()) == (state == "FAILED")


def test_several_fitting_virtual_environments_are_refused_by_name(world: JobWorld) -> None:
    plan = plan_of(SHORT)
    job = dataclasses.replace(plan.job("smoke"), virtual_environment="/opt/aws_neuronx_venv_*")
    run = world.launch_job(plan, job)
    assert run.ended() == {"state": "FAILED", "exit_code": 78, "attempt": 1}, run.words()
    assert "/opt/aws_neuronx_venv_jax_emulated /opt/aws_neuronx_venv_pytorch_2_9_emulated" in run.words()


def test_a_secret_reaches_the_command_and_nothing_else(world: JobWorld) -> None:
    secret = "hidden-word-4711"
    (world.s3 / "secrets").mkdir(parents=True)
    (world.s3 / "secrets" / "token-AbCdEf").write_text(secret)
    seen = 'printf %s "$HF_TOKEN" >"$SEEN/secret-$NEURONKIT_NODE_RANK"'
    run = world.launch(
        {**SHORT, "jobs.smoke.command": ["bash", "-c", seen], "jobs.smoke.secrets": {"HF_TOKEN": SECRET_ARN}}
    )
    assert run.ended()["state"] == "COMPLETED", run.words()
    assert {path.read_text() for path in (world.root / "seen").iterdir()} == {secret}
    written = [path for path in world.slurm.directory.joinpath("shared").rglob("*") if path.is_file()]
    assert [path for path in written if secret.encode() in path.read_bytes()] == []
    assert secret not in (world.s3 / "calls.log").read_text()


def test_one_node_compiles_while_the_cache_is_cold_and_the_others_wait(world: JobWorld) -> None:
    compile_graph = 'echo compiling on $NEURONKIT_NODE_RANK; echo graph >graph; aws s3 cp graph "$NEURON_COMPILE_CACHE_URL/graph"'
    changes = {
        **SHORT,
        "jobs.smoke.command": [
            "bash",
            "-c",
            'aws s3 cp "$NEURON_COMPILE_CACHE_URL/graph" graph && cat graph',
        ],
        "jobs.smoke.compile_command": ["bash", "-c", compile_graph],
    }
    cold, warm = world.launch(changes), None
    assert cold.ended()["state"] == "COMPLETED", cold.words()
    assert cold.words().count("compiling on 0") == 1
    assert "is cold: compiling on this node, the others wait" in cold.node_logs()["node-0.log"]
    assert "waiting until node 0 has compiled" in cold.node_logs()["node-3.log"]
    warm = world.launch(changes)
    assert warm.ended()["state"] == "COMPLETED", warm.words()
    assert "compiling on" not in warm.words()


def test_a_compile_command_that_fails_ends_the_run(world: JobWorld) -> None:
    run = world.launch({**SHORT, "jobs.smoke.compile_command": ["bash", "-c", "exit 5"]})
    assert run.ended() == {"state": "FAILED", "exit_code": 5, "attempt": 1}, run.words()
    assert "the compile command ended with exit code 5" in run.words()


def test_in_a_container_of_apptainer(world: JobWorld) -> None:
    """A stand-in that runs the command where it is: what is tested is the way there."""
    world.program(
        "apptainer",
        'echo "$@" >>"$SEEN/apptainer"; if [ "$1" = pull ]; then echo image >"$3"; else shift 4; exec "$@"; fi',
    )
    changes = {**SHORT, "clusters.train.slurm": {"shared_storage": {"kind": "efs"}, "runs_in": "apptainer"}}
    run = world.launch(changes)
    assert run.ended()["state"] == "COMPLETED", run.words()
    calls = (world.root / "seen" / "apptainer").read_text().splitlines()
    assert [call.split()[0] for call in calls if call.startswith(("pull", "exec"))].count("pull") == 1
    assert sum(call.startswith("exec --bind /shared,/dev/neuron0,") for call in calls) == 4
