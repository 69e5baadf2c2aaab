"""The node bootstrap in real bash: loader, neuron.env and bootstrap as a job definition starts them."""

from __future__ import annotations

import http.server
import json
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.render.batch import Run
from tests.environments import plan_of
from tests.integration.bootstrap_node import BUCKET, DATA, World, finish

pytestmark = pytest.mark.timeout(60)

ONE_CHIP = {
    "clusters.train.instance_type": "trn1.2xlarge",
    "clusters.train.nodes": 1,
    "jobs.smoke.command": ["bash", "job.sh"],
}
TWO_NODES = {
    "clusters.train.instance_type": "trn1.32xlarge",
    "clusters.train.nodes": 2,
    "jobs.smoke.command": ["bash", "job.sh"],
}
SYNC = 60
GRACE = 15

CHECKPOINT = """
checkpoint() { # STEP
  mkdir -p "$NEURONKIT_CHECKPOINT_DIR/tmp-$1"
  echo weights >"$NEURONKIT_CHECKPOINT_DIR/tmp-$1/state"
  echo '{"step": '$((10#$1))'}' >"$NEURONKIT_CHECKPOINT_DIR/tmp-$1/checkpoint.json"
  mv "$NEURONKIT_CHECKPOINT_DIR/tmp-$1" "$NEURONKIT_CHECKPOINT_DIR/step-$1"
}
metric() { # STEP
  echo '{"step": '"$1"'}' >>"$NEURONKIT_METRICS_FILE"
}
"""
SHOW_ENVIRONMENT = 'env --null >"$SEEN/environment-$NEURONKIT_NODE_RANK"\n'
# Opening a pipe waits for the other side: the test knows where the command is, the command goes on when the test says.
MEET = 'meet() { echo >"$SEEN/at-$1"; }\n'

MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    worlds: list[World] = []

    def make(base: dict[str, Any] = ONE_CHIP, **changes: Any) -> World:
        job = {f"jobs.smoke.{name}": value for name, value in changes.items()}
        world = World(tmp_path / f"world-{len(worlds)}", plan_of({**base, **job}))
        world.hold_timers(SYNC)
        worlds.append(world)
        return world

    yield make
    survivors = [line for world in worlds for line in world.survivors()]
    for world in worlds:
        world.close()
    assert survivors == []


def environment_seen(world: World, rank: int = 0) -> dict[str, str]:
    entries = (world.seen / f"environment-{rank}").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def meet(world: World, place: str) -> None:
    """Returns once the command is at `meet PLACE`."""
    (world.seen / f"at-{place}").read_text()


def stored(world: World) -> set[str]:
    """Results: without what nodes tell each other of them."""
    files = {str(f.relative_to(world.run_path())) for f in world.run_path().rglob("*") if f.is_file()}
    return {file for file in files if not file.startswith("copies/")}


def store_checkpoint(world: World, run: str, step: str, *, complete: bool = True) -> None:
    directory = world.bucket / "runs" / "smoke" / run / "checkpoints" / f"step-{step}"
    directory.mkdir(parents=True)
    (directory / "state").write_text(f"{run} {step}")
    if complete:
        (directory / "checkpoint.json").write_text("{}")


# --- a run that goes well


def test_results_are_in_the_bucket_when_the_command_has_succeeded(make_world: MakeWorld) -> None:
    world = make_world()
    code, log = world.run(
        CHECKPOINT
        + 'metric 1; metric 2; checkpoint 000002; mkdir "$NEURONKIT_CHECKPOINT_DIR/tmp-000003"; echo trained\n'
    )
    assert code == 0, log
    assert stored(world) == {
        "metrics.jsonl",
        "checkpoints/step-000002/state",
        "checkpoints/step-000002/checkpoint.json",
    }
    assert world.run_path("metrics.jsonl").read_text() == '{"step": 1}\n{"step": 2}\n'
    assert "trained\n" in log
    for step in (
        "node 0 of 1",
        "devices: 1 Neuron",
        "no checkpoint to resume from",
        "starting: bash job.sh",
        "results are in",
    ):
        assert step in log


