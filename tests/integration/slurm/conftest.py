"""One private Slurm for a worker's tests: two trn2u UltraServers of four nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.local_cloud.slurm.private_slurm import PrivateSlurm
from scripts.local_cloud.slurm.virtual_group import VirtualGroup, ultraserver_files
from tests.slurm import private_slurm

ULTRASERVERS = tuple(
    VirtualGroup(
        name=f"trn2u-48xlarge-us{index}",
        nodes=4,
        features=("trn2u", f"us{index}"),
        cpus=96,
        neuron_devices=16,
        efa_devices=16,
        weight=index + 1,
        place_files=ultraserver_files(4, f"server-{index}"),
    )
    for index in range(2)
)


@pytest.fixture(scope="session")
def slurm() -> Iterator[PrivateSlurm]:
    """Shared: leave no job behind, and no node dead."""
    with private_slurm(ULTRASERVERS) as running:
        yield running
