"""Ranks in the order of UltraServers: the nodes of a Batch job in real bash, each with a driver's files of its own."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stacks.domain.render import node_bootstrap
from tests.environments import plan_of
from tests.integration.bootstrap_node import World

pytestmark = pytest.mark.timeout(300)

MEMBERS = {
    "clusters.train.instance_type": "trn2u.48xlarge",
    "clusters.train.nodes": 4,
    "jobs.smoke.command": ["bash", "job.sh"],
}
SHOW = 'env --null >"$SEEN/environment-$AWS_BATCH_JOB_NODE_INDEX"\n'
MEET = 'meet() { echo >"$SEEN/at-$1"; }\n'
A, B, C = 0xA0, 0xB0, 0xC0

MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    worlds: list[World] = []

    def make(**changes: Any) -> World:
        world = World(tmp_path / "world", plan_of({**MEMBERS, **changes}))
        world.hold_timers(60)
        (world.timers / "5.short").write_text(
            "0.2"
        )  # nodes that wait for each other leave each other some of the machine
        world.program("hostname", '[[ $1 == -i ]] && echo "$NODE_ADDRESS"')
        worlds.append(world)
        return world

    yield make
    survivors = [line for world in worlds for line in world.survivors()]
    for world in worlds:
        world.close()
    assert survivors == []


def driver_files(world: World, index: int, server: int, node: int) -> Path:
    """Of a node of a whole UltraServer, as the driver writes them."""
    root = world.root / f"sysfs-{index}"
    root.mkdir()
    for name, text in {
        "server_id_4": f"{server:016x}",
        "node_id_4": str(node),
        "server_id_2": f"{server - node // 2:016x}",
        "node_id_2": str(node % 2),
        "ultraserver_mode": "1,3,4" if server else "4",
    }.items():
        (root / name).write_text(text + "\n")
    return root


def start(
    world: World, index: int, place: tuple[int, int], script: str, **variables: str
) -> subprocess.Popen[str]:
    sysfs = driver_files(world, index, *place)
    node = {"NEURONKIT_SYSFS_ROOT": str(sysfs), "NODE_ADDRESS": f"10.0.0.{index}"}
    return world.start(script, rank=index, variables={**node, **variables})


def finish(node: subprocess.Popen[str]) -> tuple[int, str]:
    log, _ = node.communicate(timeout=120)
    return node.returncode, log


def run(world: World, places: list[tuple[int, int]], script: str = SHOW) -> list[tuple[int, str]]:
    return [finish(node) for node in [start(world, i, place, script) for i, place in enumerate(places)]]


def seen(world: World, index: int, *names: str) -> list[str | None]:
    entries = (world.seen / f"environment-{index}").read_text().split("\0")
    environment = dict(entry.split("=", 1) for entry in entries if entry)
    return [environment.get(name) for name in names]


def test_ranks_follow_ultraserver_and_node(make_world: MakeWorld) -> None:
    world = make_world(**{"clusters.train.nodes": 8})
    places = [(B, 2), (A, 3), (A, 1), (B, 0), (A, 0), (B, 3), (B, 1), (A, 2)]
    done = run(world, places)
    assert [code for code, _ in done] == [0] * 8, "\n".join(log for _, log in done)
    for index, place in enumerate(places):
        rank = str(sorted(places).index(place))
        expected = {
            "NEURONKIT_NODE_RANK": rank,
            "NEURONKIT_MAIN_ADDRESS": "10.0.0.4",
            "NEURON_RT_ULTRASERVER_MODE": "1",
            "NEURON_RT_ULTRASERVER_SERVER_ID": f"{place[0]:016x}",
            "NEURON_RT_ULTRASERVER_NODE_ID": str(place[1]),
            "NEURON_GLOBAL_TOPOID": rank,
            "NEURON_GLOBAL_TOPOID0_HOST": "10.0.0.4",
            "NEURON_RT_ROOT_COMM_ID": "10.0.0.4:41000",
            "JAX_COORDINATOR_ADDRESS": "10.0.0.4:41001",
            "NEURON_PJRT_PROCESS_INDEX": rank,
        }
        assert dict(zip(expected, seen(world, index, *expected), strict=True)) == expected


def test_one_listing_a_poll_tells_the_places(make_world: MakeWorld) -> None:
    world = make_world()
    run(world, [(A, 3), (A, 2), (A, 1), (A, 0)])
    assert not [
        call
        for call in world.calls()
        if call.startswith("s3 cp --only-show-errors s3://") and "/attempt-1/" in call
    ]


@pytest.mark.parametrize(
    ("size", "mode", "ranks"), [(4, "1", "3210"), (2, "3", "1032"), (1, "4", "0123")]
)  # fmt: skip
def test_groups_of_other_sizes(make_world: MakeWorld, size: int, mode: str, ranks: str) -> None:
    """Of the two pairs of an UltraServer the second has the lower id; nodes alone have none, and keep Batch's order."""
    world = make_world(**{"jobs.smoke.ultraserver_nodes": size})
    done = run(world, [(A, 3), (A, 2), (A, 1), (A, 0)])
    assert [code for code, _ in done] == [0] * 4, "\n".join(log for _, log in done)
    both = [seen(world, i, "NEURONKIT_NODE_RANK", "NEURON_RT_ULTRASERVER_MODE") for i in range(4)]
    assert both == [[rank, mode] for rank in ranks]