def test_a_checkpoint_is_complete_in_the_bucket_only_once_all_of_it_is_there(make_world: MakeWorld) -> None:
    world = make_world()
    world.run(CHECKPOINT + "checkpoint 000002\n")
    copies = [call for call in world.calls() if "checkpoints/step-000002" in call]
    assert [
        "--exclude checkpoint.json" in copies[0],
        copies[-1].endswith("/step-000002/checkpoint.json"),
    ] == [True, True]


def test_a_checkpoint_without_a_description_gets_one(make_world: MakeWorld) -> None:
    world = make_world()
    world.run(
        'mkdir "$NEURONKIT_CHECKPOINT_DIR/step-000012"; echo w >"$NEURONKIT_CHECKPOINT_DIR/step-000012/state"\n'
    )
    assert json.loads(world.run_path("checkpoints", "step-000012", "checkpoint.json").read_text()) == {
        "step": 12
    }


def test_a_line_that_is_being_written_is_left_for_the_next_copy(make_world: MakeWorld) -> None:
    world = make_world()
    world.run('printf \'{"step": 1}\\n{"st\' >"$NEURONKIT_METRICS_FILE"\n')
    assert world.run_path("metrics.jsonl").read_text() == '{"step": 1}\n'


def test_what_the_command_finds_in_its_environment(make_world: MakeWorld) -> None:
    world = make_world(
        data="s3://corpora/books", environment={"GREETING": "it's $5\nmore", "MALLOC_ARENA_MAX": "8"}
    )
    code, log = world.run(SHOW_ENVIRONMENT + "pwd\n")
    assert code == 0, log
    seen = environment_seen(world)
    expected = {
        "NEURONKIT_NODE_RANK": "0",
        "NEURONKIT_NODES": "1",
        "NEURONKIT_PROCESSES": "1",
        "NEURONKIT_PROCESS_RANK": "0",
        "NEURONKIT_RENDEZVOUS_PORT": "41002",
        "NEURONKIT_RUN_ID": "run-1",
        "NEURONKIT_RUN_PREFIX": "runs/smoke/run-1",
        "NEURONKIT_BUCKET": BUCKET,
        "NEURONKIT_DATA_URI": "s3://corpora/books",
        "NEURON_COMPILE_CACHE_URL": f"s3://{BUCKET}/compile-cache/sdk-2.32.0/trn1.2xlarge-lnc1",
        "AWS_REGION": "us-east-2",
        "GREETING": "it's $5\nmore",
        "MALLOC_ARENA_MAX": "8",
    }
    assert {name: seen.get(name) for name in expected} == expected
    # One process: nothing to bring together, and nothing to resume from.
    assert not {
        "NEURON_RT_ROOT_COMM_ID",
        "NEURON_PJRT_PROCESS_INDEX",
        "NEURONKIT_RESUME_STEP",
        "NEURONKIT_DATA",
    } & set(seen)
    assert "/source\n" in log


def test_without_boto3_the_compile_cache_stays_on_the_node(make_world: MakeWorld) -> None:
    world = make_world()
    world.has_boto3(False)
    _, log = world.run(SHOW_ENVIRONMENT)
    assert "NEURON_COMPILE_CACHE_URL" not in environment_seen(world)
    assert "no boto3" in log


# --- several nodes


class EcsMetadata(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = {"Containers": [{"Networks": [{"NetworkMode": "awsvpc", "IPv4Addresses": ["10.0.0.7"]}]}]}
        self.send_response(200 if self.path == "/v4/id/task" else 404)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def ecs_metadata(socket_enabled: None) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), EcsMetadata)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v4/id"
    server.shutdown()
    thread.join()
    server.server_close()


