"""Node images on the local cloud: built once, joined, failed and tried again, locked, and gone without a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.pilots import Pilot

pytestmark = [pytest.mark.local_cloud, pytest.mark.node, pytest.mark.xdist_group("local_cloud")]
REFERENCE = "node-image:slurm-25.11"


@pytest.fixture
def slurm(new_pilot: Callable[..., Pilot]) -> Any:
    pilot = new_pilot("trn1-slurm")
    yield pilot
    pilot.admin("DELETE", "faults")


def own_amis(pilot: Pilot) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pilot.client("ec2").describe_images(Owners=["self"])["Images"]
    return found


def images(pilot: Pilot) -> list[dict[str, Any]]:
    client = pilot.client("imagebuilder")
    return [
        build
        for version in client.list_images(owner="Self")["imageVersionList"]
        for build in client.list_image_build_versions(imageVersionArn=version["arn"])["imageSummaryList"]
    ]


def locked(pilot: Pilot) -> dict[str, Any]:
    lock = json.loads(pilot.file.with_name(f"{pilot.file.name}.local.lock").read_text())
    amis: dict[str, Any] = lock["amis"]
    return amis


def test_built_locked_and_gone(slurm: Pilot) -> None:
    not_built = slurm.run("lock").stdout
    assert "not built yet: run `neuronkit --local image build" in not_built
    assert REFERENCE not in locked(slurm)
    refused = slurm.run("deploy", "--yes", code=2).stderr
    assert "not built yet: the node image of cluster train (Slurm 25.11)" in refused
    assert set(slurm.stack_states()) == {"CDKToolkit"}

    (built,) = slurm.json("image build", "--yes")["images"]
    assert (built["state"], built["joined"]) == ("AVAILABLE", False)
    assert set(slurm.stack_states()) == {"CDKToolkit", "pilot-network", "pilot-image"}
    (ami,) = own_amis(slurm)
    assert ami["ImageId"] == built["ami"] == locked(slurm)[REFERENCE]["id"]
    tags = {tag["Key"]: tag["Value"] for tag in ami["Tags"]}
    assert tags["neuronkit:environment"] == "pilot"
    assert tags["neuronkit:node-image"] == built["recipe_version"]
    assert tags["neuronkit:slurm-version"] == "25.11"
    (image,) = images(slurm)
    assert image["tags"]["neuronkit:environment"] == "pilot", "destroy finds what it may delete by this"
    assert "emulated by the local cloud" in ami["Description"]
    (disk,) = ami["BlockDeviceMappings"]
    assert (ami["RootDeviceName"], disk["Ebs"]["VolumeSize"]) == ("/dev/sda1", 512)

    (again,) = slurm.json("image build", "--yes")["images"]
    assert (again["ami"], again["image"], len(images(slurm))) == (built["ami"], None, 1)
    (standing,) = slurm.json("image status")["versions"]
    assert standing["lock_has_the_newest"]
    assert not standing["recipe_has_changed"]

    destroyed = slurm.json("destroy", "--yes")
    assert destroyed["leftovers"] == []
    assert (own_amis(slurm), images(slurm)) == ([], [])
    ec2 = slurm.client("ec2")
    # moto's own stock of AMIs has snapshots, too.
    snapshots = {found["SnapshotId"] for found in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]}
    assert disk["Ebs"]["SnapshotId"] not in snapshots
    refused = slurm.run("deploy", "--yes", code=3).stderr
    assert f"run `neuronkit --local image build {slurm.file}`, which locks it, too" in refused
    (gone,) = slurm.json("image status")["versions"]
    assert (gone["locked_is_gone"], gone["recipe_has_changed"]) == (True, False)
    assert (
        f"{built['ami']}, which is gone: run `neuronkit --local image build {slurm.file}`"
        in slurm.run("image status").stdout
    )
    instances = [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]]
    assert {instance["State"]["Name"] for instance in instances} == {"terminated"}


def test_a_command_that_is_repeated_joins_and_destroy_stops_what_builds(slurm: Pilot) -> None:
    slurm.admin("POST", "faults", {"service": "ec2", "action": "RunInstances", "hang": True})
    (first,) = slurm.json("image build", "--yes", "--no-follow")["images"]
    (second,) = slurm.json("image build", "--yes", "--no-follow")["images"]
    assert (first["joined"], second["joined"], second["image"]) == (False, True, first["image"])
    assert len(images(slurm)) == 1
    slurm.admin("DELETE", "faults")
    assert slurm.json("destroy", "--yes")["leftovers"] == []
    assert (own_amis(slurm), images(slurm)) == ([], [])


def test_a_build_that_failed_says_which_step_and_why_and_is_started_again(slurm: Pilot) -> None:
    fault = {
        "service": "ec2",
        "action": "CreateImage",
        "error_code": "SnapshotLimitExceeded",
        "message": "no room",
    }
    slurm.admin("POST", "faults", fault)
    failed = slurm.run("image build", "--yes", code=3)
    assert "CreateOutputAMI" in failed.stderr
    assert "no room" in failed.stderr
    assert REFERENCE not in locked(slurm)
    (standing,) = slurm.json("image status")["versions"]
    assert [row["state"] for row in standing["images"]] == ["FAILED"]
    (built,) = slurm.json("image build", "--yes")["images"]
    assert built["state"] == "AVAILABLE"
    assert [image["state"]["status"] for image in images(slurm)] == ["AVAILABLE", "FAILED"]


def test_a_changed_recipe_is_said_and_built_anew(slurm: Pilot) -> None:
    (old,) = slurm.json("image build", "--yes")["images"]
    text = slurm.file.read_text()
    slurm.file.write_text(text.replace("root_volume_gib: 512 ", "root_volume_gib: 600 ", 1))
    assert "root_volume_gib: 600" in slurm.file.read_text()
    (standing,) = slurm.json("image status")["versions"]
    assert (standing["recipe_has_changed"], standing["lock_has_the_newest"]) == (True, True)
    (new,) = slurm.json("image build", "--yes")["images"]
    assert new["recipe_version"] != old["recipe_version"]
    assert locked(slurm)[REFERENCE]["id"] == new["ami"] != old["ami"]
    assert len(own_amis(slurm)) == 2
