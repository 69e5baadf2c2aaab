"""The logs of a run: which node they are of, also where Slurm numbers nodes in another order than the kit."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.schedulers.remote_answer import Answer
from scripts.schedulers.scheduler import RunLine, ScheduledRun
from scripts.schedulers.slurm_watch import SlurmWatch
from tests.unit.scripts.schedulers.fake_slurm import FakeSlurm

RUN = ScheduledRun("smoke-1", "1", "FAILED", is_active=False, has_failed=True, order=1, nodes=3)
ORDER = "0 2 trn2-3 10.0.0.3 s1 0\n1 0 trn2-1 10.0.0.1 s1 1\n2 1 trn2-2 10.0.0.2 s2 0\n"
"""RANK NUMBER NAME ADDRESS ULTRASERVER NODE"""


@pytest.fixture
def slurm(tmp_path: Path) -> FakeSlurm:
    fake = FakeSlurm(tmp_path / "slurm")
    (fake.directory / "queue").write_text("1|FAILED|3|neuronkit:pilot|smoke-1|NonZeroExitCode\n")
    return fake


def a_run(directory: Path, orders: dict[int, str]) -> Path:
    for attempt in (1, 2):
        place = directory / f"attempt-{attempt}"
        (place / "failures").mkdir(parents=True)
        for number in range(3):
            (place / f"node-{number}.log").write_text(f"{attempt}: number {number}\n")
        if attempt in orders:
            (place / "places.ordered").write_text(orders[attempt])
    (directory / "job.log").write_text("the script\n")
    (directory / "attempt-2" / "failures" / "2").write_text("5 trn2-3 2 17\n")
    return directory


def watch(slurm: FakeSlurm, directory: Path, only_node: int | None = None) -> SlurmWatch:
    def run_text(text: str, what: str) -> Answer:
        answer = slurm.run(text)
        assert answer.exit_code == 0, answer.stderr
        return answer

    return SlurmWatch(run_text, str(directory), RUN, only_node)


def test_nodes_have_the_ranks_of_their_attempt(slurm: FakeSlurm, tmp_path: Path) -> None:
    followed = watch(slurm, a_run(tmp_path / "run", {2: ORDER}))
    assert followed.look().lines == (
        RunLine(None, "the script"),
        *(RunLine(number, f"1: number {number}") for number in range(3)),
        RunLine(0, "2: number 2"),
        RunLine(1, "2: number 0"),
        RunLine(2, "2: number 1"),
    )
    assert followed.look().lines == ()
    words = followed.failure(RUN).message.splitlines()
    assert words[1:] == ["  node 0 (trn2-3): exit code 17", "  node 0: 2: number 2"]


@pytest.mark.parametrize(("node", "number"), [(0, 2), (1, 0), (2, 1)])
def test_one_node_is_chosen_by_its_rank(slurm: FakeSlurm, tmp_path: Path, node: int, number: int) -> None:
    lines = watch(slurm, a_run(tmp_path / "run", {1: ORDER, 2: ORDER}), node).look().lines
    expected = [(None, "the script"), (node, f"1: number {number}"), (node, f"2: number {number}")]
    assert [(line.node, line.text) for line in lines] == expected


def test_without_an_order_slurms_numbers_are_the_ranks(slurm: FakeSlurm, tmp_path: Path) -> None:
    followed = watch(slurm, a_run(tmp_path / "run", {}), 2)
    assert [line.text for line in followed.look().lines] == ["the script", "1: number 2", "2: number 2"]
    assert followed.failure(RUN).message.splitlines()[1] == "  node 2 (trn2-3): exit code 17"