def test_both_nodes_agree_on_the_main_nodes_address(make_world: MakeWorld, ecs_metadata: str) -> None:
    world = make_world(TWO_NODES)
    for rank in (0, 1):
        code, log = world.run(
            SHOW_ENVIRONMENT, rank=rank, variables={"ECS_CONTAINER_METADATA_URI_V4": ecs_metadata}
        )
        assert code == 0, log
        seen = environment_seen(world, rank)
        expected = {
            "NEURONKIT_MAIN_ADDRESS": "10.0.0.7",
            "NEURONKIT_NODE_RANK": str(rank),
            "NEURONKIT_PROCESSES": "2",
            "NEURON_RT_ROOT_COMM_ID": "10.0.0.7:41000",
            "JAX_COORDINATOR_ADDRESS": "10.0.0.7:41001",
            "JAX_NUM_PROCESSES": "2",
            "JAX_PROCESS_ID": str(rank),
            "NEURON_PJRT_PROCESSES_NUM_DEVICES": "32,32",
            "NEURON_PJRT_PROCESS_INDEX": str(rank),
            "FI_PROVIDER": "efa",
        }
        assert {name: seen.get(name) for name in expected} == expected


def test_where_ecs_does_not_answer_the_main_node_asks_its_host_name(make_world: MakeWorld) -> None:
    world = make_world()
    world.program("hostname", '[[ $1 == -i ]] && echo "10.9.8.7 fe80::1"')
    _, log = world.run(SHOW_ENVIRONMENT, variables={"ECS_CONTAINER_METADATA_URI_V4": "http://127.0.0.1:9"})
    assert environment_seen(world)["NEURONKIT_MAIN_ADDRESS"] == "10.9.8.7", log


def test_the_other_nodes_copy_their_part_but_neither_metrics_nor_the_mark_of_completeness(
    make_world: MakeWorld,
) -> None:
    world = make_world(TWO_NODES)
    code, log = world.run(CHECKPOINT + "metric 1; checkpoint 000002\n", rank=1)
    assert code == 0, log
    assert stored(world) == {"checkpoints/step-000002/state"}


# --- while it runs


def test_results_are_copied_while_the_command_runs(make_world: MakeWorld) -> None:
    world = make_world()
    node = world.start(CHECKPOINT + MEET + "metric 1; checkpoint 000001; meet first; meet second; metric 2\n")
    meet(world, "first")
    world.tick(SYNC)
    world.tick(SYNC)  # the second timer starts when the first copy is done
    assert stored(world) >= {"metrics.jsonl", "checkpoints/step-000001/checkpoint.json"}
    assert world.run_path("metrics.jsonl").read_text() == '{"step": 1}\n'
    meet(world, "second")
    assert finish(node)[0] == 0
    assert world.run_path("metrics.jsonl").read_text() == '{"step": 1}\n{"step": 2}\n'
    assert sum("sync" in call and "step-000001" in call for call in world.calls()) == 1


def test_a_copy_that_fails_on_the_way_is_said_and_made_up_for(make_world: MakeWorld) -> None:
    world = make_world()
    node = world.start(CHECKPOINT + MEET + "metric 1; checkpoint 000001; meet first; meet second\n")
    meet(world, "first")
    world.fail(2, "step-000001")
    world.fail(1, "run-1/metrics.jsonl")
    world.tick(SYNC)
    world.tick(SYNC)
    world.tick(SYNC)
    meet(world, "second")
    code, log = finish(node)
    assert (code, log.count("warning: copying results failed; trying again in 60 s")) == (0, 2)
    assert stored(world) == {
        "metrics.jsonl",
        "checkpoints/step-000001/state",
        "checkpoints/step-000001/checkpoint.json",
    }


@pytest.mark.parametrize("dying", ["wc", "head"])
def test_metrics_in_the_bucket_outlive_a_copy_that_is_killed(make_world: MakeWorld, dying: str) -> None:
    """Slurm kills a node's processes one by one: what prepares a copy may be dead while the copy goes on."""
    world = make_world()
    world.program(dying, f'[[ -e $SEEN/dying ]] && kill -KILL $$\nexec {shutil.which(dying)} "$@"')
    node = world.start(CHECKPOINT + MEET + "metric 1; meet first; meet second\n")
    meet(world, "first")
    world.tick(SYNC)
    world.tick(SYNC)  # the second timer starts when the first copy is done
    (world.root / "seen" / "dying").touch()
    meet(world, "second")
    code, log = finish(node)
    assert code == 74, log
    assert world.run_path("metrics.jsonl").read_text() == '{"step": 1}\n'


