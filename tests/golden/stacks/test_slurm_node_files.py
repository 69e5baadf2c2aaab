"""User data and setup scripts as the files that a Slurm node gets."""

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from stacks.domain.render.slurm_node_setup import compute_node_setup, login_node_setup
from stacks.domain.render.slurm_node_user_data import slurm_node_user_data
from tests.synthesized import plans


class MimeFile(SingleFileSnapshotExtension):
    file_extension = "mime"
    _write_mode = WriteMode.TEXT


class ShellScript(SingleFileSnapshotExtension):
    file_extension = "sh"
    _write_mode = WriteMode.TEXT


every_plan = pytest.mark.parametrize("plan", ["slurm-trn1", "slurm-everything", "slurm-trn2-block"])


@every_plan
def test_user_data(plan: str, snapshot: SnapshotAssertion) -> None:
    assert slurm_node_user_data(plans()[plan].cluster("train")) == snapshot.use_extension(MimeFile)


@every_plan
def test_setup_of_compute_nodes(plan: str, snapshot: SnapshotAssertion) -> None:
    assert compute_node_setup(plans()[plan].cluster("train")) == snapshot.use_extension(ShellScript)


@every_plan
def test_setup_of_the_login_node(plan: str, snapshot: SnapshotAssertion) -> None:
    assert login_node_setup(plans()[plan].cluster("train")) == snapshot.use_extension(ShellScript)
