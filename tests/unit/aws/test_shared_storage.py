"""EFS, FSx, log deliveries and PCS's secrets: what is there, and its deletion."""

from __future__ import annotations

from collections.abc import Callable

import boto3
import pytest
from botocore.stub import Stubber

from scripts.aws import efs, fsx, log_deliveries, secrets
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AccessDeniedError, AwsError

Stubbed = tuple[Cloud, Callable[[str], Stubber]]
BACKUP = "backup-0123456789abcde2"
TAGS = [{"Key": "neuronkit:environment", "Value": "pilot"}]


@pytest.fixture
def subnet(cloud: Cloud) -> str:
    ec2 = cloud.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet_id: str = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    return subnet_id


def test_an_efs_file_system_goes_after_its_mount_targets(cloud: Cloud, subnet: str) -> None:
    client = cloud.client("efs")
    id_ = client.create_file_system(CreationToken="t", Tags=TAGS)["FileSystemId"]
    target = client.create_mount_target(FileSystemId=id_, SubnetId=subnet)["MountTargetId"]
    (found,) = efs.file_systems(cloud)
    assert (found.id, found.tags, found.bytes) == (id_, {"neuronkit:environment": "pilot"}, 0)
    assert [one.id for one in efs.mount_targets(cloud, id_)] == [target]
    with pytest.raises(AwsError) as in_use:
        efs.delete_file_system(cloud, id_)
    assert in_use.value.code == "FileSystemInUse"
    efs.delete_mount_target(cloud, target)
    assert efs.find_mount_target(cloud, target) is None
    efs.delete_file_system(cloud, id_)
    assert efs.find_file_system(cloud, id_) is None
    assert efs.mount_targets(cloud, id_) == ()
    efs.delete_file_system(cloud, id_)
    efs.delete_mount_target(cloud, target)


def test_a_missing_permission_has_the_name_that_iam_knows(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    stub("efs").add_client_error("describe_file_systems", "AccessDeniedException", "no")
    with pytest.raises(AccessDeniedError, match="elasticfilesystem:DescribeFileSystems"):
        efs.file_systems(cloud)


def test_fsx_says_state_and_reason(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    system = {
        "FileSystemId": "fs-0123456789abcdef0",
        "ResourceARN": "arn:aws:fsx:us-east-2:123456789012:file-system/fs-0123456789abcdef0",
        "Lifecycle": "FAILED",
        "FailureDetails": {"Message": "no addresses left"},
        "StorageCapacity": 1200,
        "Tags": TAGS,
    }
    stub("fsx").add_response("describe_file_systems", {"FileSystems": [system]}, {})
    (found,) = fsx.file_systems(cloud)
    assert (found.state, found.reason, found.capacity_gib) == ("FAILED", "no addresses left", 1200)
    for operation in ("describe_file_systems", "delete_file_system"):
        stub("fsx").add_client_error(operation, "FileSystemNotFound", "gone")
    assert fsx.find_file_system(cloud, "fs-0123456789abcdef0") is None
    fsx.delete_file_system(cloud, "fs-0123456789abcdef0")


def backup(id_: str, type_: str, lifecycle: str = "AVAILABLE") -> dict[str, object]:
    return {
        "BackupId": f"backup-0123456789abcde{id_}",
        "Lifecycle": lifecycle,
        "Type": type_,
        "CreationTime": 1,
        "FileSystem": {"FileSystemId": "fs-0123456789abcdef0"},
        "ResourceARN": f"arn:aws:fsx:us-east-2:123456789012:backup/backup-{id_}",
    }


def test_automatic_backups_go_with_their_file_system_and_are_not_listed(stubbed: Stubbed) -> None:
    cloud, stub = stubbed
    made = [backup("1", "AUTOMATIC"), backup("2", "USER_INITIATED"), backup("3", "USER_INITIATED", "DELETED")]
    stub("fsx").add_response("describe_backups", {"Backups": made}, {})
    assert [one.id[-1] for one in fsx.backups(cloud)] == ["2"]
    stub("fsx").add_response("describe_backups", {"Backups": [made[1]]}, {"BackupIds": [BACKUP]})
    found = fsx.find_backup(cloud, BACKUP)
    assert found is not None
    assert found.file_system_id == "fs-0123456789abcdef0"
    for operation in ("describe_backups", "delete_backup"):
        stub("fsx").add_client_error(operation, "BackupNotFound", "gone")
    assert fsx.find_backup(cloud, BACKUP) is None
    fsx.delete_backup(cloud, BACKUP)


def test_the_parts_of_a_log_delivery(cloud: Cloud) -> None:
    client = cloud.client("logs")
    client.create_log_group(logGroupName="g")
    client.put_delivery_source(
        name="s", resourceArn="arn:aws:cloudfront::123456789012:distribution/d", logType="ACCESS_LOGS",
        tags={"neuronkit:environment": "pilot"},
    )  # fmt: skip
    group = {"destinationResourceArn": "arn:aws:logs:us-east-2:123456789012:log-group:g"}
    destination = client.put_delivery_destination(name="d", deliveryDestinationConfiguration=group)
    arn = destination["deliveryDestination"]["arn"]
    id_ = client.create_delivery(deliverySourceName="s", deliveryDestinationArn=arn)["delivery"]["id"]
    found = {part.kind: part for part in log_deliveries.delivery_parts(cloud)}
    assert {kind: part.id for kind, part in found.items()} == {
        log_deliveries.DELIVERY: id_,
        log_deliveries.SOURCE: "s",
        log_deliveries.DESTINATION: "d",
    }
    assert found[log_deliveries.SOURCE].tags == {"neuronkit:environment": "pilot"}
    for part in (*found.values(), *found.values()):
        log_deliveries.delete(cloud, part.kind, part.id)
    assert log_deliveries.delivery_parts(cloud) == ()


def test_secrets_by_prefix(cloud: Cloud) -> None:
    session: boto3.Session = cloud.session
    for name in ("pcs!slurm-secret-pcs_1", "mine"):
        session.client("secretsmanager").create_secret(Name=name, SecretString="x")
    assert secrets.names_with_prefix(cloud, "pcs!") == ("pcs!slurm-secret-pcs_1",)