def test_a_checkpoint_that_the_command_removes_is_no_failure(make_world: MakeWorld) -> None:
    """Jobs keep their newest checkpoints only; one may go in the middle of a copy."""
    world = make_world()
    world.program(
        "aws",
        'if [[ $2 == sync ]]; then rm -r "$6"; exit 1; fi\n[[ $1 == s3api ]] && echo None && exit\n'
        f'exec {DATA}/aws "$@"',
    )
    code, log = world.run(CHECKPOINT + "checkpoint 000001\n")
    assert (code, "warning" in log) == (0, False), log


# --- commands that fail, and ends from outside


def test_a_failing_commands_exit_code_and_results_are_kept(make_world: MakeWorld) -> None:
    world = make_world()
    code, log = world.run(CHECKPOINT + "metric 1; checkpoint 000001; exit 3\n")
    assert code == 3
    assert "checkpoints/step-000001/checkpoint.json" in stored(world)
    assert "exit code 3" in log


def test_a_command_that_does_not_exist(make_world: MakeWorld) -> None:
    world = make_world(command=["no-such-program"])
    code, log = world.run("")
    assert code == 127
    assert "no-such-program" in log


@pytest.mark.parametrize(
    ("reaction", "code"),
    [
        ("", 143),
        ("trap 'metric 9; checkpoint 000009; exit 5' TERM\n", 5),
        ("trap 'metric 9; checkpoint 000009; exit 0' TERM\n", 0),
    ],
    ids=["dies of it", "saves and fails", "saves and succeeds"],
)
def test_sigterm_reaches_the_command_and_what_it_saves_is_copied(
    make_world: MakeWorld, reaction: str, code: int
) -> None:
    world = make_world()
    world.hold_timers(GRACE, 90)
    world.pipe(world.seen / "never")
    node = world.start(
        CHECKPOINT + MEET + reaction + 'metric 1; meet running; read -r _ <"$SEEN/never" & wait $!\n'
    )
    meet(world, "running")
    node.send_signal(signal.SIGTERM)
    assert finish(node)[0] == code
    assert "metrics.jsonl" in stored(world)
    assert ("checkpoints/step-000009/checkpoint.json" in stored(world)) == bool(reaction)


def test_a_command_that_ignores_sigterm_is_killed_with_all_its_children(make_world: MakeWorld) -> None:
    world = make_world()
    world.hold_timers(90)  # the grace has no pipe: it is over at once
    world.pipe(world.seen / "never")
    node = world.start(
        CHECKPOINT + MEET + "trap '' TERM\nmetric 1\n"
        '(read -r _ <"$SEEN/never") &\nmeet running\nwhile :; do read -r _ <"$SEEN/never"; done\n'
    )
    meet(world, "running")
    node.send_signal(signal.SIGTERM)
    code, log = finish(node)
    assert code == 137
    assert "did not stop within 15 s" in log
    assert "metrics.jsonl" in stored(world)


def test_sigterm_in_the_middle_of_a_copy_starts_the_last_one(make_world: MakeWorld) -> None:
    world = make_world()
    world.hold_timers(GRACE, 90)
    world.pipe(world.seen / "never")
    world.program(
        "aws",
        "if [[ $2 == cp && ! -e $SEEN/held && $* == *metrics.jsonl ]]; then\n"
        '  touch "$SEEN/held"; echo >"$SEEN/at-copy"; read -r _ <"$SEEN/never"\nfi\n'
        f'exec {DATA}/aws "$@"',
    )
    node = world.start(CHECKPOINT + MEET + 'metric 1; meet running; read -r _ <"$SEEN/never" & wait $!\n')
    meet(world, "running")
    world.pipe(world.seen / "at-copy")
    world.tick(SYNC)
    meet(world, "copy")
    node.send_signal(signal.SIGTERM)
    assert finish(node)[0] == 143
    assert "metrics.jsonl" in stored(world)


def test_what_the_command_leaves_running_ends_with_it(make_world: MakeWorld) -> None:
    world = make_world()
    world.pipe(world.seen / "never")
    code, _ = world.run('(trap "" TERM HUP; read -r _ <"$SEEN/never") & disown\n')
    assert code == 0


# --- nodes that fail alone: Batch would let the others run on


