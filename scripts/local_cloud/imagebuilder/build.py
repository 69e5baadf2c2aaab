"""One build: an instance of EC2's, an AMI made of it with tags and a snapshot. Nothing is installed in it, and it says so.

It goes through EC2's API, so that EC2's own refusals, and the faults that tests plant there, make a build fail.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from moto.ec2.models import ec2_backends

from scripts.local_cloud import runtime

ACTIVE = ("PENDING", "CREATING", "BUILDING", "TESTING", "DISTRIBUTING", "INTEGRATING")
EMULATED = "emulated by the local cloud: nothing was installed or tested"
_SECONDS_A_STATE = 0.3
_DATE = "{{ imagebuilder:buildDate }}"


class _CancelledError(Exception):
    pass


@dataclass
class Build:
    arn: str
    pipeline: dict[str, Any]
    recipe: dict[str, Any]
    infrastructure: dict[str, Any]
    distribution: dict[str, Any]
    tags: dict[str, str]
    account: str
    region: str
    status: str = "PENDING"
    reason: str = ""
    step: str = ""
    failure: str = ""
    """Why the step failed."""
    amis: list[dict[str, str]] = field(default_factory=list)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def cancel(self) -> None:
        self.cancelled.set()

    def summary(self) -> dict[str, Any]:
        name, version, build = self.arn.split(":image/")[1].split("/")
        return {
            "arn": self.arn,
            "name": self.recipe["name"] or name,
            "type": "AMI",
            "version": f"{version}/{build}",
            "platform": "Linux",
            "osVersion": "Ubuntu 24",
            "state": {"status": self.status, "reason": self.reason or None},
            "dateCreated": self.created.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "outputResources": {"amis": [dict(ami) for ami in self.amis]},
            "tags": dict(self.tags),
            "buildType": "USER_INITIATED",
        }

    def _run(self) -> None:
        try:
            self._make()
        except _CancelledError:
            self.status, self.reason = "CANCELLED", "the build was cancelled"
        except (ClientError, BotoCoreError) as error:
            self.status, self.reason, self.failure = "FAILED", f"Workflow step {self.step} failed", str(error)

    def _make(self) -> None:
        ec2 = runtime.current().clients.client("ec2", self.account, self.region)
        self._enter("BUILDING", "LaunchBuildInstance")
        parent = self.recipe["parentImage"]
        ec2.describe_images(ImageIds=[parent])
        instance_id = self._launch(ec2, parent)
        try:
            self._enter("BUILDING", "ApplyBuildComponents")
            self._enter("BUILDING", "CreateOutputAMI")
            made = [self._distribute(ec2, instance_id, d) for d in self.distribution["distributions"]]
        finally:
            ec2.terminate_instances(InstanceIds=[instance_id])
        self._enter("TESTING", "ApplyTestComponents")
        self._enter("DISTRIBUTING", "DistributeAMI")
        self.amis = made
        self.status, self.step = "AVAILABLE", ""

    def _enter(self, status: str, step: str) -> None:
        self.status, self.step = status, step
        if self.cancelled.wait(_SECONDS_A_STATE):
            raise _CancelledError

    def _launch(self, ec2: Any, parent: str) -> str:
        tags = {**self.infrastructure.get("resourceTags", {}), "CreatedBy": "EC2 Image Builder"}
        answer = ec2.run_instances(
            ImageId=parent,
            MinCount=1,
            MaxCount=1,
            InstanceType=self.infrastructure["instanceTypes"][0],
            # Spelt out, because moto would leave the interface behind.
            NetworkInterfaces=[
                {
                    "DeviceIndex": 0,
                    "SubnetId": self.infrastructure["subnetId"],
                    "Groups": self.infrastructure["securityGroupIds"],
                    "DeleteOnTermination": True,
                }
            ],
            IamInstanceProfile={"Name": self.infrastructure["instanceProfileName"]},
            TagSpecifications=[{"ResourceType": "instance", "Tags": _tag_list(tags)}],
        )
        return str(answer["Instances"][0]["InstanceId"])

    def _distribute(self, ec2: Any, instance_id: str, distribution: dict[str, Any]) -> dict[str, str]:
        settings = distribution["amiDistributionConfiguration"]
        name = settings["name"].replace(_DATE, self.created.strftime("%Y-%m-%dT%H-%M-%S.%fZ"))
        description = f"{settings.get('description', '')} ({EMULATED})"
        tags = {
            **settings.get("amiTags", {}),
            "CreatedBy": "EC2 Image Builder",
            "Ec2ImageBuilderArn": self.arn,
        }
        ami_id = ec2.create_image(
            InstanceId=instance_id,
            Name=name,
            Description=description,
            TagSpecifications=[{"ResourceType": "image", "Tags": _tag_list(tags)}],
        )["ImageId"]
        self._give_the_recipe_s_disk(ami_id)
        return {
            "region": distribution["region"],
            "image": ami_id,
            "name": name,
            "description": description,
            "accountId": self.account,
        }

    def _give_the_recipe_s_disk(self, ami_id: str) -> None:
        """moto gives every AMI a disk of its own invention."""
        root = self.recipe["blockDeviceMappings"][0]
        with runtime.current().moto_lock:
            ami = ec2_backends[self.account][self.region].amis[ami_id]
            ami.root_device_name = root["deviceName"]
            ami.root_device_type = "ebs"
            ami.ebs_snapshot.volume.size = root["ebs"]["volumeSize"]
            ami.ebs_snapshot.encrypted = root["ebs"].get("encrypted", False)


def _tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
