"""The components of a node image, byte for byte, with both container runtimes."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from stacks.domain.render.node_image import node_image_components
from tests.environments import plan_of
from tests.unit.domain.slurm_cases import second, slurm

EFS = {"shared_storage": {"kind": "efs"}}
TWO_RUNTIMES = {
    **slurm(runs_in="pyxis"),
    "clusters.two": second(slurm={**EFS, "runs_in": "apptainer"}),
}
COMPONENTS = node_image_components(plan_of(TWO_RUNTIMES).built_images[0], "us-east-2")


class YamlFile(SingleFileSnapshotExtension):
    file_extension = "yaml"
    _write_mode = WriteMode.TEXT


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_component(component: object, snapshot: SnapshotAssertion) -> None:
    assert component.document == snapshot.use_extension(YamlFile)  # type: ignore[attr-defined]
