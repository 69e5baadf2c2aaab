"""The place of a node in its UltraServer, and the order of a job's nodes by it. Runs on nodes: standard library only.

    ultraserver.py read --server-file F --node-file F --mode-file F --nodes N [--modes 1,2] [--sysfs ROOT]
        prints `SERVER NODE MODE` of this node, as a group of N nodes sees it
    ultraserver.py order --nodes N
        reads a line `INDEX NAME ADDRESS SERVER NODE MODE` of each node of the job, prints a line
        `RANK INDEX NAME ADDRESS SERVER NODE` of each, by UltraServer and node in it

`{nodes}` in a file name stands for N. Where no source says which of the driver's modes fits groups of N nodes, MODE is
`-`. Exit code 78: the nodes are not what the job was planned for; the words are on standard error.
The rules are those of aws-neuron-sdk@81ce03ae src/k8/k8s-ultraserver-init-script.sh, lines 31-150.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SYSFS = "/sys/class/neuron_device"
REFUSED = 78
NO_SERVER, NO_NODE, NO_MODE = "0000000000000000", -1, "-"
MODE_NAMES = {"1": "X4", "2": "X2H", "3": "X2V", "4": "X1"}
BUSY = "busy"
"""What the driver answers while the members of an UltraServer find each other (aws-neuron-driver v3/neuron_pelect.c)."""
SERVER = re.compile(r"[0-9A-Za-z.-]+")
NODE_ID = re.compile(r"-?[0-9]+")


class RefusedError(Exception):
    """The message says what is wrong with which node."""


@dataclass(frozen=True)
class Files:
    server: str
    node: str
    mode: str


@dataclass(frozen=True)
class Place:
    index: int
    """The scheduler's number of the node."""
    name: str
    address: str
    server: str
    node: int
    mode: str

    @property
    def words(self) -> str:
        return f"{self.name} ({self.address})"


# ---- read


def read_place(
    root: Path, files: Files, nodes: int, modes: Sequence[str], wait_seconds: float
) -> tuple[str, int, str]:
    """Server, node and mode. Waits for a driver that is busy, so long at most."""
    deadline = time.monotonic() + wait_seconds
    mode = _mode(_settled(root / _named(files.mode, nodes), deadline), nodes, modes) if modes else NO_MODE
    paths = root / _named(files.server, nodes), root / _named(files.node, nodes)
    if nodes == 1 and not all(path.exists() for path in paths):
        # Only groups have ids on every generation; a node alone needs none.
        return NO_SERVER, NO_NODE, mode
    # The node's id first: while the driver is busy, only the server's reads like an answer.
    node = _matching(paths[1], NODE_ID, "no number", deadline)
    server = _matching(paths[0], SERVER, "no id of an UltraServer", deadline)
    if nodes > 1 and (_is_none(server) or int(node) < 0):
        raise RefusedError(
            f"the driver reports no UltraServer of {nodes} nodes (server {server}, node {node}): the node is no member, "
            "or its links to the other members do not work"
        )
    return server, int(node), mode


def _matching(path: Path, pattern: re.Pattern[str], otherwise: str, deadline: float) -> str:
    text = _settled(path, deadline)
    if not pattern.fullmatch(text):
        raise RefusedError(f"{path} says {text!r}, which is {otherwise}")
    return text


def _named(name: str, nodes: int) -> str:
    return name.replace("{nodes}", str(nodes))


def _is_none(server: str) -> bool:
    return not server.strip("0")


