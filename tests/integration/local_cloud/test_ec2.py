"""What the local cloud adds to moto's EC2 and SSM."""

from __future__ import annotations

import urllib.error
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]

AMI_NAME = "al2023-ami-ecs-neuron-hvm-2023.0.20260922-kernel-6.1-x86_64"
AMI_PARAMETER = f"/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/{AMI_NAME}/image_id"


def test_a_capacity_block_is_described_and_cannot_be_cancelled(
    session: boto3.Session, admin: Callable[..., Any], account: str
) -> None:
    wanted = {"instance_type": "trn2.48xlarge", "count": 4, "zone_id": "usw2-az4", "hours": 48}
    block = admin(
        "POST", "capacity-blocks", {**wanted, "account": account, "region": "us-west-2", "tags": {"a": "b"}}
    )
    ec2 = session.client("ec2")
    found = ec2.describe_capacity_reservations(CapacityReservationIds=[block["id"]])["CapacityReservations"]
    assert len(found) == 1
    assert found[0]["ReservationType"] == "capacity-block"
    assert (found[0]["State"], found[0]["TotalInstanceCount"], found[0]["AvailableInstanceCount"]) == (
        "active",
        4,
        4,
    )
    assert (found[0]["InstanceType"], found[0]["AvailabilityZoneId"]) == ("trn2.48xlarge", "usw2-az4")
    assert (found[0]["EndDate"] - found[0]["StartDate"]).total_seconds() == 48 * 3600
    assert {"Key": "a", "Value": "b"} in found[0]["Tags"]
    by_type = [{"Name": "instance-type", "Values": ["trn1.32xlarge"]}]
    assert ec2.describe_capacity_reservations(Filters=by_type)["CapacityReservations"] == []
    with pytest.raises(ClientError, match="cannot cancel the Capacity Block"):
        ec2.cancel_capacity_reservation(CapacityReservationId=block["id"])
    with pytest.raises(ClientError, match=r"InvalidCapacityReservationId\.NotFound"):
        ec2.describe_capacity_reservations(CapacityReservationIds=["cr-00000000000000000"])


def test_a_block_in_a_zone_that_does_not_exist_is_refused(admin: Callable[..., Any]) -> None:
    wanted = {"instance_type": "trn2.48xlarge", "count": 4, "zone_id": "use1-az1", "region": "us-west-2"}
    with pytest.raises(urllib.error.HTTPError, match="400"):
        admin("POST", "capacity-blocks", wanted)


@pytest.mark.parametrize("region", ["us-east-1", "us-east-2", "us-west-2", "eu-north-1", "mx-central-1"])
def test_the_dated_neuron_ami_is_known_in_every_region_and_says_that_it_is_emulated(
    cloud: process.LocalCloud, account: str, region: str
) -> None:
    session = session_for(cloud, account, region)
    image_id = session.client("ssm").get_parameter(Name=AMI_PARAMETER)["Parameter"]["Value"]
    image = session.client("ec2").describe_images(ImageIds=[image_id])["Images"][0]
    assert (image["Name"], image["RootDeviceName"]) == (AMI_NAME, "/dev/xvda")
    assert "emulated by the local cloud" in image["Description"]


def test_an_ami_that_was_never_published_is_not_known(session: boto3.Session) -> None:
    with pytest.raises(ClientError, match="ParameterNotFound"):
        session.client("ssm").get_parameter(Name=AMI_PARAMETER.replace("20260922", "20200101"))


def test_zones_and_neuron_instance_types(session: boto3.Session) -> None:
    ec2 = session.client("ec2")
    zones = ec2.describe_availability_zones()["AvailabilityZones"]
    assert {zone["ZoneId"] for zone in zones} == {"usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4"}
    names = ["trn1.2xlarge", "trn1.32xlarge", "trn2.48xlarge", "trn2u.48xlarge", "inf2.xlarge"]
    types = ec2.describe_instance_types(InstanceTypes=names)["InstanceTypes"]
    assert {item["InstanceType"] for item in types} == set(names)


def test_ec2_refuses_to_delete_what_is_in_use(session: boto3.Session) -> None:
    ec2 = session.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="a", Description="a", VpcId=vpc)["GroupId"]
    other = ec2.create_security_group(GroupName="b", Description="b", VpcId=vpc)["GroupId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    rule = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    ec2.authorize_security_group_ingress(GroupId=other, IpPermissions=rule)
    eni = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    refused = [
        (ec2.delete_security_group, {"GroupId": group}),
        (ec2.delete_subnet, {"SubnetId": subnet}),
        (ec2.delete_vpc, {"VpcId": vpc}),
    ]
    for call, parameters in refused:
        with pytest.raises(ClientError, match="DependencyViolation"):
            call(**parameters)
    ec2.delete_network_interface(NetworkInterfaceId=eni)
    ec2.revoke_security_group_ingress(GroupId=other, IpPermissions=rule)
    for one in (group, other):
        ec2.delete_security_group(GroupId=one)
    ec2.delete_subnet(SubnetId=subnet)
    with pytest.raises(ClientError, match="DependencyViolation"):
        ec2.delete_vpc(VpcId=vpc)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.delete_vpc(VpcId=vpc)


@pytest.mark.parametrize("text", ["Ubuntu's archives", "caf\u00e9", "a" * 256, 'say "hi"', "a\u2014b"])
def test_ec2_takes_few_characters_in_what_describes_a_group(session: boto3.Session, text: str) -> None:
    ec2 = session.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    with pytest.raises(ClientError, match="Invalid security group description"):
        ec2.create_security_group(GroupName="x", Description=text, VpcId=vpc)
    group = ec2.create_security_group(GroupName="x", Description="a-b (c): d/e, f_1", VpcId=vpc)["GroupId"]
    ports = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1}
    by_range = {**ports, "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": text}]}
    by_group = {**ports, "UserIdGroupPairs": [{"GroupId": group, "Description": text}]}
    for authorize in (ec2.authorize_security_group_ingress, ec2.authorize_security_group_egress):
        for rule in (by_range, by_group):
            with pytest.raises(ClientError, match="Invalid rule description"):
                authorize(GroupId=group, IpPermissions=[rule])
    ec2.delete_security_group(GroupId=group)
    ec2.delete_vpc(VpcId=vpc)


def test_tags_go_with_what_they_were_on(session: boto3.Session) -> None:
    ec2 = session.client("ec2")
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "kit", "Value": "x"}]}]
    volume = ec2.create_volume(AvailabilityZone="us-west-2a", Size=1, TagSpecifications=tags)["VolumeId"]
    tagging = session.client("resourcegroupstaggingapi")
    by_tag = {"TagFilters": [{"Key": "kit", "Values": ["x"]}]}
    assert len(tagging.get_resources(**by_tag)["ResourceTagMappingList"]) == 1
    ec2.delete_volume(VolumeId=volume)
    assert tagging.get_resources(**by_tag)["ResourceTagMappingList"] == []
    assert ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [volume]}])["Tags"] == []
