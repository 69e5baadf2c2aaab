"""PCS through CloudFormation and its API: described as deployed, strict, a Slurm that runs jobs, nothing left."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from scripts.local_cloud import process
from tests.integration.local_cloud.conftest import session_for
from tests.integration.local_cloud.describe import differences, remains, stack_resources
from tests.integration.local_cloud.pcs_world import STACK, PcsWorld, setting, template
from tests.slurm import needs_slurm, processes_of, wait_for

pytestmark = [pytest.mark.local_cloud, pytest.mark.xdist_group("local_cloud"), *needs_slurm]


@pytest.fixture(scope="module")
def deployed(cloud: process.LocalCloud) -> Iterator[PcsWorld]:
    """One stack for a module's tests that only look."""
    world = PcsWorld(session_for(cloud, "400000000001"))
    assert world.deploy(template()) == "CREATE_COMPLETE", world.failures()
    yield world
    world.delete()


@pytest.fixture
def world(session: boto3.Session) -> PcsWorld:
    return PcsWorld(session)


def slurm_directories(cloud: process.LocalCloud) -> list[Path]:
    root = cloud.state_dir / "slurm"
    return sorted(root.iterdir()) if root.exists() else []


# ---- as deployed


def test_what_the_template_says_is_described(deployed: PcsWorld) -> None:
    found = differences(template(), STACK, deployed.session)
    assert not found, "\n".join(found)


def test_ref_is_the_arn_and_lists_and_tags_know_every_resource(deployed: PcsWorld) -> None:
    cluster_id = deployed.output("ClusterId")
    resources = {item.logical_id: item.physical_id for item in stack_resources(STACK, deployed.session)}
    assert deployed.pcs.list_clusters()["clusters"][0]["arn"] == resources["Cluster"]
    groups = deployed.pcs.list_compute_node_groups(clusterIdentifier=cluster_id)["computeNodeGroups"]
    assert {item["name"]: item["arn"] for item in groups} == {
        "login": resources["Login"],
        "trn1-static": resources["Static"],
        "trn1-dynamic": resources["Dynamic"],
    }
    queues = deployed.pcs.list_queues(clusterIdentifier="pilot-train")["queues"]
    assert [item["arn"] for item in queues] == [resources["Queue"]]
    tagging = deployed.session.client("resourcegroupstaggingapi")
    mapped = tagging.get_resources(TagFilters=[{"Key": "kit", "Values": ["yes"]}])["ResourceTagMappingList"]
    assert {resources[name] for name in ("Cluster", "Login", "Static", "Dynamic", "Queue")} <= {
        item["ResourceARN"] for item in mapped
    }


def test_static_groups_have_instances_with_the_tags_of_pcs_and_of_the_template(deployed: PcsWorld) -> None:
    instances = deployed.instances(deployed.output("StaticGroupId"))
    assert [item["InstanceType"] for item in instances] == ["trn1.32xlarge"] * 2
    tags = {tag["Key"]: tag["Value"] for tag in instances[0]["Tags"]}
    assert tags["aws:pcs:cluster-id"] == deployed.output("ClusterId")
    assert tags["from"] == "template"


def test_the_queue_has_the_nodes_of_its_groups_as_their_instance_types_are(deployed: PcsWorld) -> None:
    lines = deployed.on_login_node("sinfo --noheader --Node --format '%N %P %c %G %f %T'").splitlines()
    assert lines == [
        *(f"trn1-dynamic-{number} train* 64 neuron:16 trn1,us1 idle" for number in (1, 2)),
        *(f"trn1-static-{number} train* 64 neuron:16 trn1,us0 idle" for number in (1, 2)),
    ]


def test_jobs_reach_this_cloud_by_the_aws_command(deployed: PcsWorld) -> None:
    script = "aws sts get-caller-identity --query Account --output text; ls /dev/infiniband | wc -l; mountpoint /shared"
    answer = deployed.on_login_node(f"srun --export=NONE --nodes=1 --constraint=us0 bash -c '{script}'")
    assert answer.splitlines() == ["400000000001", "2", "/shared is a mountpoint"]


def test_slurm_is_where_pcs_installs_it(deployed: PcsWorld) -> None:
    assert "slurm" in deployed.on_login_node("/opt/aws/pcs/scheduler/slurm-25.11/bin/sinfo --version")
    answer = deployed.invocation(deployed.send("/opt/aws/pcs/scheduler/slurm-24.11/bin/sinfo --version"))
    assert answer["Status"] == "Failed"
    assert answer["ResponseCode"] == 127


# ---- refusals of the API


