"""A node's place in its UltraServer, and the order of a job's nodes: by import, and as the program that nodes run."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.payload.node import ultraserver
from stacks.payload.node.ultraserver import Files, Place, RefusedError, order, parse, read_place

TRN2 = Files("server_id_{nodes}", "node_id_{nodes}", "ultraserver_mode")
TRN3 = Files("reservation_id", "node_id", "ultraserver_mode")
WHOLE = {
    "server_id_4": "00000000000000a2\n",
    "node_id_4": "2\n",
    "server_id_2": "00000000000000a1\n",
    "node_id_2": "0\n",
    "ultraserver_mode": "1,3,4\n",
}
"""As the driver's v3/neuron_pelect.c writes them for node 2 of a whole UltraServer."""
PAIR = {**WHOLE, "server_id_4": "0000000000000000\n", "node_id_4": "-1\n", "ultraserver_mode": "2,4\n"}
ALONE = {
    "server_id_4": "0000000000000000\n",
    "node_id_4": "-1\n",
    "server_id_2": "0000000000000000\n",
    "node_id_2": "-1\n",
    "ultraserver_mode": "4\n",
}
GEN = {"reservation_id": "00c0ffee00000001\n", "node_id": "3\n", "ultraserver_mode": "1,3,4\n"}
MODES = {4: ["1"], 2: ["3", "2"], 1: ["4"]}


def sysfs(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "names", "nodes", "place"),
    [
        (WHOLE, TRN2, 4, ("00000000000000a2", 2, "1")),
        (WHOLE, TRN2, 2, ("00000000000000a1", 0, "3")),
        (PAIR, TRN2, 2, ("00000000000000a1", 0, "2")),
        (WHOLE, TRN2, 1, ("0000000000000000", -1, "4")),
        (ALONE, TRN2, 1, ("0000000000000000", -1, "4")),
        (GEN, TRN3, 4, ("00c0ffee00000001", 3, "1")),
        (GEN, TRN3, 1, ("00c0ffee00000001", 3, "4")),
    ],
)
def test_a_node_finds_its_place(
    files: dict[str, str], names: Files, nodes: int, place: tuple[str, int, str], tmp_path: Path
) -> None:
    assert read_place(sysfs(tmp_path, files), names, nodes, MODES[nodes], 0) == place


@pytest.mark.parametrize(
    ("files", "names", "nodes", "words"),
    [
        (PAIR, TRN2, 4, "offers the UltraServer modes 2 (X2H) or 4 (X1); groups of 4 nodes need 1 (X4)"),
        (ALONE, TRN2, 2, "groups of 2 nodes need 3 (X2V) or 2 (X2H)"),
        ({**WHOLE, "ultraserver_mode": "\n"}, TRN2, 4, "modes none; groups of 4"),
        ({**WHOLE, "ultraserver_mode": "14"}, TRN2, 4, "modes 14; groups of 4"),
        ({**WHOLE, "server_id_4": "0000000000000000"}, TRN2, 4, "no UltraServer of 4 nodes"),
        ({**WHOLE, "node_id_4": "-1"}, TRN2, 4, "no UltraServer of 4 nodes"),
        ({**WHOLE, "server_id_4": "two words"}, TRN2, 4, "server_id_4 says 'two words'"),
        ({**WHOLE, "server_id_4": ""}, TRN2, 4, "server_id_4 says ''"),
        ({**WHOLE, "node_id_4": "invalid"}, TRN2, 4, "node_id_4 says 'invalid', which is no number"),
        ({**WHOLE, "node_id_4": "busy"}, TRN2, 4, "node_id_4 still says busy"),
        (WHOLE, TRN3, 4, "node_id: No such file or directory"),
        ({}, TRN2, 1, "ultraserver_mode: No such file or directory"),
    ],
)
def test_a_place_that_fits_no_group_is_refused(
    files: dict[str, str], names: Files, nodes: int, words: str, tmp_path: Path
) -> None:
    with pytest.raises(RefusedError) as refused:
        read_place(sysfs(tmp_path, files), names, nodes, MODES[nodes], 0)
    assert words in str(refused.value)