def failures(world: World, attempt: int = 1) -> dict[str, str]:
    place = world.run_path("failures", f"attempt-{attempt}")
    return {path.name: path.read_text() for path in place.iterdir()} if place.exists() else {}


def test_a_node_that_fails_says_so_in_the_bucket(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES)
    assert world.run("exit 3\n", rank=1, variables={"AWS_BATCH_JOB_ATTEMPT": "2"})[0] == 3
    assert failures(world, attempt=2) == {"node-1": "exit code 3\n"}


def test_a_node_that_is_not_what_was_planned_says_so_too(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES)
    world.run("", rank=1, variables={"NEURONKIT_DEVICE_ROOT": str(world.devices(3, 8))})
    assert failures(world) == {"node-1": "exit code 78\n"}


def test_neither_the_main_node_nor_a_success_nor_a_stop_is_reported(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES)
    world.hold_timers(GRACE, 90)
    world.pipe(world.seen / "never")
    world.run("exit 3\n", rank=0)
    world.run("true\n", rank=1)
    node = world.start(MEET + 'meet running; read -r _ <"$SEEN/never" & wait $!\n', rank=1)
    meet(world, "running")
    node.send_signal(signal.SIGTERM)
    assert finish(node)[0] == 143
    assert failures(world) == {}


def test_the_main_node_stops_when_another_node_has_failed(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES)
    world.hold_timers(GRACE, 90)
    world.pipe(world.seen / "never")
    main = world.start(
        CHECKPOINT + MEET + 'meet running; metric 1; read -r _ <"$SEEN/never" & wait $!\n',
        variables={"AWS_BATCH_JOB_ATTEMPT": "2"},
    )
    meet(world, "running")
    for attempt in ("1", "2"):
        world.tick(SYNC)  # a failure of an earlier attempt is over
        world.run("exit 3\n", rank=1, variables={"AWS_BATCH_JOB_ATTEMPT": attempt})
    world.tick(SYNC)
    code, log = finish(main)
    assert code == 69, log
    assert "node 1 failed, see its log" in log
    assert "metrics.jsonl" in stored(world)


# --- a bucket that cannot be reached


def test_a_success_whose_results_cannot_be_copied_is_a_failure(make_world: MakeWorld) -> None:
    world = make_world()
    world.fail(3, "run-1/metrics.jsonl")
    code, log = world.run(CHECKPOINT + "metric 1\n")
    assert code == 74
    assert "the training succeeded, but its results could not be copied" in log


def test_the_last_copy_is_tried_three_times(make_world: MakeWorld) -> None:
    world = make_world()
    world.fail(2, "run-1/metrics.jsonl")
    code, log = world.run(CHECKPOINT + "metric 1\n")
    assert code == 0, log
    assert "metrics.jsonl" in stored(world)


def test_a_failing_command_is_the_cause_even_if_the_copy_fails_too(make_world: MakeWorld) -> None:
    world = make_world()
    world.fail(9, "run-1/metrics.jsonl")
    code, log = world.run(CHECKPOINT + "metric 1; exit 3\n")
    assert code == 3
    assert "warning: the last results could not be copied" in log


def test_a_run_does_not_start_anew_because_its_checkpoints_could_not_be_listed(make_world: MakeWorld) -> None:
    world = make_world()
    world.fail(3, "list-objects-v2")
    code, log = world.run('touch "$SEEN/started"\n')
    assert (code, (world.seen / "started").exists()) == (74, False)
    assert "cannot list the run's files" in log


# --- resuming

RESUMED = 'echo "${NEURONKIT_RESUME_STEP:-none}" >"$SEEN/step"; cat "$NEURONKIT_CHECKPOINT_DIR"/step-*/state >"$SEEN/state"\n'


def resumed(world: World) -> tuple[str, str]:
    """Step and state that the command found."""
    return (world.seen / "step").read_text().strip(), (world.seen / "state").read_text()


