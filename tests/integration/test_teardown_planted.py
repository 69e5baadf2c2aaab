"""Planted leftovers: what is tagged goes, what is only named so stays, and what was not asked is said."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.domain.names import ENVIRONMENT_TAG, OUTPUT_NODE_SUBNET_ID, OUTPUT_VPC_ID
from tests.integration.conftest import PilotFactory
from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("teardown_planted")]


def tag(kind: str, environment: str = "pilot") -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": [{"Key": ENVIRONMENT_TAG, "Value": environment}]}]


def outputs(pilot: Pilot) -> dict[str, str]:
    (stack,) = pilot.client("cloudformation").describe_stacks(StackName=f"{pilot.name}-network")["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def plant(pilot: Pilot, environment: str) -> dict[str, str]:
    """Outside of the VPC, so that it blocks nothing. Ids by kind."""
    ec2, batch, logs = pilot.client("ec2"), pilot.client("batch"), pilot.client("logs")
    zone = ec2.describe_availability_zones()["AvailabilityZones"][0]["ZoneName"]
    volume = ec2.create_volume(AvailabilityZone=zone, Size=8, TagSpecifications=tag("volume", environment))
    address = ec2.allocate_address(Domain="vpc", TagSpecifications=tag("elastic-ip", environment))
    template = ec2.create_launch_template(
        LaunchTemplateName=f"left-{environment}",
        LaunchTemplateData={"InstanceType": "t3.micro"},
        TagSpecifications=tag("launch-template", environment),
    )
    logs.create_log_group(logGroupName=f"/left/{environment}", tags={ENVIRONMENT_TAG: environment})
    definition = batch.register_job_definition(
        jobDefinitionName=f"left-{environment}",
        type="container",
        containerProperties={
            "image": "i",
            "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "128"}],
        },
        tags={ENVIRONMENT_TAG: environment},
    )
    return {
        "volume": volume["VolumeId"],
        "elastic IP": address["AllocationId"],
        "launch template": template["LaunchTemplate"]["LaunchTemplateId"],
        "log group": f"/left/{environment}",
        "job definition": definition["jobDefinitionArn"],
    }


def plant_in_the_network(pilot: Pilot) -> dict[str, str]:
    """They keep the VPC alive until they are gone."""
    ec2, found = pilot.client("ec2"), outputs(pilot)
    group = ec2.create_security_group(
        GroupName="left", Description="d", VpcId=found[OUTPUT_VPC_ID], TagSpecifications=tag("security-group")
    )["GroupId"]
    interface = ec2.create_network_interface(
        SubnetId=found[OUTPUT_NODE_SUBNET_ID], Groups=[group], TagSpecifications=tag("network-interface")
    )
    return {"security group": group, "network interface": interface["NetworkInterface"]["NetworkInterfaceId"]}


def plant_suspects(pilot: Pilot) -> None:
    pilot.client("logs").create_log_group(logGroupName="/notes/pilot/jobs")
    pilot.client("s3").create_bucket(
        Bucket=f"pilot-notes-{pilot.account}", CreateBucketConfiguration={"LocationConstraint": pilot.region}
    )


def ids(items: list[dict[str, Any]]) -> set[str]:
    return {item["id"] for item in items}


def test_what_is_tagged_goes_and_what_is_only_named_so_stays(pilot: Pilot) -> None:
    pilot.run("deploy", "--yes")
    planted = {**plant(pilot, "pilot"), **plant_in_the_network(pilot)}
    neighbours = plant(pilot, "pilot-2")
    plant_suspects(pilot)
    before = pilot.json("leftovers", code=3)
    assert set(planted.values()) <= ids(before["leftovers"])
    answer = pilot.json("destroy", "--yes")
    assert set(planted.values()) <= ids(answer["deleted"])
    assert ids(answer["suspects"]) == {"/notes/pilot/jobs", f"pilot-notes-{pilot.account}"}
    assert not set(neighbours.values()) & ids([*answer["deleted"], *answer["suspects"], *answer["leftovers"]])
    after = pilot.json("leftovers")
    assert after["leftovers"] == after["not_checked"] == []
    assert pilot.client("ec2").describe_volumes(VolumeIds=[neighbours["volume"]])["Volumes"]
    groups = {group["logGroupName"] for group in pilot.client("logs").describe_log_groups()["logGroups"]}
    assert groups == {"/notes/pilot/jobs", "/left/pilot-2"}


def test_a_strangers_interface_in_our_network_is_named_and_not_touched(pilot: Pilot) -> None:
    pilot.run("deploy", "--yes")
    ec2 = pilot.client("ec2")
    interface = ec2.create_network_interface(
        SubnetId=outputs(pilot)[OUTPUT_NODE_SUBNET_ID], Description="a stranger's"
    )
    id_ = interface["NetworkInterface"]["NetworkInterfaceId"]
    done = pilot.run("destroy", "--yes", code=3)
    assert f"delete-network-interface --network-interface-id {id_}" in done.stdout
    assert set(pilot.stack_states()) == {"CDKToolkit", "pilot-network"}
    assert ec2.describe_network_interfaces(NetworkInterfaceIds=[id_])["NetworkInterfaces"]
    ec2.delete_network_interface(NetworkInterfaceId=id_)
    assert pilot.json("destroy", "--yes")["leftovers"] == []


def test_a_volume_in_use_is_a_leftover_until_it_is_free(new_pilot: PilotFactory) -> None:
    pilot = new_pilot(bootstrapped=False)
    ec2 = pilot.client("ec2")
    image = ec2.describe_images(Owners=["self", "amazon"])["Images"][0]["ImageId"]
    zone = ec2.describe_availability_zones()["AvailabilityZones"][0]["ZoneName"]
    instance = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, InstanceType="t3.micro")["Instances"][
        0
    ]["InstanceId"]
    volume = ec2.create_volume(AvailabilityZone=zone, Size=8, TagSpecifications=tag("volume"))["VolumeId"]
    ec2.attach_volume(VolumeId=volume, InstanceId=instance, Device="/dev/sdf")
    answer = pilot.json("destroy", "--yes", code=3)
    assert [(item["id"], item["state"]) for item in answer["leftovers"]] == [(volume, "in-use")]
    ec2.detach_volume(VolumeId=volume, InstanceId=instance, Device="/dev/sdf")
    assert ids(pilot.json("destroy", "--yes")["deleted"]) == {volume}


REFUSED = [
    ("ec2", "DescribeVolumes", "UnauthorizedOperation", "ec2:DescribeVolumes"),
    ("resourcegroupstaggingapi", "GetResources", "AccessDeniedException", "tag:GetResources"),
    ("batch", "DescribeJobDefinitions", "AccessDeniedException", "batch:DescribeJobDefinitions"),
]


@pytest.mark.parametrize(("service", "action", "code", "permission"), REFUSED)
def test_a_sweep_that_could_not_ask_is_never_nothing_left(
    new_pilot: PilotFactory, service: str, action: str, code: str, permission: str
) -> None:
    pilot = new_pilot(bootstrapped=False)
    fault = pilot.admin(
        "POST", "faults", {"service": service, "action": action, "error_code": code, "times": None}
    )
    try:
        answer = pilot.json("leftovers", code=3)
        assert answer["leftovers"] == []
        assert permission in answer["not_checked"][0]["why"]
        assert "nothing of pilot is" not in pilot.run("leftovers", code=3).stdout
    finally:
        pilot.admin("DELETE", f"faults/{fault['id']}")
    assert pilot.json("leftovers")["not_checked"] == []


def test_a_refused_deletion_is_a_leftover_with_the_missing_permission(new_pilot: PilotFactory) -> None:
    pilot = new_pilot(bootstrapped=False)
    planted = plant(pilot, "pilot")
    fault = {"service": "ec2", "action": "DeleteVolume", "error_code": "UnauthorizedOperation", "times": None}
    planted_fault = pilot.admin("POST", "faults", fault)
    try:
        answer = pilot.json("destroy", "--yes", code=3)
    finally:
        pilot.admin("DELETE", f"faults/{planted_fault['id']}")
    assert ids(answer["leftovers"]) == {planted["volume"]}
    assert "ec2:DeleteVolume" in answer["leftovers"][0]["why"]
    assert ids(answer["deleted"]) == set(planted.values()) - {planted["volume"]}
    assert ids(pilot.json("destroy", "--yes")["deleted"]) == {planted["volume"]}
