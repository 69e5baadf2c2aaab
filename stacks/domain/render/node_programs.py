"""Programs of the kit that travel in a job's package, besides the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stacks.domain.plan import JobPlan

ULTRASERVER_PROGRAM = "ultraserver.py"
_DIRECTORY = Path(__file__).parents[2] / "payload" / "node"


def node_programs(job: JobPlan) -> Iterator[tuple[str, str]]:
    """Names in the package's directory of the kit, and texts."""
    if is_in_ultraservers(job):
        yield ULTRASERVER_PROGRAM, (_DIRECTORY / ULTRASERVER_PROGRAM).read_text(encoding="utf-8")


def is_in_ultraservers(job: JobPlan) -> bool:
    """Whether the job's nodes have a place in an UltraServer that their driver tells."""
    return job.ultraserver_nodes > 0 and job.ultraserver is not None and job.ultraserver.sysfs is not None


def read_arguments(job: JobPlan) -> tuple[str, ...]:
    """For `ultraserver.py read` on a node of the job; none where the nodes are members of no UltraServer."""
    ultraserver = job.ultraserver
    if not is_in_ultraservers(job) or ultraserver is None or ultraserver.sysfs is None:
        return ()
    files, nodes = ultraserver.sysfs, job.ultraserver_nodes
    modes = ultraserver.modes.get(nodes, ())
    return (
        *("--server-file", files.server_id.replace("{nodes}", str(nodes))),
        *("--node-file", files.node_id.replace("{nodes}", str(nodes))),
        *("--mode-file", files.mode, "--nodes", str(nodes)),
        *(("--modes", ",".join(map(str, modes))) if modes else ()),
    )
