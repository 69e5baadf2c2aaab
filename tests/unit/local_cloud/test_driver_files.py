"""The places that the local cloud gives the nodes of a Batch job: what the kit's own program then reads in them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.local_cloud.batch import driver_files
from scripts.local_cloud.batch.driver_files import order_of_places, write_driver_files
from scripts.local_cloud.batch.job import Node
from scripts.local_cloud.faults import Faults
from stacks.payload.node.ultraserver import Files, Place, RefusedError, order, read_place

FILES = Files("server_id_{nodes}", "node_id_{nodes}", "ultraserver_mode")
MODES = {4: ["1"], 2: ["3", "2"], 1: ["4"]}


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    made = Faults()
    monkeypatch.setattr(driver_files.runtime, "current", lambda: SimpleNamespace(faults=made))
    return made


def places(directory: Path, nodes: int, size: int) -> list[Place]:
    job: Any = SimpleNamespace(
        id="job-1", nodes=[Node(i, {"instanceType": "trn2u.48xlarge"}) for i in range(nodes)]
    )
    found = []
    for node in job.nodes:
        root = directory / f"node-{node.index}"
        write_driver_files(root, job, node)
        server, number, mode = read_place(root, FILES, size, MODES[size], 0)
        found.append(Place(node.index, f"node-{node.index}", "10.0.0.1", server, number, mode))
    return found


@pytest.mark.parametrize("nodes", [2, 3, 4, 8, 63])
def test_places_are_shuffled(nodes: int) -> None:
    order = order_of_places(nodes)
    assert sorted(order) == list(range(nodes))
    assert order != list(range(nodes))


@pytest.mark.parametrize(("nodes", "size"), [(4, 4), (8, 4), (8, 2), (6, 2), (2, 2), (7, 1)])
def test_whole_groups_can_be_ordered(faults: Faults, tmp_path: Path, nodes: int, size: int) -> None:
    ranks = order(places(tmp_path, nodes, size), size)
    assert len({place.server for place in ranks}) == (nodes // size if size > 1 else 1)
    if size > 1:
        assert [place.index for place in ranks] != list(range(nodes))


def test_nodes_that_fill_no_ultraserver_cannot(faults: Faults, tmp_path: Path) -> None:
    with pytest.raises(RefusedError):
        order(places(tmp_path, 6, 4), 4)


def test_a_node_elsewhere(faults: Faults, tmp_path: Path) -> None:
    faults.plant({"service": "neuron-driver", "action": "PlaceNode"})
    with pytest.raises(RefusedError, match="lacks node 3 of 4"):
        order(places(tmp_path, 8, 4), 4)


def test_a_node_that_is_in_none(faults: Faults, tmp_path: Path) -> None:
    faults.plant({"service": "neuron-driver", "action": "FormUltraServer"})
    with pytest.raises(RefusedError, match=r"modes 4 \(X1\); groups of 4 nodes need 1 \(X4\)"):
        places(tmp_path, 4, 4)


def test_other_types_have_no_files(faults: Faults, tmp_path: Path) -> None:
    job: Any = SimpleNamespace(id="job-1", nodes=[Node(0, {"instanceType": "trn2.48xlarge"})])
    write_driver_files(tmp_path / "sysfs", job, job.nodes[0])
    assert list((tmp_path / "sysfs").iterdir()) == []