def _create_group(world: PcsWorld, **changes: Any) -> Any:
    group = world.pcs.get_compute_node_group(
        clusterIdentifier="pilot-train", computeNodeGroupIdentifier="trn1-dynamic"
    )["computeNodeGroup"]
    kept = (
        "subnetIds",
        "iamInstanceProfileArn",
        "customLaunchTemplate",
        "instanceConfigs",
        "slurmConfiguration",
    )
    request = {
        "clusterIdentifier": "pilot-train",
        "computeNodeGroupName": "another",
        "scalingConfiguration": {"minInstanceCount": 0, "maxInstanceCount": 1},
        **{name: group[name] for name in kept},
        **changes,
    }
    return world.pcs.create_compute_node_group(**request)


def _settings(*pairs: tuple[str, str], records: tuple[dict[str, str], ...] = ()) -> dict[str, Any]:
    settings = [{"parameterName": name, "parameterValue": value} for name, value in pairs]
    return {"slurmConfiguration": {"slurmCustomSettings": settings, "gresCustomSettings": list(records)}}


RECORD = {"Name": "neuron", "Count": "8", "File": "/dev/neuron[0-7]"}


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"computeNodeGroupName": "n" * 26}, "ValidationException", "3 to 25 characters"),
        ({"computeNodeGroupName": "under_score"}, "ValidationException", "3 to 25 characters"),
        ({"computeNodeGroupName": "login"}, "ConflictException", "already exists"),
        (
            {"scalingConfiguration": {"minInstanceCount": 1, "maxInstanceCount": 2}},
            "ValidationException",
            "static or dynamic",
        ),
        (
            {"scalingConfiguration": {"minInstanceCount": 0, "maxInstanceCount": 28}},
            "ServiceQuotaExceededException",
            "up to 32 instances",
        ),
        (_settings(("Gres", "neuron:16")), "ValidationException", "no record"),
        (_settings(("Gres", "neuron:16"), records=(RECORD,)), "ValidationException", "exceeds the 8"),
        (
            _settings(("TopologyPlugin", "topology/tree")),
            "ValidationException",
            "TopologyPlugin is not supported",
        ),
        ({"subnetIds": ["subnet-00000000"]}, "ValidationException", "subnetIds"),
        (
            {"customLaunchTemplate": {"id": "lt-00000000000000000", "version": "1"}},
            "ValidationException",
            "customLaunchTemplate",
        ),
    ],
)
def test_a_group_that_pcs_would_refuse_is_refused(
    deployed: PcsWorld, changes: dict[str, Any], code: str, says: str
) -> None:
    with pytest.raises(ClientError, match=says) as refusal:
        _create_group(deployed, **changes)
    assert refusal.value.response["Error"]["Code"] == code


def test_a_record_without_gres_is_taken(deployed: PcsWorld) -> None:
    made = _create_group(deployed, **_settings(records=(RECORD,)))["computeNodeGroup"]
    assert made["status"] == "ACTIVE"
    deployed.pcs.delete_compute_node_group(
        clusterIdentifier="pilot-train", computeNodeGroupIdentifier=made["id"]
    )


def test_ten_groups_are_the_most(deployed: PcsWorld) -> None:
    names = [f"extra-{number}" for number in range(7)]
    for name in names:
        _create_group(deployed, computeNodeGroupName=name)
    with pytest.raises(ClientError, match="up to 10 compute node groups"):
        _create_group(deployed, computeNodeGroupName="one-too-many")
    for name in names:
        deployed.pcs.delete_compute_node_group(
            clusterIdentifier="pilot-train", computeNodeGroupIdentifier=name
        )


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("delete_cluster", {}),
        ("delete_compute_node_group", {"computeNodeGroupIdentifier": "trn1-static"}),
    ],
)
def test_what_others_depend_on_is_not_deleted(
    deployed: PcsWorld, operation: str, parameters: dict[str, str]
) -> None:
    with pytest.raises(ClientError) as refusal:
        getattr(deployed.pcs, operation)(clusterIdentifier="pilot-train", **parameters)
    assert refusal.value.response["Error"]["Code"] == "ConflictException"


def test_what_is_not_there_is_not_found(deployed: PcsWorld) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        deployed.pcs.get_queue(clusterIdentifier="pilot-train", queueIdentifier="pcs_nothing")


# ---- refusals in a stack