def test_a_node_alone_exchanges_nothing(make_world: MakeWorld) -> None:
    world = make_world(**{"jobs.smoke.nodes": 1, "jobs.smoke.ultraserver_nodes": 1})
    ((code, log),) = run(world, [(A, 3)])
    assert code == 0, log
    names = ("NEURON_RT_ULTRASERVER_MODE", "NEURON_GLOBAL_TOPOID", "NEURON_GLOBAL_TOPOID0_HOST")
    assert seen(world, 0, *names) == ["4", "0", "10.0.0.0"]
    assert not any("places" in call for call in world.calls())


def test_a_second_attempt_orders_anew(make_world: MakeWorld) -> None:
    world = make_world()
    run(world, [(A, 3), (A, 2), (A, 1), (A, 0)])
    nodes = [
        start(world, i + 10, (B, i), SHOW, AWS_BATCH_JOB_ATTEMPT="2", AWS_BATCH_JOB_NODE_INDEX=str(i))
        for i in range(4)
    ]
    assert [finish(node)[0] for node in nodes] == [0] * 4
    assert [seen(world, i, "NEURONKIT_NODE_RANK") for i in range(4)] == [["0"], ["1"], ["2"], ["3"]]


# --- refusals


def test_a_broken_ultraserver_is_refused_on_every_node_and_the_missing_node_is_named(
    make_world: MakeWorld,
) -> None:
    done = run(make_world(), [(A, 0), (A, 1), (C, 0), (A, 3)])
    assert [code for code, _ in done] == [78] * 4
    for _, log in done:
        assert "UltraServer 00000000000000a0 lacks node 2 of 4; there are 0: node-0 (10.0.0.0)" in log
        assert "UltraServer 00000000000000c0 lacks node 1, 2, 3 of 4; there are 0: node-2 (10.0.0.2)" in log


def test_a_node_outside_of_any_ultraserver_refuses_and_the_main_node_names_it(make_world: MakeWorld) -> None:
    world = make_world()
    done = run(world, [(A, 0), (A, 1), (0, -1), (A, 3)])
    assert [code for code, _ in done] == [69, 69, 78, 69]
    assert "the driver offers the UltraServer modes 4 (X1); groups of 4 nodes need 1 (X4)" in done[2][1]
    assert all("node 2 failed, see its log" in done[index][1] for index in (0, 1, 3))


