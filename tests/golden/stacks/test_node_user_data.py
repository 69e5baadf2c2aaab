"""User data as the file that a node gets."""

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from stacks.domain.render.node_user_data import node_user_data
from tests.environments import starter_plan


class MimeFile(SingleFileSnapshotExtension):
    file_extension = "mime"
    _write_mode = WriteMode.TEXT


@pytest.mark.parametrize("starter", ["trn1-first-hour", "trn1-pilot", "trn2-pilot"])
def test_user_data(starter: str, snapshot: SnapshotAssertion) -> None:
    assert node_user_data(starter_plan(starter).cluster("train")) == snapshot.use_extension(MimeFile)