def test_a_retry_goes_on_from_the_runs_newest_complete_checkpoint(make_world: MakeWorld) -> None:
    world = make_world()
    store_checkpoint(world, "run-1", "000020")
    store_checkpoint(world, "run-1", "000100")
    store_checkpoint(world, "run-1", "000120", complete=False)
    world.run_path("metrics.jsonl").write_text('{"step": 100}\n')
    code, log = world.run(CHECKPOINT + RESUMED + "metric 101\n", run=Run("run-1", resume_step=20))
    assert code == 0, log
    assert resumed(world) == ("100", "run-1 000100")
    assert world.run_path("metrics.jsonl").read_text() == '{"step": 100}\n{"step": 101}\n'
    assert not any(
        "sync" in call and call.endswith("step-000100") and "/tmp-" not in call for call in world.calls()
    )


@pytest.mark.parametrize(
    ("resume_from", "resume_step", "step"),
    [
        ("s3://bucket/runs/smoke/run-0/checkpoints", None, "40"),
        ("s3://bucket/runs/smoke/run-0/checkpoints/", None, "40"),
        ("s3://bucket/runs/smoke/run-0/checkpoints", 20, "20"),
        ("s3://bucket/runs/smoke/run-0/checkpoints/step-000020", None, "20"),
        ("s3://bucket/runs/smoke/run-0/checkpoints/step-000020/", None, "20"),
    ],
)
def test_a_run_resumes_from_another_one(
    make_world: MakeWorld, resume_from: str, resume_step: int | None, step: str
) -> None:
    world = make_world()
    for stored_step in ("000020", "000040"):
        store_checkpoint(world, "run-0", stored_step)
    code, log = world.run(RESUMED, run=Run("run-1", resume_from, resume_step))
    assert code == 0, log
    assert resumed(world) == (step, f"run-0 0000{step}")
    assert stored(world) == set()


def test_a_retry_of_a_resumed_run_keeps_its_own_progress(make_world: MakeWorld) -> None:
    world = make_world()
    store_checkpoint(world, "run-0", "000040")
    store_checkpoint(world, "run-1", "000060")
    world.run(RESUMED, run=Run("run-1", "s3://bucket/runs/smoke/run-0/checkpoints"))
    assert resumed(world) == ("60", "run-1 000060")


@pytest.mark.parametrize("place", ["", "/step-000020", "/step-000030"])
def test_a_checkpoint_to_resume_from_that_is_not_whole_is_refused(make_world: MakeWorld, place: str) -> None:
    world = make_world()
    store_checkpoint(world, "run-0", "000020", complete=False)
    code, log = world.run(
        'touch "$SEEN/started"\n', run=Run("run-1", f"s3://bucket/runs/smoke/run-0/checkpoints{place}")
    )
    assert (code, (world.seen / "started").exists()) == (78, False)
    assert "there is no complete checkpoint step-" in log


def test_a_checkpoint_that_cannot_be_fetched_stops_the_run(make_world: MakeWorld) -> None:
    world = make_world()
    store_checkpoint(world, "run-1", "000020")
    world.fail(3, "s3 sync")
    code, log = world.run('touch "$SEEN/started"\n')
    assert (code, (world.seen / "started").exists()) == (74, False)
    assert "cannot fetch s3://bucket/runs/smoke/run-1/checkpoints/step-000020" in log


# --- nodes that are not what was planned


@pytest.mark.parametrize(
    ("chips", "efa", "variables", "words"),
    [
        (15, 8, {}, "15 Neuron devices"),
        (17, 8, {}, "17 Neuron devices"),
        (0, 8, {}, "0 Neuron devices"),
        (16, 7, {}, "7 EFA devices"),
        (16, 9, {}, ""),
        (16, 8, {"AWS_BATCH_JOB_NUM_NODES": "3"}, "AWS Batch runs 3 nodes, the job was planned for 2"),
        (16, 8, {"AWS_BATCH_JOB_MAIN_NODE_INDEX": "1"}, "the main node is 1"),
        (16, 8, {"AWS_BATCH_JOB_NODE_INDEX": "UNSET"}, "AWS_BATCH_JOB_NODE_INDEX is not set"),
        (
            16,
            8,
            {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "UNSET"},
            "MAIN_NODE_PRIVATE_IPV4_ADDRESS is not set",
        ),
        (16, 8, {"NEURONKIT_RUN_ID": "UNSET"}, "NEURONKIT_RUN_ID is not set"),
    ],
)
def test_preflight(
    make_world: MakeWorld, chips: int, efa: int, variables: dict[str, str], words: str
) -> None:
    world = make_world(TWO_NODES)
    devices = {"NEURONKIT_DEVICE_ROOT": str(world.devices(chips, efa))}
    code, log = world.run('touch "$SEEN/started"\n', rank=1, variables={**devices, **variables})
    assert (code, (world.seen / "started").exists()) == ((78, False) if words else (0, True)), log
    assert words in log


