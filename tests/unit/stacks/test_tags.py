"""Every resource says whose it is: leftovers are found by tag, and by nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest

from stacks.assembly import REPLACED_WITH_THEIR_TAGS
from stacks.domain.names import CLUSTER_TAG, ENVIRONMENT_TAG, LIFETIME_TAG
from tests.synthesized import (
    CLUSTER_PLANS,
    SLURM_PLANS,
    Template,
    assembly_directory,
    cluster,
    every_stack,
    plans,
    resources,
)

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]

# Per CloudFormation's schemas; the launch template has tag specifications instead.
NOT_TAGGABLE = {
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::Route",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::ECS::ClusterCapacityProviderAssociations",
    "AWS::EFS::MountTarget",
    "AWS::IAM::InstanceProfile",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Permission",
    "AWS::S3::BucketPolicy",
    "AWS::Scheduler::Schedule",
}
TAGS_PROPERTY = {"AWS::EFS::FileSystem": "FileSystemTags", "AWS::EFS::AccessPoint": "AccessPointTags"}
"""Where it is not `Tags`."""
BATCH_PLANS = [plan for plan in CLUSTER_PLANS if plan not in SLURM_PLANS]


def tags_of(tags: Any) -> dict[str, str]:
    if isinstance(tags, Mapping):
        return dict(tags)
    return {tag["Key"]: tag["Value"] for tag in tags}


def lasting(plan_name: str) -> dict[str, str]:
    return {key: value for key, value in plans()[plan_name].tags if key != LIFETIME_TAG}


@pytest.mark.parametrize(("plan", "stack"), every_stack())
def test_every_taggable_resource_has_every_tag(plan: str, stack: str, template: Template) -> None:
    for id_, resource in template["Resources"].items():
        if resource["Type"] in NOT_TAGGABLE:
            continue
        found = tags_of(resource["Properties"].get(TAGS_PROPERTY.get(resource["Type"], "Tags"), []))
        expected = lasting(plan) if resource["Type"] in REPLACED_WITH_THEIR_TAGS else dict(plans()[plan].tags)
        assert expected.items() <= found.items(), id_


@pytest.mark.parametrize("plan", CLUSTER_PLANS)
@pytest.mark.parametrize("kind", ["instance", "volume", "network-interface"])
def test_nodes_and_what_belongs_to_them_are_tagged(plan: str, kind: str) -> None:
    templates = resources(cluster(plan), "AWS::EC2::LaunchTemplate").values()
    assert templates
    for template in templates:
        specifications = template["Properties"]["LaunchTemplateData"]["TagSpecifications"]
        (tags,) = (tags_of(s["Tags"]) for s in specifications if s["ResourceType"] == kind)
        assert {**lasting(plan), CLUSTER_TAG: "train"}.items() <= tags.items()


@pytest.mark.parametrize("plan", CLUSTER_PLANS)
def test_the_launch_template_itself_is_tagged(plan: str) -> None:
    for template in resources(cluster(plan), "AWS::EC2::LaunchTemplate").values():
        (specification,) = template["Properties"]["TagSpecifications"]
        assert specification["ResourceType"] == "launch-template"
        assert lasting(plan).items() <= tags_of(specification["Tags"]).items()


@pytest.mark.parametrize("plan", BATCH_PLANS)
def test_batch_tags_the_nodes_as_well(plan: str) -> None:
    (environment,) = resources(cluster(plan), "AWS::Batch::ComputeEnvironment").values()
    tags = environment["Properties"]["ComputeResources"]["Tags"]
    assert {**lasting(plan), CLUSTER_TAG: "train"}.items() <= tags.items()


@pytest.mark.parametrize("plan", CLUSTER_PLANS)
def test_a_longer_lifetime_replaces_neither_nodes_nor_their_group(plan: str) -> None:
    """CloudFormation replaces these when a tag changes, and CloudFormation hands the stack's own tags on to them."""
    template = cluster(plan)
    for type_ in ("AWS::Batch::ComputeEnvironment", "AWS::EC2::PlacementGroup", "AWS::EC2::LaunchTemplate"):
        assert LIFETIME_TAG not in str(resources(template, type_))
    manifest = (assembly_directory(plan) / "manifest.json").read_text()
    assert ENVIRONMENT_TAG in manifest
    assert LIFETIME_TAG not in manifest
