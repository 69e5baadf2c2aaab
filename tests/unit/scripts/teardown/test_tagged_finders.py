"""What the tagging API lists: what is there, what is not, and what nobody can tell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scripts.teardown import tagged_finders
from scripts.teardown.found import Found
from scripts.teardown.scope import Scope

CLOUD: Any = None
AT = "us-east-2:1"
TYPE = re.compile(r"\"Type\": \"(AWS::\w+::\w+)\"")
# Each is asked about under two names: what is called "dead" is only listed any more.
ASKED = [
    f"arn:aws:kms:{AT}:key/NAME",
    f"arn:aws:imagebuilder:{AT}:component/NAME/1.0.0/1",
    f"arn:aws:imagebuilder:{AT}:image-recipe/NAME/1.0.0",
    f"arn:aws:imagebuilder:{AT}:infrastructure-configuration/NAME",
    f"arn:aws:imagebuilder:{AT}:distribution-configuration/NAME",
    f"arn:aws:imagebuilder:{AT}:image-pipeline/NAME",
    f"arn:aws:resource-groups:{AT}:group/NAME",
    f"arn:aws:ecs:{AT}:container-instance/c/NAME",
    f"arn:aws:ec2:{AT}:fleet/NAME",
    f"arn:aws:ec2:{AT}:security-group-rule/NAME",
    f"arn:aws:autoscaling:{AT}:autoScalingGroup:uuid:autoScalingGroupName/NAME",
]
# Another question, or the list of stacks, answers.
COVERED = [
    f"arn:aws:ec2:{AT}:volume/vol-1",
    f"arn:aws:ec2:{AT}:capacity-reservation/cr-1",
    f"arn:aws:batch:{AT}:job-definition/pilot-smoke:1",
    f"arn:aws:batch:{AT}:job-queue/q",
    f"arn:aws:ecs:{AT}:task-definition/x:1",
    f"arn:aws:ecs:{AT}:cluster/c",
    f"arn:aws:ecs:{AT}:task/c/t",
    f"arn:aws:ecs:{AT}:capacity-provider/p",
    f"arn:aws:lambda:{AT}:function:f",
    "arn:aws:s3:::b",
    f"arn:aws:logs:{AT}:log-group:x",
    f"arn:aws:logs:{AT}:delivery-source:s",
    f"arn:aws:cloudformation:{AT}:stack/s/1",
    f"arn:aws:fsx:{AT}:file-system/fs-1",
    f"arn:aws:fsx:{AT}:backup/backup-1",
    f"arn:aws:elasticfilesystem:{AT}:file-system/fs-2",
    f"arn:aws:elasticfilesystem:{AT}:access-point/fsap-1",
    f"arn:aws:pcs:{AT}:cluster/pcs_1",
    f"arn:aws:imagebuilder:{AT}:image/i/1.0.0/1",
]
RECORDS = [f"arn:aws:batch:{AT}:job/abc"]
NOT_OURS_TO_ASK = [
    f"arn:aws:sns:{AT}:alarms",
    f"arn:aws:fsx:{AT}:volume/fs-1/fsvol-1",
    f"arn:aws:ec2:{AT}:transit-gateway/tgw-1",
    f"arn:aws:imagebuilder:{AT}:workflow/build/w/1.0.0/1",
]


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    def lives(cloud: Any, what: str) -> bool:
        assert not what.endswith("c"), "the cluster is not what was asked about"
        return "alive" in what

    def key_state(cloud: Any, arn: str) -> str | None:
        return {"alive": "Enabled", "ending": "PendingDeletion"}.get(arn.rpartition("/")[2])

    monkeypatch.setattr(tagged_finders.kms, "key_state", key_state)
    monkeypatch.setattr(
        tagged_finders.autoscaling, "find_group", lambda _, name: name if name == "alive" else None
    )
    monkeypatch.setattr(tagged_finders.ec2, "fleet_launches", lives)
    monkeypatch.setattr(tagged_finders.ec2, "security_group_rule_exists", lives)
    # These are in the table themselves.
    by_arn = {
        key: lives for key in tagged_finders._EXISTS if key[0] in ("imagebuilder", "resource-groups", "ecs")
    }
    monkeypatch.setattr(tagged_finders, "_EXISTS", {**tagged_finders._EXISTS, **by_arn})


def ask(arn: str, **more: Any) -> Found:
    return tagged_finders.other_tagged(CLOUD, Scope("pilot", tagged_arns=(arn,), **more))


@pytest.mark.parametrize("pattern", ASKED)
def test_what_the_kit_and_its_services_make_counts_while_it_is_there(pattern: str) -> None:
    alive = pattern.replace("NAME", "alive")
    found = ask(alive)
    assert [item.id for item in found.loose] == [alive]
    assert (found.suspects, found.kept) == ((), ())
    assert ask(pattern.replace("NAME", "dead")) == Found()


@pytest.mark.parametrize("pattern", ASKED)
def test_a_member_of_a_living_stack_is_its_stacks(pattern: str) -> None:
    assert ask(pattern.replace("NAME", "alive"), members=frozenset({"alive"})) == Found()


def test_what_belongs_to_a_member_goes_with_it() -> None:
    assert (
        ask(f"arn:aws:ecs:{AT}:container-instance/pilot-chat/alive", members=frozenset({"pilot-chat"}))
        == Found()
    )


@pytest.mark.parametrize("arn", [*COVERED, *RECORDS])
def test_what_others_answer_for_and_mere_records_are_not_said_twice(arn: str) -> None:
    assert ask(arn) == Found()


@pytest.mark.parametrize("arn", NOT_OURS_TO_ASK)
def test_what_nobody_can_tell_is_a_suspect_and_blocks_nothing(arn: str) -> None:
    found = ask(arn)
    (suspect,) = found.suspects
    assert (suspect.id, suspect.kind) == (arn, "tagged resource")
    assert suspect.why.startswith("listed by the tagging API only")
    assert (found.loose, found.kept) == ((), ())


def test_a_key_on_its_way_out_is_kept() -> None:
    found = ask(f"arn:aws:kms:{AT}:key/ending")
    assert [(item.kind, item.state) for item in found.kept] == [("KMS key", "PendingDeletion")]
    assert (found.loose, found.suspects) == ((), ())


def test_a_member_is_known_however_its_arn_ends() -> None:
    assert ask(f"arn:aws:sns:{AT}:alarms", members=frozenset({"alarms"})) == Found()


# CloudFormation's type -> the kind in an ARN, for every type that the kit's templates have and that can carry a tag.
TAGGABLE = {
    "AWS::AutoScaling::AutoScalingGroup": "autoscaling:autoScalingGroup:uuid:autoScalingGroupName/x",
    "AWS::Batch::ComputeEnvironment": "batch:compute-environment/x",
    "AWS::Batch::JobQueue": "batch:job-queue/x",
    "AWS::CloudWatch::Alarm": "cloudwatch:alarm:x",
    "AWS::EC2::EIP": "ec2:elastic-ip/x",
    "AWS::EC2::InternetGateway": "ec2:internet-gateway/x",
    "AWS::EC2::LaunchTemplate": "ec2:launch-template/x",
    "AWS::EC2::NatGateway": "ec2:natgateway/x",
    "AWS::EC2::PlacementGroup": "ec2:placement-group/x",
    "AWS::EC2::RouteTable": "ec2:route-table/x",
    "AWS::EC2::SecurityGroup": "ec2:security-group/x",
    "AWS::EC2::SecurityGroupEgress": "ec2:security-group-rule/x",
    "AWS::EC2::SecurityGroupIngress": "ec2:security-group-rule/x",
    "AWS::EC2::Subnet": "ec2:subnet/x",
    "AWS::EC2::VPC": "ec2:vpc/x",
    "AWS::EC2::VPCEndpoint": "ec2:vpc-endpoint/x",
    "AWS::ECS::CapacityProvider": "ecs:capacity-provider/x",
    "AWS::ECS::Cluster": "ecs:cluster/x",
    "AWS::ECS::Service": "ecs:service/c/x",
    "AWS::ECS::TaskDefinition": "ecs:task-definition/x:1",
    "AWS::EFS::AccessPoint": "elasticfilesystem:access-point/x",
    "AWS::EFS::FileSystem": "elasticfilesystem:file-system/x",
    "AWS::ElasticLoadBalancingV2::Listener": "elasticloadbalancing:listener/app/n/1/x",
    "AWS::ElasticLoadBalancingV2::ListenerRule": "elasticloadbalancing:listener-rule/app/n/1/1/x",
    "AWS::ElasticLoadBalancingV2::LoadBalancer": "elasticloadbalancing:loadbalancer/app/n/x",
    "AWS::ElasticLoadBalancingV2::TargetGroup": "elasticloadbalancing:targetgroup/n/x",
    "AWS::FSx::FileSystem": "fsx:file-system/x",
    "AWS::ImageBuilder::Component": "imagebuilder:component/x/1.0.0/1",
    "AWS::ImageBuilder::DistributionConfiguration": "imagebuilder:distribution-configuration/x",
    "AWS::ImageBuilder::ImagePipeline": "imagebuilder:image-pipeline/x",
    "AWS::ImageBuilder::ImageRecipe": "imagebuilder:image-recipe/x/1.0.0",
    "AWS::ImageBuilder::InfrastructureConfiguration": "imagebuilder:infrastructure-configuration/x",
    "AWS::Lambda::Function": "lambda:function:x",
    "AWS::Logs::Delivery": "logs:delivery:x",
    "AWS::Logs::DeliveryDestination": "logs:delivery-destination:x",
    "AWS::Logs::DeliverySource": "logs:delivery-source:x",
    "AWS::Logs::LogGroup": "logs:log-group:x",
    "AWS::PCS::Cluster": "pcs:cluster/x",
    "AWS::PCS::ComputeNodeGroup": "pcs:cluster/c/computenodegroup/x",
    "AWS::PCS::Queue": "pcs:cluster/c/queue/x",
    "AWS::ResourceGroups::Group": "resource-groups:group/x",
    "AWS::S3::Bucket": "s3:x",
    "AWS::SSM::Parameter": "ssm:parameter/x",
}
# Without a tag of their own, or, as IAM's roles, not listed by the tagging API.
UNTAGGED = {
    "AWS::ApplicationAutoScaling::ScalableTarget",
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::CapacityReservationPool",  # a word of a resource group's configuration
    "AWS::EC2::Route",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::ECS::ClusterCapacityProviderAssociations",
    "AWS::EFS::MountTarget",
    "AWS::IAM::InstanceProfile",
    "AWS::IAM::Role",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Permission",
    "AWS::ResourceGroups::Generic",  # likewise
    "AWS::S3::BucketPolicy",
    "AWS::Scheduler::Schedule",
}


def test_every_type_of_the_templates_has_its_answer() -> None:
    """A new one that can carry a tag must not end as a suspect that nobody reads."""
    snapshots = Path(__file__).resolve().parents[3] / "golden" / "stacks" / "__snapshots__"
    texts = [path.read_text(encoding="utf-8") for path in snapshots.rglob("*") if path.is_file()]
    types = {found for text in texts for found in TYPE.findall(text)}
    assert len(types) > 40
    assert types - UNTAGGED <= set(TAGGABLE)
    for kind in TAGGABLE.values():
        service, _, resource = kind.partition(":")
        assert ask(f"arn:aws:{service}:{AT}:{resource}").suspects == (), kind
