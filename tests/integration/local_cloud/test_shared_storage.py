"""What FSx, CloudWatch Logs and Resource Groups refuse, as the local cloud stands in for them."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud")]
CLUSTER = "arn:aws:pcs:us-west-2:1:cluster/pcs_1"


@pytest.fixture
def place(session: boto3.Session) -> dict[str, str]:
    ec2 = session.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="g", Description="d", VpcId=vpc)["GroupId"]
    return {"subnet": subnet, "group": group}


def lustre(place: dict[str, str], **changes: Any) -> dict[str, Any]:
    settings = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125}
    return {
        "FileSystemType": "LUSTRE",
        "StorageType": "SSD",
        "StorageCapacity": 1200,
        "SubnetIds": [place["subnet"]],
        "SecurityGroupIds": [place["group"]],
        "LustreConfiguration": settings,
        **changes,
    }


def test_a_lustre_file_system_keeps_its_subnet_and_group_alive(
    session: boto3.Session, place: dict[str, str]
) -> None:
    fsx, ec2 = session.client("fsx"), session.client("ec2")
    made = fsx.create_file_system(**lustre(place))["FileSystem"]
    assert made["Lifecycle"] == "AVAILABLE"
    assert made["LustreConfiguration"]["MountName"]
    for delete in (
        lambda: ec2.delete_subnet(SubnetId=place["subnet"]),
        lambda: ec2.delete_security_group(GroupId=place["group"]),
    ):
        with pytest.raises(ClientError, match="DependencyViolation"):
            delete()
    fsx.delete_file_system(FileSystemId=made["FileSystemId"])
    with pytest.raises(ClientError, match="FileSystemNotFound"):
        fsx.describe_file_systems(FileSystemIds=[made["FileSystemId"]])
    ec2.delete_security_group(GroupId=place["group"])
    ec2.delete_subnet(SubnetId=place["subnet"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"StorageCapacity": 1300}, "1200, or a multiple of 2400"),
        ({"StorageCapacity": 0}, "1200, or a multiple of 2400"),
        ({"LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 200}}, "one of 125"),
        ({"LustreConfiguration": {"DeploymentType": "SCRATCH_2"}}, "PERSISTENT_2 on SSD"),
        ({"FileSystemType": "WINDOWS", "LustreConfiguration": {}}, "PERSISTENT_2 on SSD"),
    ],
)  # fmt: skip
def test_what_fsx_refuses(
    session: boto3.Session, place: dict[str, str], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ClientError, match=words):
        session.client("fsx").create_file_system(**lustre(place, **changes))


def test_a_log_source_goes_after_its_delivery(session: boto3.Session) -> None:
    logs = session.client("logs")
    with pytest.raises(ClientError, match="PCS_SCHEDULER_LOGS"):
        logs.put_delivery_source(name="s", resourceArn=CLUSTER, logType="ACCESS_LOGS")
    logs.put_delivery_source(name="s", resourceArn=CLUSTER, logType="PCS_SCHEDULER_LOGS")
    logs.create_log_group(logGroupName="g")
    group = {"destinationResourceArn": "arn:aws:logs:us-west-2:1:log-group:g:*"}
    destination = logs.put_delivery_destination(name="d", deliveryDestinationConfiguration=group)
    arn = destination["deliveryDestination"]["arn"]
    id_ = logs.create_delivery(deliverySourceName="s", deliveryDestinationArn=arn)["delivery"]["id"]
    with pytest.raises(ClientError, match="used by a delivery"):
        logs.delete_delivery_source(name="s")
    with pytest.raises(ClientError, match="used by a delivery"):
        logs.delete_delivery_destination(name="d")
    logs.delete_delivery(id=id_)
    logs.delete_delivery_source(name="s")
    logs.delete_delivery_destination(name="d")


def test_a_resource_group_has_members_and_is_found_by_its_tag(session: boto3.Session) -> None:
    groups, member = session.client("resource-groups"), "arn:aws:ec2:us-west-2:1:capacity-reservation/cr-1"
    with pytest.raises(ClientError, match="no queries"):
        groups.create_group(Name="q", ResourceQuery={"Type": "TAG_FILTERS_1_0", "Query": "{}"})
    made = groups.create_group(Name="pool", Tags={"neuronkit:environment": "pilot"})["Group"]
    with pytest.raises(ClientError, match="already exists"):
        groups.create_group(Name="pool")
    groups.group_resources(Group="pool", ResourceArns=[member, member])
    listed = groups.list_group_resources(Group=made["GroupArn"])["Resources"]
    assert [one["Identifier"]["ResourceArn"] for one in listed] == [member]
    groups.ungroup_resources(Group="pool", ResourceArns=[member])
    assert groups.list_group_resources(Group="pool")["Resources"] == []
    found = session.client("resourcegroupstaggingapi").get_resources(
        TagFilters=[{"Key": "neuronkit:environment", "Values": ["pilot"]}]
    )["ResourceTagMappingList"]
    assert [one["ResourceARN"] for one in found] == [made["GroupArn"]]
    groups.delete_group(Group="pool")
    with pytest.raises(ClientError, match="NotFoundException"):
        groups.get_group(Group="pool")
