"""The whole assembly: pure, small, the same flags everywhere, and nothing in it that runs code or uploads files."""

import json
import re
import tempfile
from pathlib import Path

import pytest

from stacks.assembly import FEATURE_FLAGS, build_app
from stacks.constructs.fleet_function import PAYLOADS
from stacks.domain.names import PARAMETER_FIRST_DEPLOY
from tests.synthesized import (
    PLAN_NAMES,
    Template,
    assembly_directory,
    every_stack,
    plans,
)

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
every_template = pytest.mark.parametrize(("plan", "stack"), every_stack())

ALLOWED_TYPES = {
    "AWS::ApplicationAutoScaling::ScalableTarget",
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::AutoScaling::AutoScalingGroup",
    "AWS::Batch::ComputeEnvironment",
    "AWS::Batch::JobQueue",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::EIP",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::NatGateway",
    "AWS::EC2::PlacementGroup",
    "AWS::EC2::Route",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::Subnet",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCEndpoint",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::ECS::CapacityProvider",
    "AWS::ECS::Cluster",
    "AWS::ECS::ClusterCapacityProviderAssociations",
    "AWS::ECS::Service",
    "AWS::ECS::TaskDefinition",
    "AWS::EFS::AccessPoint",
    "AWS::EFS::FileSystem",
    "AWS::EFS::MountTarget",
    "AWS::ElasticLoadBalancingV2::Listener",
    "AWS::ElasticLoadBalancingV2::ListenerRule",
    "AWS::ElasticLoadBalancingV2::LoadBalancer",
    "AWS::ElasticLoadBalancingV2::TargetGroup",
    "AWS::FSx::FileSystem",
    "AWS::IAM::InstanceProfile",
    "AWS::IAM::Role",
    "AWS::ImageBuilder::Component",
    "AWS::ImageBuilder::DistributionConfiguration",
    "AWS::ImageBuilder::ImagePipeline",
    "AWS::ImageBuilder::ImageRecipe",
    "AWS::ImageBuilder::InfrastructureConfiguration",
    # The controllers of fleets: in the stack that they watch over, and never called by CloudFormation.
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Logs::Delivery",
    "AWS::Logs::DeliveryDestination",
    "AWS::Logs::DeliverySource",
    "AWS::Logs::LogGroup",
    "AWS::PCS::Cluster",
    "AWS::PCS::ComputeNodeGroup",
    "AWS::PCS::Queue",
    "AWS::ResourceGroups::Group",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SSM::Parameter",
    "AWS::Scheduler::Schedule",
}


@pytest.mark.parametrize("plan", PLAN_NAMES)
@pytest.mark.disable_socket
def test_the_same_plan_gives_the_same_bytes_without_any_network(plan: str) -> None:
    with tempfile.TemporaryDirectory() as again:
        build_app(plans()[plan], Path(again)).synth()
        assert files(Path(again)) == files(assembly_directory(plan))


