"""A Slurm cluster on the local cloud's AWS PCS: destroyed from every step, with what PCS leaves behind, beside a neighbour."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stacks.domain.names import ENVIRONMENT_TAG, PCS_CLUSTER_TAG
from tests.integration.conftest import PilotFactory
from tests.integration.killing import killed_at
from tests.integration.pilots import Pilot

pytestmark = [
    pytest.mark.local_cloud,
    pytest.mark.node,
    pytest.mark.slurm,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("teardown_slurm"),
]
SLURM_STACKS = ["pilot-network", "pilot-storage", "pilot-cluster-train"]


@pytest.fixture
def slurm_pilot(new_pilot: PilotFactory) -> Pilot:
    return make_pilot(new_pilot, "pilot")


def make_pilot(new_pilot: PilotFactory, name: str, account: str | None = None) -> Pilot:
    """Two nodes that always run, from an image that the account has: no build."""
    pilot = new_pilot("trn1-slurm", name=name, account=account, bootstrapped=account is None)
    image = pilot.client("ec2").describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    text = pilot.file.read_text()
    text = re.sub(r"nodes: 4", "nodes: 2", text)
    text = re.sub(r"minimum_nodes: 0", f"minimum_nodes: 2\n      ami: {image}", text)
    pilot.file.write_text(text)
    return pilot


def pcs_left(pilot: Pilot) -> list[str]:
    return [cluster["name"] for cluster in pilot.client("pcs").list_clusters()["clusters"]]


def running_nodes(pilot: Pilot) -> list[str]:
    pages = pilot.client("ec2").describe_instances(
        Filters=[
            {"Name": "tag-key", "Values": [PCS_CLUSTER_TAG]},
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
        ]
    )
    return [one["InstanceId"] for group in pages["Reservations"] for one in group["Instances"]]


def lost(service: str, action: str) -> dict[str, Any]:
    return {"service": service, "action": action, "error_code": "ServiceUnavailable"}


def held(resource_type: str, action: str = "create") -> dict[str, Any]:
    return {"resource_type": resource_type, "action": action}


DESTROY_STEPS = [
    lost("pcs", "ListClusters"),
    lost("cloudformation", "DeleteStack"),
    held("AWS::PCS::Queue", "delete"),
    held("AWS::PCS::ComputeNodeGroup", "delete"),
    held("AWS::PCS::Cluster", "delete"),
    held("AWS::EC2::NatGateway", "delete"),
    lost("efs", "DeleteFileSystem"),
    lost("s3", "DeleteBucket"),
]


def test_killed_at_any_step_the_same_command_ends_with_nothing_left(slurm_pilot: Pilot) -> None:
    pilot = slurm_pilot
    killed_at(pilot, held("AWS::PCS::ComputeNodeGroup"), "deploy", "--yes")
    pilot.run("deploy", "--yes")
    assert {pilot.stack_states()[stack] for stack in SLURM_STACKS} == {"CREATE_COMPLETE"}
    assert len(running_nodes(pilot)) == 3
    said = killed_at(pilot, DESTROY_STEPS[1], "destroy", "--yes")
    assert (
        "nodes of Slurm cluster pilot-train, and every job that runs on them, without a last checkpoint: 1 of login-c6i-xlarge, 2 of"
        in said
    )
    assert "all data in EFS file system fs-" in said
    for fault in DESTROY_STEPS:
        killed_at(pilot, fault, "destroy", "--yes")
    assert pilot.json("destroy", "--yes")["leftovers"] == []
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert (pcs_left(pilot), running_nodes(pilot)) == ([], [])
    assert pilot.client("efs").describe_file_systems()["FileSystems"] == []
    assert pilot.json("leftovers")["leftovers"] == []


def test_cloudformation_stuck_on_a_node_group_is_helped_out(slurm_pilot: Pilot) -> None:
    pilot = slurm_pilot
    pilot.run("deploy", "--yes")
    message = "Resource handler returned message: a timing dependency"
    pilot.admin(
        "POST",
        "faults",
        {"resource_type": "AWS::PCS::ComputeNodeGroup", "action": "delete", "message": message, "times": 1},
    )
    done = pilot.run("destroy", "--yes")
    assert "delete PCS node group" in done.stderr
    assert set(pilot.stack_states()) == {"CDKToolkit"}
    assert pcs_left(pilot) == []


def tags(kind: str, environment: str | None = None, **more: str) -> list[dict[str, Any]]:
    wanted = {**({ENVIRONMENT_TAG: environment} if environment else {}), **more}
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in wanted.items()]}]


def test_what_pcs_leaves_behind_goes_and_a_neighbour_stays(
    slurm_pilot: Pilot, new_pilot: PilotFactory
) -> None:
    pilot = slurm_pilot
    neighbour = make_pilot(new_pilot, "pilot-2", pilot.account)
    pilot.run("deploy", "--yes")
    neighbour.run("deploy", "--yes")
    ids = {one["name"]: one["id"] for one in pilot.client("pcs").list_clusters()["clusters"]}
    planted = {
        environment: plant(pilot, ids[f"{environment}-train"], environment)
        for environment in ("pilot", "pilot-2")
    }
    answer = pilot.json("destroy", "--yes")
    deleted = {item["id"] for item in answer["deleted"]}
    assert planted["pilot"] <= deleted
    assert not planted["pilot-2"] & deleted
    assert answer["leftovers"] == answer["not_checked"] == []
    assert pcs_left(pilot) == ["pilot-2-train"]
    assert len(running_nodes(pilot)) == 3
    assert len(pilot.client("efs").describe_file_systems()["FileSystems"]) == 2
    after = pilot.json("leftovers")
    assert after["leftovers"] == after["not_checked"] == []


def plant(pilot: Pilot, cluster_id: str, environment: str) -> set[str]:
    """As PCS would leave them: its own launch template without a tag of ours, a log group; and a file system by hand."""
    ec2, logs, efs = pilot.client("ec2"), pilot.client("logs"), pilot.client("efs")
    template = ec2.create_launch_template(
        LaunchTemplateName=f"pcs-{cluster_id}-do-not-delete",
        LaunchTemplateData={"InstanceType": "t3.micro"},
        TagSpecifications=tags("launch-template", AWSPCSManaged="true"),
    )["LaunchTemplate"]["LaunchTemplateId"]
    logs.create_log_group(logGroupName=f"/aws/pcs/{cluster_id}/scheduler")
    system = efs.create_file_system(
        CreationToken=environment, Tags=[{"Key": ENVIRONMENT_TAG, "Value": environment}]
    )["FileSystemId"]
    return {template, f"/aws/pcs/{cluster_id}/scheduler", system}


def test_a_question_to_pcs_that_is_refused_is_never_nothing_left(slurm_pilot: Pilot) -> None:
    pilot = slurm_pilot
    fault = {"service": "pcs", "action": "ListClusters", "error_code": "AccessDeniedException", "times": None}
    planted = pilot.admin("POST", "faults", fault)
    try:
        answer = pilot.json("leftovers", code=3)
    finally:
        pilot.admin("DELETE", f"faults/{planted['id']}")
    assert answer["leftovers"] == []
    assert "pcs:ListClusters" in answer["not_checked"][0]["why"]
    assert pilot.json("leftovers")["not_checked"] == []