def _settled(path: Path, deadline: float) -> str:
    while True:
        text = _text(path)
        if text != BUSY:
            return text
        if time.monotonic() >= deadline:
            raise RefusedError(
                f"{path} still says {BUSY}: the members of the UltraServer do not find each other"
            )
        time.sleep(1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise RefusedError(
            f"{path}: {error.strerror}: the driver gives no place in an UltraServer; wrong instance type, or a driver "
            "that is too old"
        ) from None


def _mode(offered: str, nodes: int, wanted: Sequence[str]) -> str:
    """The first wanted one of those that the driver offers, such as "1,3,4"."""
    modes = [mode for mode in re.split(r"[\s,]+", offered) if mode]
    for mode in wanted:
        if mode in modes:
            return mode
    raise RefusedError(
        f"the driver offers the UltraServer modes {_mode_words(modes)}; groups of {nodes} nodes need {_mode_words(wanted)}"
    )


def _mode_words(modes: Iterable[str]) -> str:
    named = [f"{mode} ({MODE_NAMES[mode]})" if mode in MODE_NAMES else mode for mode in modes]
    return " or ".join(named) or "none"


# ---- order


def parse(lines: Iterable[str]) -> list[Place]:
    """Blank lines do not count."""
    places = [_place(line) for line in lines if line.strip()]
    twice = sorted(index for index, count in Counter(place.index for place in places).items() if count > 1)
    if twice:
        raise RefusedError(f"node {_joined(twice)} told its place more than once")
    if not places:
        raise RefusedError("no node told its place")
    return places


def _place(line: str) -> Place:
    words = line.split()
    if len(words) == 6:
        index, name, address, server, node, mode = words
        if index.isdecimal() and SERVER.fullmatch(server) and NODE_ID.fullmatch(node):
            return Place(int(index), name, address, server, int(node), mode)
    raise RefusedError(f"{line.strip()!r} is no place: INDEX NAME ADDRESS SERVER NODE MODE is")


def order(places: Sequence[Place], nodes: int) -> list[Place]:
    """By rank: the nodes of an UltraServer follow each other, by their ids."""
    problems = list(_problems(places, nodes)) if nodes > 1 else []
    if problems:
        raise RefusedError("; ".join(problems))
    return sorted(places, key=lambda place: (place.server, place.node, place.index))


def _problems(places: Sequence[Place], nodes: int) -> Iterator[str]:
    groups: dict[str, list[Place]] = {}
    for place in sorted(places, key=lambda place: (place.server, place.node, place.index)):
        if _is_none(place.server) or place.node < 0:
            yield f"{place.words} reports no UltraServer"
        else:
            groups.setdefault(place.server, []).append(place)
    for server, members in groups.items():
        yield from _group_problems(server, members, nodes)


def _group_problems(server: str, members: Sequence[Place], nodes: int) -> Iterator[str]:
    there = f"there are {', '.join(f'{place.node}: {place.words}' for place in members)}"
    ids = [place.node for place in members]
    missing = sorted(set(range(nodes)) - set(ids))
    strange = sorted({node for node in ids if node >= nodes})
    twice = sorted(node for node, count in Counter(ids).items() if count > 1)
    if missing:
        yield f"UltraServer {server} lacks node {_joined(missing)} of {nodes}; {there}"
    if strange:
        yield f"UltraServer {server} has a node {_joined(strange)}, but groups of {nodes} end at {nodes - 1}; {there}"
    if twice:
        yield f"UltraServer {server} has node {_joined(twice)} more than once; {there}"
    modes = sorted({place.mode for place in members})
    if len(modes) > 1:
        yield f"UltraServer {server} has nodes of modes {_joined(modes)}: one group works in one mode; {there}"


def _joined(items: Iterable[object]) -> str:
    return ", ".join(str(item) for item in items)


# ---- the command


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        if options.action == "read":
            _print_place(options)
        else:
            ordered = order(parse(sys.stdin), options.nodes)
            for rank, place in enumerate(ordered):
                print(rank, place.index, place.name, place.address, place.server, place.node)
    except RefusedError as error:
        print(error, file=sys.stderr)
        return REFUSED
    return 0


def _print_place(options: argparse.Namespace) -> None:
    files = Files(options.server_file, options.node_file, options.mode_file)
    modes = [mode for mode in options.modes.split(",") if mode]
    place = read_place(Path(options.sysfs), files, options.nodes, modes, options.wait_seconds)
    if not modes:
        print(
            f"not checked: no source says which UltraServer mode groups of {options.nodes} nodes need",
            file=sys.stderr,
        )
    print(*place)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="A node's place in its UltraServer, and the order of nodes by it."
    )
    actions = parser.add_subparsers(dest="action", required=True)
    read = actions.add_parser("read", help="print SERVER NODE MODE of this node")
    read.add_argument("--sysfs", default=os.environ.get("NEURONKIT_SYSFS_ROOT", SYSFS))
    for name in ("server", "node", "mode"):
        read.add_argument(f"--{name}-file", required=True, metavar="NAME")
    read.add_argument("--nodes", type=_group_size, required=True, help="nodes of a group")
    read.add_argument("--modes", default="", help="modes that fit, the better first; left out: not known")
    read.add_argument("--wait-seconds", type=float, default=120, help="for a driver that is busy")
    ordering = actions.add_parser("order", help="order places, read from standard input")
    ordering.add_argument("--nodes", type=_group_size, required=True, help="nodes of a group")
    return parser


def _group_size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of nodes")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