def test_a_busy_driver_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sysfs(tmp_path, {**WHOLE, "node_id_4": "busy\n", "server_id_4": "0000000000000000\n"})
    monkeypatch.setattr("time.sleep", lambda seconds: sysfs(tmp_path, WHOLE) and None)
    assert read_place(tmp_path, TRN2, 4, MODES[4], 60) == ("00000000000000a2", 2, "1")


def test_without_known_modes_the_mode_is_neither_checked_nor_told(tmp_path: Path) -> None:
    sysfs(tmp_path, {"reservation_id": "00a1", "node_id": "0"})
    assert read_place(tmp_path, TRN3, 4, [], 0) == ("00a1", 0, "-")


# --- order


def places(servers: int, nodes: int) -> list[Place]:
    """Whole UltraServers; every node's number says where it belongs."""
    return [
        Place(s * nodes + n, f"node-{s * nodes + n}", f"10.0.{s}.{n}", f"{s + 0xA0:016x}", n, "1")
        for s in range(servers)
        for n in range(nodes)
    ]


layouts = st.tuples(st.integers(1, 9), st.sampled_from([2, 4, 36]), st.randoms(use_true_random=False))


@given(layouts)
def test_whole_ultraservers_in_any_order_are_sorted_and_stay_together(
    layout: tuple[int, int, random.Random],
) -> None:
    servers, nodes, randomness = layout
    expected = places(servers, nodes)
    shuffled = randomness.sample(expected, len(expected))
    assert order(shuffled, nodes) == expected


@given(layouts)
def test_any_missing_node_is_refused_and_named(layout: tuple[int, int, random.Random]) -> None:
    servers, nodes, randomness = layout
    shuffled = randomness.sample(places(servers, nodes), servers * nodes)
    gone = shuffled.pop()
    with pytest.raises(RefusedError) as refused:
        order(shuffled, nodes)
    words = str(refused.value)
    assert f"UltraServer {gone.server} lacks node {gone.node} of {nodes};" in words
    there = [place for place in shuffled if place.server == gone.server]
    assert all(f"{place.node}: {place.name} ({place.address})" in words for place in there)
    assert words.count("UltraServer") == 1


