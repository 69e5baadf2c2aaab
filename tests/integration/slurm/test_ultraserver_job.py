"""Jobs on nodes of UltraServers: placement, the order of ranks, broken groups. Virtual trn2u.48xlarge nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from scripts.schedulers.slurm_watch import SlurmWatch
from stacks.domain.render.batch import Run
from stacks.domain.render.slurm import job_script, submit_arguments
from tests.environments import plan_of
from tests.integration.slurm.job_world import (
    BUCKET,
    ULTRASERVERS,
    JobWorld,
    leave_nothing_running,
    slurm_of,
    smoke_command,
)
from tests.integration.slurm.test_time_limit import mounted, run_text, waiting
from tests.slurm import job_fields, needs_slurm, submit, wait_for

pytestmark = [*needs_slurm, pytest.mark.timeout(420)]

SMOKE = {**ULTRASERVERS, "jobs.smoke.nodes": 4, "jobs.smoke.command": smoke_command("--steps", "3")}
GROUP = "trn2u-48xlarge"
SEE = 'env | grep ^NEURON_RT_ULTRASERVER | sort >"$SEEN/$NEURONKIT_NODE_RANK"; echo $NEURON_RT_ROOT_COMM_ID >>"$SEEN/$NEURONKIT_NODE_RANK"'


@pytest.fixture(scope="module")
def trn2u() -> Iterator[PrivateSlurm]:
    with slurm_of(ULTRASERVERS) as slurm:
        yield slurm


@pytest.fixture
def world(trn2u: PrivateSlurm, tmp_path: Path) -> Iterator[JobWorld]:
    yield JobWorld(trn2u, tmp_path)
    leave_nothing_running(trn2u)


@pytest.fixture
def place_file(trn2u: PrivateSlurm) -> Iterator[Any]:
    """Changes what the driver of a node says, until the test is over."""
    before: dict[Path, str] = {}

    def change(node: str, file: str, text: str) -> None:
        path = trn2u.directory / "nodes" / node / "neuron_device" / file
        before.setdefault(path, path.read_text())
        path.write_text(f"{text}\n")

    yield change
    for path, text in before.items():
        path.write_text(text)


def occupy(slurm: PrivateSlurm, *nodes: str) -> list[str]:
    return [_occupy(slurm, node) for node in nodes]


def _occupy(slurm: PrivateSlurm, node: str) -> str:
    job = submit(slurm, "--exclusive", f"--nodelist={node}", wrap="sleep 600")
    wait_for(f"{node} is busy", lambda: job_fields(slurm, job)["JobState"] == "RUNNING")
    return job


@pytest.mark.parametrize("nodes", [2, 4, 8])
def test_slurm_takes_every_script(world: JobWorld, nodes: int) -> None:
    plan = plan_of({**SMOKE, "jobs.smoke.nodes": nodes, "jobs.smoke.ultraserver_nodes": min(nodes, 4)})
    options, arguments = submit_arguments(plan, plan.job("smoke"), Run("smoke-1"))
    script = job_script(plan, plan.job("smoke"), "0" * 64, BUCKET)
    answer = world.sbatch(script, "--test-only", *options, arguments=arguments)
    assert answer.returncode == 0, answer.stderr


def test_a_job_waits_for_a_whole_ultraserver_when_a_node_of_each_is_busy(world: JobWorld) -> None:
    first, _ = occupy(world.slurm, f"{GROUP}-us0-2", f"{GROUP}-us1-3")
    run = world.launch(SMOKE)
    run.wait_until("Slurm says why it waits", lambda: run.fields()["Reason"] not in ("None", "Priority"))
    assert run.fields()["JobState"] == "PENDING"
    world.slurm.run(["scancel", first])
    assert run.ended()["state"] == "COMPLETED", run.words()
    assert [place[1] for place in run.places()] == [f"{GROUP}-us0-{number}" for number in (1, 2, 3, 4)]
    assert run.node_logs()["node-0.log"].count("UltraServer 0000000000000001, node 0 of 4, mode 1") == 1


def test_ranks_follow_the_ultraservers_not_the_names(world: JobWorld, place_file: Any) -> None:
    for number in (1, 2, 3, 4):
        place_file(f"{GROUP}-us0-{number}", "node_id_4", str(4 - number))
        place_file(f"{GROUP}-us0-{number}", "server_id_4", "00000000000000ff")
    run = world.launch({**SMOKE, "jobs.smoke.nodes": 8, "jobs.smoke.command": ["bash", "-c", SEE]})
    assert run.ended()["state"] == "COMPLETED", run.words()
    names = [place[1] for place in run.places()]
    assert names == [
        *(f"{GROUP}-us1-{number}" for number in (1, 2, 3, 4)),
        *(f"{GROUP}-us0-{number}" for number in (4, 3, 2, 1)),
    ]
    address = run.places()[0][2]
    seen = (world.root / "seen" / "5").read_text().splitlines()
    assert seen == [
        "NEURON_RT_ULTRASERVER_MODE=1",
        "NEURON_RT_ULTRASERVER_NODE_ID=1",
        "NEURON_RT_ULTRASERVER_SERVER_ID=00000000000000ff",
        f"{address}:41000",
    ]
    # Slurm numbers nodes by name, and so are the log files called.
    assert "neuronkit[0] node 0 of 8" in run.node_logs()["node-4.log"]
    said = re.compile(r"neuronkit\[(\d)\] node \1 of 8, main node at .*")
    for only_node, ranks in ((None, list(range(8))), (0, [0]), (7, [7])):
        lines = SlurmWatch(run_text(world.slurm), mounted(run), waiting(run), only_node).look().lines
        found = [(line.node, match.group(1)) for line in lines if (match := said.fullmatch(line.text))]
        assert sorted(found) == [(rank, str(rank)) for rank in ranks]


def test_a_broken_group_is_refused_naming_the_missing_node(world: JobWorld, place_file: Any) -> None:
    place_file(f"{GROUP}-us0-3", "server_id_4", "00000000000000aa")
    run = world.launch({**SMOKE, "jobs.smoke.nodes": 8})
    assert run.ended() == {"state": "FAILED", "exit_code": 78, "attempt": 1}, run.words()
    assert "UltraServer 0000000000000001 lacks node 2 of 4" in run.words()


def test_a_node_in_the_wrong_mode_is_refused(world: JobWorld, place_file: Any) -> None:
    place_file(f"{GROUP}-us1-2", "ultraserver_mode", "4")
    run = world.launch({**SMOKE, "jobs.smoke.nodes": 8})
    assert run.ended() == {"state": "FAILED", "exit_code": 78, "attempt": 1}, run.words()
    assert (
        f"{GROUP}-us1-2 refused: the driver offers the UltraServer modes 4 (X1); groups of 4 nodes need 1 (X4)"
        in run.words()
    )


def test_a_job_of_several_ultraservers_gets_whole_ones(tmp_path: Path) -> None:
    """The first ones, by counts: Slurm cannot be asked for any two."""
    changes = {**SMOKE, "clusters.train.nodes": 12, "jobs.smoke.nodes": 8}
    with slurm_of(changes) as slurm:
        occupy(slurm, f"{GROUP}-us0-4")
        world = JobWorld(slurm, tmp_path)
        run = world.launch({**changes, "jobs.smoke.command": ["true"]})
        run.wait_until("Slurm says why it waits", lambda: run.fields()["Reason"] not in ("None", "Priority"))
        assert run.fields()["JobState"] == "PENDING"
        slurm.run(["scancel", "--name=wrap"])
        assert run.ended()["state"] == "COMPLETED", run.words()
        assert {place[3] for place in run.places()} == {"0000000000000001", "0000000000000002"}
        assert [place[4] for place in run.places()] == ["0", "1", "2", "3"] * 2
