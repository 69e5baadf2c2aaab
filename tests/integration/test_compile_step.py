"""The compile cache in the bootstrap: announced while it is cold, filled by one node where the job says how."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.environments import plan_of
from tests.integration.bootstrap_node import World, finish

pytestmark = pytest.mark.timeout(60)

COMMAND = {"jobs.smoke.command": ["bash", "job.sh"]}
ONE_NODE = {**COMMAND, "clusters.train.instance_type": "trn1.2xlarge", "clusters.train.nodes": 1}
TWO_NODES = {**COMMAND, "clusters.train.nodes": 2}
COMPILE = 'echo "rank $NEURONKIT_NODE_RANK, root ${NEURON_RT_ROOT_COMM_ID:-none}" >>"$SEEN/compiled"'
RUN = 'echo ran >>"$SEEN/ran-$NEURONKIT_NODE_RANK"'
CACHE = "compile-cache/sdk-2.32.0/trn1.32xlarge-lnc1"
POLL = 15

MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    worlds: list[World] = []

    def make(base: dict[str, Any], compile_script: str | None = None) -> World:
        compiling = {"jobs.smoke.compile_command": ["bash", "-c", compile_script]} if compile_script else {}
        world = World(tmp_path / f"world-{len(worlds)}", plan_of({**base, **compiling}))
        world.hold_timers(world.job.sync_seconds)
        worlds.append(world)
        return world

    yield make
    survivors = [line for world in worlds for line in world.survivors()]
    for world in worlds:
        world.close()
    assert survivors == []


def test_without_a_compile_command_a_cold_cache_is_announced_and_a_warm_one_is_not(
    make_world: MakeWorld,
) -> None:
    world = make_world(TWO_NODES)
    assert f"the compile cache s3://bucket/{CACHE} is cold" in world.run(RUN)[1]
    assert "is cold" not in world.run(RUN, rank=1)[1]
    world.store(f"{CACHE}/graph", b"")
    assert "is cold" not in world.run(RUN)[1]


def test_a_neighbours_cache_is_not_the_jobs_own(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES)
    world.store(f"{CACHE}2/graph", b"")
    assert "is cold" in world.run(RUN)[1]


def test_rank_0_compiles_alone_before_the_command_and_the_others_take_its_word(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, COMPILE)
    assert world.run(RUN)[0] == 0
    status, log = world.run(RUN, rank=1)
    assert (status, "waiting until node 0 has compiled" in log) == (0, True)
    assert (world.seen / "compiled").read_text() == "rank 0, root none\n"
    assert world.run_path("compilation", "attempt-1").read_text() == "compiled\n"


def test_another_node_waits_for_the_word(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, COMPILE)
    world.hold_timers(POLL)
    waiting = world.start(RUN, rank=1)
    (world.timers / f"{POLL}.waiting").read_text()
    assert not (world.seen / "ran-1").exists()
    assert world.run(RUN)[0] == 0
    (world.timers / str(POLL)).write_text("")
    status, log = finish(waiting)
    assert status == 0, log
    assert (world.seen / "ran-1").exists()


def test_a_warm_cache_is_used_as_it_is(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, COMPILE)
    world.store(f"{CACHE}/graph", b"")
    assert world.run(RUN)[0] == 0
    assert not (world.seen / "compiled").exists()
    assert world.run_path("compilation", "attempt-1").read_text() == "warm\n"


def test_a_compile_command_that_fails_ends_the_job_and_the_other_nodes(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, "exit 5")
    status, log = world.run(RUN)
    assert status == 5
    assert "the compile command ended with exit code 5" in log
    status, log = world.run(RUN, rank=1)
    assert status == 69
    assert "node 0 could not compile, see its log" in log
    assert not list(world.seen.glob("ran-*"))


def test_a_node_does_not_wait_for_ever(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, COMPILE)
    status, log = world.run(RUN, rank=1)
    assert status == 69
    assert "node 0 has not compiled within 15 minutes" in log


def test_one_node_has_nobody_to_tell(make_world: MakeWorld) -> None:
    world = make_world(ONE_NODE, COMPILE)
    assert world.run(RUN)[0] == 0
    assert (world.seen / "compiled").exists()
    assert not world.run_path("compilation").exists()


def test_a_signal_stops_the_compilation(make_world: MakeWorld) -> None:
    world = make_world(ONE_NODE, 'trap "exit 9" TERM; echo >"$SEEN/at-compile"; while :; do sleep 60; done')
    world.pipe(world.seen / "at-compile")
    world.hold_timers(15)
    node = world.start(RUN)
    (world.seen / "at-compile").read_text()
    node.send_signal(signal.SIGTERM)
    status, log = finish(node)
    assert status == 9, log
    assert "stopping the command" in log
    assert not list(world.seen.glob("ran-*"))


def test_a_listing_that_fails_does_not_stop_the_job(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, COMPILE)
    world.fail(9, "--query KeyCount")
    assert world.run(RUN)[0] == 0
    assert not (world.seen / "compiled").exists()


def test_an_image_without_boto3_has_no_cache_to_fill(make_world: MakeWorld) -> None:
    world = make_world(TWO_NODES, COMPILE)
    world.has_boto3(False)
    assert world.run(RUN)[0] == 0
    assert world.run(RUN, rank=1)[0] == 0
    assert not (world.seen / "compiled").exists()
