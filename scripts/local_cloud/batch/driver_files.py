"""What a node's Neuron driver says of its place in an UltraServer: files as below /sys/class/neuron_device.

A job's nodes fill UltraServers one after the other, and Batch numbers them in an order of its own: here every second
one first, from the end. Two planted faults strike the next node that starts: {"service": "neuron-driver", "action":
"PlaceNode"} puts it into an UltraServer of its own, "FormUltraServer" leaves it in none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from scripts.local_cloud import runtime
from scripts.local_cloud.batch.job import Job, Node
from stacks.domain.catalog import UltraServer, load_catalog

_NO_SERVER, _NO_NODE, _ALONE = "0" * 16, "-1", 1


def write_driver_files(directory: Path, job: Job, node: Node) -> None:
    """An empty directory where the node is a member of no UltraServer."""
    directory.mkdir()
    ultraserver = load_catalog().ultraserver_of_member(node.container.get("instanceType") or "")
    if ultraserver is None or ultraserver.members is None or ultraserver.sysfs is None:
        return
    for name, text in _files(ultraserver, _place(ultraserver.members, job, node)):
        (directory / name).write_text(text + "\n")


def order_of_places(nodes: int) -> list[int]:
    """For each node of a job the place that it has, were all of them counted through, UltraServer by UltraServer."""
    backwards = list(range(nodes))[::-1]
    return backwards[::2] + backwards[1::2]


def _place(members: int, job: Job, node: Node) -> tuple[str, int] | None:
    """The UltraServer's name and the node's number in it; None: in none."""
    faults = runtime.current().faults
    if faults.take_call("neuron-driver", "FormUltraServer"):
        return None
    number = order_of_places(len(job.nodes))[node.index]
    elsewhere = faults.take_call("neuron-driver", "PlaceNode") is not None
    server = f"{job.id}/{'elsewhere' if elsewhere else number // members}"
    return server, number % members


def _files(ultraserver: UltraServer, place: tuple[str, int] | None) -> Iterator[tuple[str, str]]:
    assert ultraserver.sysfs is not None
    files = ultraserver.sysfs
    for size in ultraserver.partition_sizes:
        if size == _ALONE:
            continue  # the driver has no files of a group of one
        server, node = _NO_SERVER, _NO_NODE
        if place is not None:
            group = f"{place[0]}/{place[1] // size}"
            server, node = hashlib.sha256(group.encode()).hexdigest()[:16], str(place[1] % size)
        yield files.server_id.replace("{nodes}", str(size)), server
        yield files.node_id.replace("{nodes}", str(size)), node
    sizes = [_ALONE] if place is None else list(ultraserver.partition_sizes)
    yield files.mode, ",".join(str(mode) for mode in sorted(ultraserver.modes[size][0] for size in sizes))
