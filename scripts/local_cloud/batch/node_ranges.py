"""`targetNodes` of a multi-node definition: "0:3", "0:", ":3" or "2"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scripts.local_cloud.batch.errors import ClientException

_RANGE = re.compile(r"(\d+)?(:)?(\d+)?$")
_MAX_RANGES = 5


@dataclass(frozen=True)
class NodeRange:
    """`last` None: open-ended, so the number of nodes may be overridden."""

    first: int
    last: int | None

    def nodes(self, num_nodes: int) -> range:
        return range(self.first, num_nodes if self.last is None else self.last + 1)


def parse(text: str) -> NodeRange:
    match = _RANGE.match(text or "")
    if match is None or not (match.group(1) or match.group(3)) or (match.group(3) and not match.group(2)):
        raise ClientException(f"Node range '{text}' is not valid")
    first, colon, last = match.groups()
    if not colon:
        return NodeRange(int(first), int(first))
    parsed = NodeRange(int(first or 0), int(last) if last else None)
    if parsed.last is not None and parsed.last < parsed.first:
        raise ClientException(f"Node range '{text}' is not valid: it ends before it begins")
    return parsed


def check_cover(ranges: list[NodeRange], num_nodes: int) -> None:
    """Every node 0..numNodes-1 belongs to exactly one range, as Batch demands."""
    if not 1 <= len(ranges) <= _MAX_RANGES:
        raise ClientException(f"A job has between 1 and {_MAX_RANGES} node ranges, {len(ranges)} given")
    seen: set[int] = set()
    for item in ranges:
        if item.first >= num_nodes or (item.last is not None and item.last >= num_nodes):
            raise ClientException(
                f"Node range '{item.first}:{item.last or ''}' exceeds the number of nodes {num_nodes}"
            )
        nodes = set(item.nodes(num_nodes))
        if seen & nodes:
            raise ClientException(f"Node ranges overlap at node {min(seen & nodes)}")
        seen |= nodes
    missing = set(range(num_nodes)) - seen
    if missing:
        raise ClientException(f"Node ranges do not cover node {min(missing)} of {num_nodes} nodes")