def test_nodes_that_do_not_report_are_named(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_bootstrap, "POLL_SECONDS", 30)
    monkeypatch.setattr(node_bootstrap, "PLACE_MINUTES", 1)
    world = make_world()
    main = start(world, 0, (A, 0), SHOW)
    code, log = finish(main)
    assert code == 69
    assert "did not tell their places within 1 minutes: node-1 node-2 node-3" in log
    late = start(world, 2, (A, 2), SHOW)
    code, log = finish(late)
    assert (code, "node-1 node-2 node-3" in log) == (69, True)


def test_a_main_node_that_tells_no_order_is_not_waited_for_for_ever(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_bootstrap, "POLL_SECONDS", 40)
    monkeypatch.setattr(node_bootstrap, "ORDER_MINUTES", 2)
    code, log = finish(start(make_world(), 1, (A, 1), SHOW))
    assert code == 69
    assert "the main node told no order of the nodes within 2 minutes" in log


# --- rank 0 is another node than the one by which Batch judges the job


def test_metrics_and_the_mark_of_completeness_are_rank_0s(make_world: MakeWorld) -> None:
    world = make_world()
    done = run(
        world,
        [(A, 3), (A, 2), (A, 1), (A, 0)],
        'echo "{\\"by\\": $AWS_BATCH_JOB_NODE_INDEX}" >>"$NEURONKIT_METRICS_FILE"\n'
        'mkdir "$NEURONKIT_CHECKPOINT_DIR/step-000001"\n'
        'echo w >"$NEURONKIT_CHECKPOINT_DIR/step-000001/of-$AWS_BATCH_JOB_NODE_INDEX"\n',
    )
    assert [code for code, _ in done] == [0] * 4
    assert world.run_path("metrics.jsonl").read_text() == '{"by": 3}\n'
    files = {path.name for path in world.run_path("checkpoints", "step-000001").iterdir()}
    assert files == {"of-0", "of-1", "of-2", "of-3", "checkpoint.json"}


def main_waits(world: World) -> None:
    """Returns once the main node's command has ended and it looks for rank 0's end."""
    while not any("list-objects-v2" in call and "attempt-1.ended" in call for call in world.calls()):
        time.sleep(0.1)  # the nodes need the processors


@pytest.mark.parametrize(
    ("end", "code", "words"), [("exit 0", 0, "results are in"), ("exit 3", 69, "node 3 failed")]
)  # fmt: skip
def test_the_main_node_ends_after_rank_0(make_world: MakeWorld, end: str, code: int, words: str) -> None:
    """Batch ends all nodes with its main node: rank 0 would lose what it still saves."""
    world = make_world()
    script = (
        MEET
        + f'if ((NEURONKIT_NODE_RANK == 0)); then meet saving; echo "{{}}" >>"$NEURONKIT_METRICS_FILE"; {end}; fi\n'
    )
    nodes = [start(world, i, place, script) for i, place in enumerate([(A, 3), (A, 2), (A, 1), (A, 0)])]
    main_waits(world)
    assert nodes[0].poll() is None
    (world.seen / "at-saving").read_text()
    ended, log = finish(nodes[0])
    assert (ended, words in log) == (code, True), log
    assert [finish(node)[0] for node in nodes[1:]] == [0, 0, 3 if code else 0]
    assert world.run_path("metrics.jsonl").read_text() == "{}\n"


def test_a_main_node_that_is_stopped_while_it_waits_does_not_succeed(make_world: MakeWorld) -> None:
    world = make_world()
    script = MEET + "if ((NEURONKIT_NODE_RANK == 0)); then meet saving; fi\n"
    nodes = [start(world, i, place, script) for i, place in enumerate([(A, 3), (A, 2), (A, 1), (A, 0)])]
    main_waits(world)
    nodes[0].send_signal(signal.SIGTERM)
    assert finish(nodes[0])[0] == 143
    (world.seen / "at-saving").read_text()
    assert [finish(node)[0] for node in nodes[1:]] == [0, 0, 0]