def files(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


@every_template
def test_no_code_runs_in_the_account_on_our_behalf(plan: str, stack: str, template: Template) -> None:
    """No custom resource; a type that is new here needs a look at its deletion, and at the local cloud."""
    assert {resource["Type"] for resource in template["Resources"].values()} <= ALLOWED_TYPES


@every_template
def test_logical_ids_are_named_and_not_derived(plan: str, stack: str, template: Template) -> None:
    """A derived id ends in a hash of the construct's path, so moving a construct would replace the resource.
    What there is one of for each Slurm version may end in the version, a schedule in its time.
    """
    ids = [re.sub("(?<=[a-z])2[0-9](05|11)$|(?<=At)[0-9]{4}$", "", id_) for id_ in template["Resources"]]
    assert [id_ for id_ in ids if id_[-8:].isupper() or any(c.isdigit() for c in id_[-4:])] == []


@every_template
def test_templates_stay_far_from_cloudformations_limits(plan: str, stack: str, template: Template) -> None:
    is_fleet = stack in dict(plans()[plan].stacks.fleets).values()
    # Every slice's task brings the kit's small programs.
    assert len(json.dumps(template)) < (200_000 if is_fleet else 100_000)
    assert len(template["Resources"]) < 100
    assert not {"Rules", "Mappings"} & set(template)
    assert set(template.get("Parameters", ())) == ({PARAMETER_FIRST_DEPLOY} if is_fleet else set())
    assert set(template.get("Conditions", ())) == ({"IsFirstDeploy"} if is_fleet else set())


@pytest.mark.parametrize("plan", PLAN_NAMES)
def test_nothing_is_uploaded_but_templates_node_scripts_of_slurm_and_controllers(plan: str) -> None:
    planned = plans()[plan]
    expected = {planned.stacks.of_cluster(c.name): 2 for c in planned.clusters if c.slurm}
    for fleet in planned.fleets:
        controllers = (fleet.settings.scale_to_zero, fleet.fallback)
        expected[planned.stacks.of_fleet(fleet.name)] = sum(each is not None for each in controllers)
    expected |= {planned.stacks.of_shift(shift.name): 1 for shift in planned.shifts}
    for stack in planned.stacks.all:
        assets = json.loads((assembly_directory(plan) / f"{stack}.assets.json").read_text())
        paths = [asset["source"]["path"] for asset in assets["files"].values()]
        uploaded = [path for path in paths if path != f"{stack}.template.json"]
        assert len(uploaded) == expected.get(stack, 0)
        for path in (assembly_directory(plan) / each for each in uploaded):
            assert path.suffix == ".sh" or is_package(path)
        assert assets["dockerImages"] == {}


def is_package(directory: Path) -> bool:
    """One of the kit's payloads, and of it only what Python reads."""
    (package,) = directory.iterdir()
    payload = PAYLOADS / package.name
    return {path.name for path in package.iterdir()} == {path.name for path in payload.glob("*.py")}


@pytest.mark.parametrize("plan", PLAN_NAMES)
def test_the_assembly_names_nothing_of_this_machine(plan: str) -> None:
    for name, content in files(assembly_directory(plan)).items():
        text = f"{name} {content.decode()}"
        assert str(Path.cwd()) not in text
        assert str(Path.home()) not in text


@pytest.mark.parametrize("plan", PLAN_NAMES)
def test_stacks_region_account_and_qualifier_come_from_the_plan(plan: str) -> None:
    planned, manifest = plans()[plan], manifest_of(plan)
    stacks = {id_: a for id_, a in manifest["artifacts"].items() if a["type"] == "aws:cloudformation:stack"}
    assert set(stacks) == set(planned.stacks.all)
    for stack in stacks.values():
        assert stack["environment"] == f"aws://{planned.account or 'unknown-account'}/{planned.region}"
        assert f"cdk-{planned.cdk_qualifier}-deploy-role" in stack["properties"]["assumeRoleArn"]
        assert stack["properties"]["terminationProtection"] is False


@pytest.mark.parametrize("plan", PLAN_NAMES)
def test_clusters_and_fleets_come_after_network_and_storage_and_stand_alone(plan: str) -> None:
    """And can go before the node image's stack: the AMI's id is in the lock. A fleet needs the bucket for its model only."""
    artifacts, names = manifest_of(plan)["artifacts"], plans()[plan].stacks
    clusters, fleets = (dict(each).values() for each in (names.clusters, names.fleets))
    for stack in (*clusters, *fleets):
        needed = {names.network} if stack in fleets else {names.network, names.storage}
        found = set(artifacts[stack]["dependencies"])
        assert needed - {None} <= found
        assert found <= {names.network, names.storage, f"{stack}.assets"}


@pytest.mark.parametrize(("flag", "value"), FEATURE_FLAGS.items())
def test_the_app_carries_the_flags(flag: str, value: object, tmp_path: Path) -> None:
    app = build_app(plans()["trn1-first-hour"], tmp_path)
    assert app.node.try_get_context(flag) == value


def manifest_of(plan: str) -> Template:
    manifest: Template = json.loads((assembly_directory(plan) / "manifest.json").read_text())
    return manifest