def _cluster(body: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = body["Resources"]["Cluster"]["Properties"]
    return properties


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda body: _cluster(body).update(Name="1-pilot"), "3 to 40 characters"),
        (lambda body: _cluster(body)["Scheduler"].update(Version="24.11"), "end of life"),
        (lambda body: _cluster(body)["Scheduler"].update(Version="22.05"), "not supported"),
        (
            lambda body: _cluster(body)["SlurmConfiguration"]["SlurmCustomSettings"].append(
                setting("SlurmctldParameters", "x")
            ),
            "SlurmctldParameters is not supported",
        ),
        (lambda body: _cluster(body)["SlurmConfiguration"].update(JwtAuth={}), "JwtAuth"),
        (lambda body: _cluster(body).update(JobSubmitPlugins=[]), "JobSubmitPlugins is not emulated"),
        (
            lambda body: body["Resources"]["Static"]["Properties"].update(LaunchTemplateMode="MANAGED"),
            "LaunchTemplateMode is not emulated",
        ),
        (lambda body: body["Resources"]["Role"]["Properties"].pop("Path"), "The role ARN is invalid"),
        (
            lambda body: body["Resources"]["Queue"]["Properties"].update(ClusterId={"Ref": "Cluster"}),
            "is its id or its name",
        ),
    ],
)
def test_a_stack_that_pcs_would_refuse_fails_and_leaves_nothing(
    world: PcsWorld, change: Any, says: str
) -> None:
    body = template()
    change(body)
    assert world.deploy(body) == "ROLLBACK_COMPLETE", world.failures()
    assert says in world.failures()
    assert world.pcs.list_clusters()["clusters"] == []


def test_devices_that_the_type_does_not_have_fail_the_queue_and_say_why(world: PcsWorld) -> None:
    body = template()
    for name in ("Static", "Dynamic"):
        body["Resources"][name]["Properties"]["InstanceConfigs"] = [{"InstanceType": "trn1.2xlarge"}]
    assert world.deploy(body) == "ROLLBACK_COMPLETE", world.failures()
    assert "have 1 Neuron devices, Gres counts 16" in world.failures()


# ---- change and end


def test_a_changed_group_changes_the_nodes_and_a_deleted_stack_leaves_nothing(
    cloud: process.LocalCloud, world: PcsWorld
) -> None:
    before = slurm_directories(cloud)
    assert world.deploy(template()) == "CREATE_COMPLETE", world.failures()
    world.on_login_node("echo kept >/shared/file")
    body = template()
    body["Resources"]["Static"]["Properties"]["ScalingConfiguration"] = {
        "MinInstanceCount": 3,
        "MaxInstanceCount": 3,
    }
    body["Resources"]["Dynamic"]["Properties"]["Tags"] = {"kit": "changed"}
    assert world.update(body) == "UPDATE_COMPLETE", world.failures()
    assert not differences(body, STACK, world.session)
    static = world.output("StaticGroupId")
    assert len(world.instances(static)) == 3
    names = world.on_login_node("sinfo --noheader --Node --format %N; cat /shared/file").split()
    assert names == [*(f"trn1-dynamic-{n}" for n in (1, 2)), *(f"trn1-static-{n}" for n in (1, 2, 3)), "kept"]
    resources = stack_resources(STACK, world.session)
    world.delete()
    assert remains(resources, world.session) == []
    assert world.instances(static) == []
    assert slurm_directories(cloud) == before


def test_a_change_that_is_not_of_the_nodes_leaves_jobs_alone(world: PcsWorld) -> None:
    assert world.deploy(template()) == "CREATE_COMPLETE", world.failures()
    job = world.on_login_node("sbatch --parsable --output=/dev/null --wrap 'sleep 600'").strip()
    body = template()
    body["Resources"]["Static"]["Properties"]["AmiId"] = "ami-0fedcba9876543210"
    assert world.update(body) == "UPDATE_COMPLETE", world.failures()
    assert world.on_login_node(f"squeue --noheader --format=%i --jobs={job}").strip() == job
    world.delete()


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_the_end_of_the_server_ends_every_slurm(tmp_path: Path, end: str) -> None:
    cloud = process.start(tmp_path / "cloud")
    try:
        world = PcsWorld(session_for(cloud, "400000000002"))
        assert world.deploy(template()) == "CREATE_COMPLETE", world.failures()
        assert _daemons(tmp_path)
        if end == "killed":
            os.kill(cloud.pid, signal.SIGKILL)
    finally:
        process.stop(tmp_path / "cloud")
    wait_for("no daemon is left", lambda: _daemons(tmp_path) == [], seconds=10)
    assert (slurm_directories(cloud) == []) == (end == "stopped")


def _daemons(directory: Path) -> list[str]:
    return [line for line in processes_of(directory) if "slurm" in line.split()[0]]
