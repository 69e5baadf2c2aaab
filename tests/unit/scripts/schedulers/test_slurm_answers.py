"""What Slurm prints is read back as it was meant, and what it never prints does no harm."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.schedulers.slurm_answers import (
    Ended,
    NodeState,
    SlurmJob,
    node_counts,
    parse_ended,
    parse_files,
    parse_frames,
    parse_jobs,
    parse_nodes,
)

WORD = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,20}", fullmatch=True)
JOBS = st.builds(
    SlurmJob,
    id=st.integers(1, 10**9).map(str),
    state=st.sampled_from(["PENDING", "RUNNING", "COMPLETED", "NODE_FAIL"]),
    nodes=st.integers(1, 99999),
    comment=WORD,
    name=WORD,
    reason=st.one_of(WORD, st.just("ReqNodeNotAvail, UnavailableNodes:a-[1-4]|b")).filter(
        lambda reason: reason not in ("None", "N/A")
    ),
)


@given(st.lists(JOBS))
def test_every_job_that_squeue_prints_is_read_back(jobs: list[SlurmJob]) -> None:
    text = "".join(f"{j.id}|{j.state}|{j.nodes}|{j.comment}|{j.name}|{j.reason}\n" for j in jobs)
    assert parse_jobs(text) == tuple(jobs)


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    parse_jobs(text)
    parse_nodes(text)
    parse_ended(text)
    list(parse_files(text))
    list(parse_frames(text.encode()))


def test_slurms_words_for_nothing_are_nothing() -> None:
    (job,) = parse_jobs("7|RUNNING|2|(null)|other|None\n")
    assert (job.comment, job.reason) == ("", "")


NODES = [
    ("a-1|idle|none", NodeState("a-1", "idle", "", "")),
    ("a-1|idle~|none", NodeState("a-1", "idle", "~", "")),
    ("a-1|down*|Not responding", NodeState("a-1", "down", "*", "Not responding")),
    ("a-1|drained|gres/neuron count|low", NodeState("a-1", "drained", "", "gres/neuron count|low")),
    ("a-b-us0-12|allocated#|none", NodeState("a-b-us0-12", "allocated", "#", "")),
]


@pytest.mark.parametrize(("line", "node"), NODES)
def test_a_node_is_read_with_its_flag(line: str, node: NodeState) -> None:
    assert parse_nodes(line + "\n") == (node,)


def test_nodes_are_counted_once_by_state_and_belong_to_their_group() -> None:
    nodes = parse_nodes("t-us0-1|idle|none\nt-us0-1|idle|none\nt-us0-2|idle~|none\nt-us1-1|down*|gone\n")
    assert node_counts(nodes) == "1 down (not answering), 1 idle, 1 idle (powered down)"
    assert [node.group for node in nodes] == ["t-us0", "t-us0", "t-us1"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": 7}', '"FAILED"', "null"])
def test_an_end_that_is_not_whole_is_none(text: str) -> None:
    assert parse_ended(text) is None


@pytest.mark.parametrize(("code", "read"), [(17, 17), (None, None), ("17", None), (True, None)])
def test_an_end_is_read(code: object, read: int | None) -> None:
    text = json.dumps({"state": "FAILED", "exit_code": code, "attempt": 2})
    assert parse_ended(text) == Ended("FAILED", read, 2)


FRAMES = st.lists(st.tuples(st.sampled_from(["job", "ended", "log"]), st.binary(max_size=200)))


@given(FRAMES, st.integers(0, 400))
def test_frames_come_back_whole_and_a_cut_loses_only_the_last(
    frames: list[tuple[str, bytes]], kept: int
) -> None:
    whole = b"".join(b"%s %d\n%s\n" % (name.encode(), len(body), body) for name, body in frames)
    assert [(header[0], body) for header, body in parse_frames(whole)] == frames
    cut = [(header[0], body) for header, body in parse_frames(whole[:kept])]
    assert cut == frames[: len(cut)]


def test_files_are_put_together_from_their_lines() -> None:
    text = "j/r-1/ended.json:{\nj/r-1/ended.json:}\nj/r-1/job-id:5\n"
    assert dict(parse_files(text)) == {"j/r-1/ended.json": "{\n}", "j/r-1/job-id": "5"}
