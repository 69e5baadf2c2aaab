"""Slurm's one-word reasons become sentences with something to do."""

from __future__ import annotations

import pytest

from scripts.schedulers.slurm_words import ended_words, sbatch_words, waiting_words

WAITS = [
    ("Resources", "enough of them are free"),
    ("Priority", "jobs before it"),
    ("ReqNodeNotAvail, UnavailableNodes:trn2-[1-4]", "down, drained or reserved"),
    ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", "down, drained"),
    ("PartitionTimeLimit", "shorten `time_limit_minutes`"),
    ("PartitionNodeLimit", "more nodes than the queue has"),
    ("BadConstraints", "can never start"),
    ("QOSMaxJobsPerUserLimit", "sacctmgr show qos"),
    ("AssocGrpNodeLimit", "sacctmgr show assoc"),
    ("JobHeldUser", "scontrol release 42"),
    ("launch failed requeued held", "scontrol release 42"),
    ("BeginTime", "requeued job waits"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "words"), WAITS)
def test_a_reason_is_explained_and_quoted(reason: str, words: str) -> None:
    said = waiting_words(reason, "42")
    assert words in said
    assert f"Slurm says {reason}" in said


def test_an_unknown_reason_is_passed_on_and_none_is_said() -> None:
    assert waiting_words("SomethingNew", "42") == "Slurm says: SomethingNew"
    assert "no reason" in waiting_words("", "42")


@pytest.mark.parametrize(
    ("state", "reason", "code", "words"),
    [
        ("TIMEOUT", "TimeLimit", 124, "it reached its time limit; exit code 124; Slurm says TimeLimit"),
        ("CANCELLED", "", None, "it was cancelled"),
        ("NODE_FAIL", "NodeDown", None, "a node failed and the job was not requeued; Slurm says NodeDown"),
        ("SOMETHING", "", 0, "SOMETHING"),
    ],
)
def test_an_end_is_explained(state: str, reason: str, code: int | None, words: str) -> None:
    assert ended_words(state, reason, code) == words


def test_a_refusal_is_slurms_sentence_said_once() -> None:
    stderr = (
        "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
        "allocation failure: Requested node configuration is not available\n\n"
        "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
    )
    assert sbatch_words(stderr) == (
        "Batch job submission failed: Requested node configuration is not available; "
        "Requested node configuration is not available"
    )
