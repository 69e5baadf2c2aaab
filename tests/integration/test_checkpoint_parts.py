"""Checkpoints of which every node writes a part: what a run resumes from is whole, whoever dies when."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks.domain.render import node_bootstrap
from tests.environments import plan_of
from tests.integration.bootstrap_node import World, finish

pytestmark = pytest.mark.timeout(60)

SYNC = 60
LAST_COPY = 90
GRACE = 15
TWO_NODES = {
    "clusters.train.instance_type": "trn1.32xlarge",
    "clusters.train.nodes": 2,
    "jobs.smoke.command": ["bash", "job.sh"],
}
# Each node's part has a name of its own.
JOB = """
checkpoint() { # STEP
  mkdir -p "$NEURONKIT_CHECKPOINT_DIR/tmp-$1"
  echo weights >"$NEURONKIT_CHECKPOINT_DIR/tmp-$1/part-$NEURONKIT_NODE_RANK"
  if ((NEURONKIT_NODE_RANK == 0)); then
    echo '{"step": '$((10#$1))', "of": "the job"}' >"$NEURONKIT_CHECKPOINT_DIR/tmp-$1/checkpoint.json"
  fi
  mv "$NEURONKIT_CHECKPOINT_DIR/tmp-$1" "$NEURONKIT_CHECKPOINT_DIR/step-$1"
}
meet() { echo >"$SEEN/at-$1"; }
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(node_bootstrap, "PART_POLL_SECONDS", 600)  # three polls
    world = World(tmp_path / "world", plan_of(TWO_NODES))
    world.hold_timers(SYNC, GRACE, LAST_COPY)
    yield world
    world.close()


def meet(world: World, name: str) -> None:
    world.pipe(world.seen / f"at-{name}").read_text()


def is_complete(world: World, step: str = "000001") -> bool:
    return world.run_path("checkpoints", f"step-{step}", "checkpoint.json").exists()


def wanted(world: World, step: str) -> None:
    """As rank 0 asks."""
    place = world.run_path("copies", "attempt-1", "wanted", f"step-{step}")
    place.parent.mkdir(parents=True)
    place.touch()


def told(world: World) -> set[str]:
    place = world.run_path("copies", "attempt-1")
    return {str(path.relative_to(place)) for path in place.rglob("node-*")}


def copied_once(world: World) -> None:
    world.tick(SYNC)
    world.tick(SYNC)  # the second timer starts when the first copy is done


def test_a_checkpoint_counts_once_every_part_is_in_the_bucket(world: World) -> None:
    main = world.start(JOB + "checkpoint 000001; meet first; meet second\n")
    meet(world, "first")
    copied_once(world)
    assert world.run_path("checkpoints", "step-000001", "part-0").exists()
    assert not is_complete(world)
    assert world.run(JOB + "checkpoint 000001\n", rank=1)[0] == 0
    copied_once(world)
    assert world.run_path("checkpoints", "step-000001", "part-1").exists()
    assert '"of": "the job"' in world.run_path("checkpoints", "step-000001", "checkpoint.json").read_text()
    meet(world, "second")
    code, log = finish(main)
    assert code == 0, log


def test_a_part_that_cannot_be_copied_keeps_the_step_from_counting(world: World) -> None:
    main = world.start(JOB + "checkpoint 000001; meet first; meet second\n")
    meet(world, "first")
    copied_once(world)
    world.fail(99, f"--exclude checkpoint.json {world.root}/node-1/")
    assert world.run(JOB + "checkpoint 000001\n", rank=1)[0] == 74
    world.tick(SYNC)  # the main node hears of it
    code, log = finish(main)
    assert (code, is_complete(world)) == (69, False), log


@pytest.mark.parametrize("has_part", [True, False])
def test_a_node_tells_when_it_has_copied_what_it_has(world: World, has_part: bool) -> None:
    node = world.start(
        JOB + ("checkpoint 000001; " if has_part else "") + "meet first; meet second\n", rank=1
    )
    meet(world, "first")
    copied_once(world)
    assert told(world) == set()
    wanted(world, "000001")
    copied_once(world)
    assert told(world) == {"step-000001/node-1"}
    assert world.run_path("checkpoints", "step-000001", "part-1").exists() == has_part
    meet(world, "second")
    assert finish(node)[0] == 0
    assert told(world) == {"step-000001/node-1", "ended/node-1"}


def test_a_node_whose_copy_fails_tells_nothing(world: World) -> None:
    wanted(world, "000001")
    world.fail(99, "s3 sync")
    code, log = world.run(JOB + "checkpoint 000001\n", rank=1)
    assert code == 74, log
    assert told(world) == set()


def test_a_success_waits_for_the_others_last_parts_and_says_which_step_lacks_them(world: World) -> None:
    code, log = world.run(JOB + "checkpoint 000001\n")
    assert (code, is_complete(world)) == (74, False)
    assert "not every node has told within 30 minutes that its part of step-000001 is in the bucket" in log


def test_the_last_part_may_come_after_rank_0s(world: World) -> None:
    world.hold_timers(600)
    main = world.start(JOB + "checkpoint 000001\n")
    (world.timers / "600.waiting").read_text()
    assert world.run(JOB + "checkpoint 000001\n", rank=1)[0] == 0
    (world.timers / "600").write_text("")
    assert finish(main)[0] == 0
    assert is_complete(world)


def test_after_a_failure_nobody_is_waited_for(world: World) -> None:
    code, log = world.run(JOB + "checkpoint 000001; exit 3\n")
    assert (code, is_complete(world)) == (3, False), log


def test_a_stop_waits_no_longer_than_the_last_copy_may_take(world: World) -> None:
    world.hold_timers(600)
    world.pipe(world.seen / "never")
    main = world.start(JOB + 'checkpoint 000001; meet first; read -r _ <"$SEEN/never" & wait $!\n')
    meet(world, "first")
    main.send_signal(signal.SIGTERM)
    (world.timers / "600.waiting").read_text()
    world.tick(LAST_COPY)
    assert finish(main)[0] == 143
    assert world.run_path("checkpoints", "step-000001", "part-0").exists()
    assert not is_complete(world)


def test_a_directory_that_the_command_has_removed_meanwhile_counts_with_its_own_description(
    world: World,
) -> None:
    main = world.start(
        JOB
        + 'checkpoint 000001; meet first; meet second; rm -r "$NEURONKIT_CHECKPOINT_DIR/step-000001"; meet third; meet fourth\n'
    )
    meet(world, "first")
    copied_once(world)
    meet(world, "second")
    meet(world, "third")
    assert world.run("true\n", rank=1)[0] == 0
    copied_once(world)
    assert '"of": "the job"' in world.run_path("checkpoints", "step-000001", "checkpoint.json").read_text()
    meet(world, "fourth")
    assert finish(main)[0] == 0


def test_an_earlier_attempts_word_does_not_count(world: World) -> None:
    assert world.run("true\n", rank=1)[0] == 0
    code, log = world.run(JOB + "checkpoint 000001; exit 3\n", variables={"AWS_BATCH_JOB_ATTEMPT": "2"})
    assert (code, is_complete(world)) == (3, False), log