def test_an_image_without_the_aws_command_does_not_get_far(make_world: MakeWorld) -> None:
    world = make_world()
    (world.root / "bin" / "aws").unlink()
    code, log = world.run('touch "$SEEN/started"\n')
    assert (code, (world.seen / "started").exists()) == (127, False)
    assert "aws" in log


# --- several processes on a node


def test_jax_processes_share_the_nodes_logical_cores(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, processes_per_node=4)
    code, log = world.run(
        'echo "$NEURON_RT_VISIBLE_CORES $NEURON_PJRT_PROCESS_INDEX $JAX_PROCESS_ID" >"$SEEN/process-$NEURONKIT_PROCESS_RANK"\n'
        'echo "$NEURON_PJRT_PROCESSES_NUM_DEVICES $NEURONKIT_PROCESSES" >"$SEEN/all"\n',
        rank=1,
    )
    assert code == 0, log
    seen = {path.name: path.read_text().strip() for path in world.seen.iterdir()}
    assert seen == {
        "process-4": "0-7 4 4",
        "process-5": "8-15 5 5",
        "process-6": "16-23 6 6",
        "process-7": "24-31 7 7",
        "all": "8,8,8,8,8,8,8,8 8",
    }


def test_the_first_process_that_fails_ends_the_node(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, processes_per_node=2)
    world.pipe(world.seen / "never")
    code, log = world.run(
        'if ((NEURONKIT_PROCESS_RANK == 3)); then exit 9; fi; read -r _ <"$SEEN/never"\n', rank=1
    )
    assert code == 9, log


def test_torch_starts_through_torchrun(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, framework="torch-neuronx", command=["bash", "job.sh", "an argument"])
    world.has_torchrun()
    code, log = world.run('echo "$1 $NEURON_RT_ROOT_COMM_ID" >"$SEEN/rank-$NEURONKIT_PROCESS_RANK"\n', rank=1)
    assert code == 0, log
    arguments = (world.seen / "torchrun").read_text().splitlines()
    assert arguments[:6] == [
        "--nnodes=2", "--node-rank=1", "--nproc-per-node=32", "--master-addr=10.0.0.7", "--master-port=41000", "--no-python",
    ]  # fmt: skip
    for rank in (6, 7):
        assert (world.seen / f"rank-{rank}").read_text() == "an argument 10.0.0.7:62182\n"


def test_an_image_without_torchrun_is_refused(make_world: MakeWorld) -> None:
    code, log = make_world(TWO_NODES, framework="torch-neuronx").run("", rank=1)
    assert code == 78
    assert "the image has no torchrun command" in log


# --- the package loader


def test_entrypoints_that_evaluate_their_arguments(make_world: MakeWorld, tmp_path: Path) -> None:
    """As the Neuron images' does: quoting is lost, and the words are one program text."""
    entrypoint = tmp_path / "entrypoint.sh"
    entrypoint.write_text('#!/usr/bin/env bash\nif [[ "$1" = "train" ]]; then exit 99; else eval "$@"; fi\n')
    world = make_world()
    code, log = world.run(CHECKPOINT + "metric 1; exit 4\n", entrypoint=("bash", "-m", str(entrypoint)))
    assert code == 4, log
    assert "metrics.jsonl" in stored(world)


def test_a_package_that_is_not_the_registered_one_does_not_run(make_world: MakeWorld) -> None:
    world = make_world()
    code, log = world.run('touch "$SEEN/started"\n', variables={"NEURONKIT_PACKAGE_SHA256": "0" * 64})
    assert (code, (world.seen / "started").exists()) == (1, False)
    assert "FAILED" in log