@given(layouts)
def test_nodes_alone_are_always_in_order(layout: tuple[int, int, random.Random]) -> None:
    servers, nodes, randomness = layout
    shuffled = randomness.sample(places(servers, nodes), servers * nodes)
    some = shuffled[: len(shuffled) // 2 + 1]
    assert order(some, 1) == sorted(some, key=lambda place: place.index)


def altered(change: Callable[[list[Place]], None]) -> list[Place]:
    made = places(2, 4)
    change(made)
    return made


def place(index: int, server: int, node: int, mode: str = "1") -> Place:
    return Place(index, f"node-{index}", "10.9.9.9", f"{server:016x}", node, mode)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p.__setitem__(5, place(5, 0xA1, 2)), "has node 2 more than once"),
        (lambda p: p.__setitem__(5, place(5, 0xA1, 7)), "has a node 7, but groups of 4 end at 3"),
        (lambda p: p.__setitem__(5, place(5, 0xA1, 1, "3")), "has nodes of modes 1, 3"),
        (lambda p: p.__setitem__(5, place(5, 0, 1)), "node-5 (10.9.9.9) reports no UltraServer"),
        (lambda p: p.__setitem__(5, place(5, 0xA1, -1)), "node-5 (10.9.9.9) reports no UltraServer"),
        (lambda p: p.__setitem__(5, place(5, 0xB0, 1)), "00000000000000b0 lacks node 0, 2, 3 of 4"),
        (lambda p: p.append(place(8, 0xB0, 0)), "00000000000000b0 lacks node 1, 2, 3 of 4"),
    ],
    ids=["twice", "strange id", "mixed modes", "no server", "no id", "elsewhere", "one too many"],
)
def test_a_broken_group_is_refused(change: Callable[[list[Place]], None], words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        order(altered(change), 4)
    assert words in str(refused.value)


def test_all_broken_groups_are_named_at_once() -> None:
    left = [place for place in places(3, 4) if place.index not in (1, 10)]
    with pytest.raises(RefusedError) as refused:
        order(left, 4)
    assert "00000000000000a0 lacks node 1" in str(refused.value)
    assert "00000000000000a2 lacks node 2" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no node told its place"),
        ("\n \n", "no node told its place"),
        ("0 node-0 10.0.0.1 00a1 0", "is no place"),
        ("0 node-0 10.0.0.1 00a1 0 1 more", "is no place"),
        ("x node-0 10.0.0.1 00a1 0 1", "is no place"),
        ("0 node-0 10.0.0.1 00_a1 0 1", "is no place"),
        ("0 node-0 10.0.0.1 00a1 one 1", "is no place"),
        ("0 a 10.0.0.1 00a1 0 1\n0 b 10.0.0.2 00a1 1 1", "node 0 told its place more than once"),
    ],
)
def test_words_that_are_no_places_are_refused(text: str, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse(text.splitlines())
    assert words in str(refused.value)


# --- the program


def program(*arguments: str, text: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """As on a node: another directory, nothing of ours to import."""
    return subprocess.run(
        [sys.executable, "-I", "-S", ultraserver.__file__, *arguments],
        input=text,
        env=variables,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


READ = ("read", "--server-file", TRN2.server, "--node-file", TRN2.node, "--mode-file", TRN2.mode)


def test_read_prints_the_place(tmp_path: Path) -> None:
    sysfs(tmp_path, WHOLE)
    done = program(*READ, "--nodes", "2", "--modes", "3,2", "--sysfs", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "00000000000000a1 0 3\n", "")


def test_read_looks_where_the_environment_says(tmp_path: Path) -> None:
    sysfs(tmp_path, WHOLE)
    done = program(*READ, "--nodes", "4", "--modes", "1", NEURONKIT_SYSFS_ROOT=str(tmp_path))
    assert done.stdout == "00000000000000a2 2 1\n"


def test_read_says_what_it_did_not_check(tmp_path: Path) -> None:
    sysfs(tmp_path, WHOLE)
    done = program(*READ, "--nodes", "4", "--sysfs", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "00000000000000a2 2 -\n")
    assert "not checked" in done.stderr


def test_a_refusal_is_one_line_and_78(tmp_path: Path) -> None:
    sysfs(tmp_path, ALONE)
    done = program(*READ, "--nodes", "4", "--modes", "1", "--sysfs", str(tmp_path))
    assert (done.returncode, done.stdout) == (78, "")
    assert len(done.stderr.splitlines()) == 1


def test_order_prints_ranks() -> None:
    lines = "0 a 10.0.0.1 00b0 1 1\n1 b 10.0.0.2 00a0 1 1\n\n2 c 10.0.0.3 00b0 0 1\n3 d 10.0.0.4 00a0 0 1\n"
    done = program("order", "--nodes", "2", text=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "0 3 d 10.0.0.4 00a0 0",
        "1 1 b 10.0.0.2 00a0 1",
        "2 2 c 10.0.0.3 00b0 0",
        "3 0 a 10.0.0.1 00b0 1",
    ]


def test_order_refuses_with_78() -> None:
    done = program("order", "--nodes", "2", text="0 a 10.0.0.1 00b0 1 1\n")
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == "UltraServer 00b0 lacks node 0 of 2; there are 1: a (10.0.0.1)\n"


@pytest.mark.parametrize("nodes", ["0", "-1", "four", ""])
def test_a_group_size_that_is_none(nodes: str) -> None:
    assert program("order", "--nodes", nodes).returncode == 2


def test_thousands_of_nodes_are_ordered_at_once() -> None:
    done = program("order", "--nodes", "4", text="".join(f"{_line(p)}\n" for p in reversed(places(1000, 4))))
    assert len(done.stdout.splitlines()) == 4000


def _line(place: Place) -> str:
    return f"{place.index} {place.name} {place.address} {place.server} {place.node} {place.mode}"
