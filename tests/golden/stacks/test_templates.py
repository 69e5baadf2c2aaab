"""Every template of every plan, byte for byte; what they mean is asserted in tests/unit/stacks."""

import json

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.synthesized import PLAN_NAMES, assembly_directory, every_stack, plans, template

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
# What holds something that a user would miss, or that everything else hangs on.
STATEFUL = (
    "AWS::S3::Bucket",
    "AWS::EC2::VPC",
    "AWS::EC2::Subnet",
    "AWS::Logs::LogGroup",
    "AWS::Batch::JobQueue",
    "AWS::PCS::Cluster",
    "AWS::PCS::ComputeNodeGroup",
    "AWS::PCS::Queue",
    "AWS::EFS::FileSystem",
    "AWS::FSx::FileSystem",
)


class JsonFile(SingleFileSnapshotExtension):
    file_extension = "json"
    _write_mode = WriteMode.TEXT


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(JsonFile)


@pytest.mark.parametrize(
    ("plan", "stack"),
    [pytest.param(plan, stack, id=f"{plan}--{stack}") for plan, stack in every_stack()],
)
def test_template(plan: str, stack: str, golden: SnapshotAssertion) -> None:
    text = (assembly_directory(plan) / f"{stack}.template.json").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 2000
    assert text == golden


def test_logical_ids_of_what_keeps_state(golden: SnapshotAssertion) -> None:
    """A change here makes CloudFormation replace the resource: it needs a line in the changelog."""
    found = {
        plan: {
            stack: sorted(
                f"{id_}: {resource['Type']}"
                for id_, resource in template(plan, stack)["Resources"].items()
                if resource["Type"] in STATEFUL
            )
            for name, stack in every_stack()
            if name == plan
        }
        for plan in PLAN_NAMES
    }
    assert set(found) == set(plans())
    assert json.dumps(found, indent=2) + "\n" == golden
