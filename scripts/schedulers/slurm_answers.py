"""What Slurm's commands print, read. Pure; only columns that 22.05 and 25.11 both know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

SQUEUE_FORMAT: Final = "%i|%T|%D|%k|%j|%r"
"""id, state, nodes, comment, name, reason: ours have no | in the first five."""
SINFO_FORMAT: Final = "%N|%T|%E"
"""node, state with its flag, reason"""
# squeue(1), "Job state codes": all others are ends.
ACTIVE_STATES: Final = frozenset(
    {
        "PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
        "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED", "RESV_DEL_HOLD",
    }
)  # fmt: skip
WAITING_STATES: Final = frozenset(
    {"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING"}
)
_NODE_FLAGS: Final = "*~#!%$@^-+"


@dataclass(frozen=True, slots=True)
class SlurmJob:
    id: str
    state: str
    nodes: int | None
    comment: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, as its own script wrote it down."""

    state: str
    exit_code: int | None
    attempt: int | None


@dataclass(frozen=True, slots=True)
class NodeState:
    name: str
    state: str
    """Without its flag."""
    flag: str
    """sinfo's: * does not answer, ~ powered down, # powering up, …"""
    reason: str

    @property
    def group(self) -> str:
        """PCS calls nodes GROUP-N."""
        return self.name.rpartition("-")[0]

    @property
    def words(self) -> str:
        meaning = {"*": "not answering", "~": "powered down", "#": "starting", "%": "being powered down"}
        return f"{self.state} ({meaning[self.flag]})" if self.flag in meaning else self.state


def parse_jobs(text: str) -> tuple[SlurmJob, ...]:
    """Of `squeue -h -o SQUEUE_FORMAT`; lines of another shape are skipped."""
    return tuple(job for line in text.splitlines() if (job := _job(line)) is not None)


def _job(line: str) -> SlurmJob | None:
    fields = line.split("|", 5)
    if len(fields) != 6:
        return None
    id_, state, nodes, comment, name, reason = (field.strip() for field in fields)
    if not id_ or not state:
        return None
    return SlurmJob(
        id=id_,
        state=state.upper(),
        nodes=int(nodes) if nodes.isdecimal() else None,
        comment=_given(comment),
        name=name,
        reason="" if reason in ("None", "N/A") else _given(reason),
    )


def _given(text: str) -> str:
    """Slurm's word for nothing is (null)."""
    return "" if text == "(null)" else text


def parse_nodes(text: str) -> tuple[NodeState, ...]:
    """Of `sinfo -h -N -o SINFO_FORMAT`; a node in several partitions counts once."""
    found: dict[str, NodeState] = {}
    for line in text.splitlines():
        fields = line.split("|", 2)
        if len(fields) != 3 or not fields[0].strip():
            continue
        name, raw, reason = (field.strip() for field in fields)
        state = raw.rstrip(_NODE_FLAGS)
        found[name] = NodeState(name, state, raw[len(state) :][:1], "" if reason == "none" else reason)
    return tuple(found.values())


def node_counts(nodes: Iterable[NodeState]) -> str:
    """Such as "3 idle, 1 down (not answering)"."""
    counts = Counter(node.words for node in nodes)
    return ", ".join(f"{count} {words}" for words, count in sorted(counts.items()))


def parse_ended(text: str) -> Ended | None:
    """Of ended.json; None while it is not whole."""
    try:
        body = json.loads(text)
    except ValueError:
        return None
    if not isinstance(body, dict) or not isinstance(body.get("state"), str):
        return None
    return Ended(body["state"], _whole(body.get("exit_code")), _whole(body.get("attempt")))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def parse_files(text: str) -> Iterator[tuple[str, str]]:
    """Of `grep -H '' FILE…`: path and whole content."""
    contents: dict[str, list[str]] = {}
    for line in text.splitlines():
        path, separator, content = line.partition(":")
        if separator:
            contents.setdefault(path, []).append(content)
    for path, lines in contents.items():
        yield path, "\n".join(lines)


def parse_frames(output: bytes) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Of `slurm_scripts.watch_script`: the words of each header, and its bytes. What was cut off is left out."""
    while output:
        header, _, rest = output.partition(b"\n")
        words = tuple(header.decode(errors="replace").split(" "))
        if len(words) < 2 or not words[1].isdecimal() or len(rest) < int(words[1]):
            return
        size = int(words[1])
        yield words, rest[:size]
        output = rest[size + 1 :]
