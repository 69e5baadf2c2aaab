"""Virtual nodes as a private Slurm is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class VirtualGroup:
    """Nodes NAME-1, NAME-2, … as PCS names the nodes of a node group."""

    name: str
    nodes: int
    features: tuple[str, ...] = ()
    cpus: int = 8
    neuron_devices: int = 0
    """Device files on each node, and Slurm's GRES `neuron` unless `gres` says otherwise."""
    efa_devices: int = 0
    gres: int | None = None
    """Devices that Slurm counts; 0 counts none although the files are there."""
    weight: int = 1
    place_files: tuple[Mapping[str, str], ...] = field(default=())
    """Of each node in turn: what /sys/class/neuron_device holds, by file name. Missing: nothing."""

    @property
    def counted(self) -> int:
        return self.neuron_devices if self.gres is None else self.gres

    def node_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{number}" for number in range(1, self.nodes + 1))

    def files_of(self, index: int) -> Mapping[str, str]:
        return self.place_files[index] if index < len(self.place_files) else {}


def ultraserver_files(
    nodes: int,
    server_id: str,
    *,
    mode: str = "1",
    server_file: str = "server_id_4",
    node_file: str = "node_id_4",
    mode_file: str = "ultraserver_mode",
) -> tuple[Mapping[str, str], ...]:
    """`place_files` of the members of one UltraServer, in order. The defaults are trn2u's file names for groups of 4."""
    return tuple({server_file: server_id, node_file: str(index), mode_file: mode} for index in range(nodes))
