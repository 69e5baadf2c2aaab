"""Every template of every plan, byte for byte but for packed programs; what they mean is asserted in tests/unit/stacks."""

import json
import re

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
    "AWS::AutoScaling::AutoScalingGroup",
    "AWS::ECS::CapacityProvider",
    "AWS::ECS::Cluster",
    "AWS::ECS::Service",
    "AWS::ElasticLoadBalancingV2::LoadBalancer",
    "AWS::ElasticLoadBalancingV2::TargetGroup",
    "AWS::SSM::Parameter",
)
LINES_MAX, FLEET_LINES_MAX = 2000, 5000
# Small programs and functions of the kit in a template: their text has tests of its own, and its hash no meaning.
PROGRAM = re.compile(r"(?<=printf %s ')[A-Za-z0-9+/=]{200,}(?=')")
CODE_KEY = re.compile(r"[0-9a-f]{64}(?=\.zip)")


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
    assert len(text.splitlines()) <= (FLEET_LINES_MAX if "-fleet-" in stack else LINES_MAX)
    assert CODE_KEY.sub("CODE", PROGRAM.sub("PROGRAM", text)) == golden


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
