"""Instances that are registered with an ECS cluster: its container instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from scripts.aws import ecs
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError

_AT_ONCE: Final = 100
"""What DescribeContainerInstances takes in one call (ECS API reference)."""
_GONE: Final = "ClusterNotFoundException"
_CAN_BE_LOST: Final = ("ACTIVE", "DRAINING")


@dataclass(frozen=True, slots=True)
class ContainerInstance:
    arn: str
    instance_id: str
    status: str
    is_connected: bool
    """Its agent."""

    @property
    def is_lost(self) -> bool:
        """ECS does not let go of it by itself, terminated or not (ECS API reference, DeregisterContainerInstance)."""
        return self.status in _CAN_BE_LOST and not self.is_connected


def registered(cloud: Cloud, cluster: str) -> tuple[ContainerInstance, ...]:
    """Those that are draining or being deregistered, too; none where the cluster is gone."""
    found: list[ContainerInstance] = []
    try:
        arns = list(cloud.pages("ecs", "list_container_instances", "containerInstanceArns", cluster=cluster))
        for first in range(0, len(arns), _AT_ONCE):
            some = arns[first : first + _AT_ONCE]
            found += _described(cloud, cluster, some)
    except AwsError as error:
        if error.code == _GONE:
            return ()
        raise
    return tuple(found)


def exists(cloud: Cloud, arn: str) -> bool:
    """The cluster's name is part of the ARN."""
    cluster = arn.split(":container-instance/")[1].split("/")[0]
    try:
        found = _described(cloud, cluster, [arn])
    except AwsError as error:
        if error.code == _GONE:
            return False
        raise
    return any(one.status != "INACTIVE" for one in found)


def deregister(cloud: Cloud, cluster: str, arn: str) -> None:
    """Takes it out of the cluster; the EC2 instance stays as it is."""
    cloud.call("ecs", "deregister_container_instance", cluster=cluster, containerInstance=arn, force=True)


def _described(cloud: Cloud, cluster: str, arns: list[str]) -> list[ContainerInstance]:
    answer = ecs.described(cloud, "describe_container_instances", cluster=cluster, containerInstances=arns)
    return [_instance(raw) for raw in answer["containerInstances"]]


def _instance(raw: dict[str, Any]) -> ContainerInstance:
    return ContainerInstance(
        raw["containerInstanceArn"],
        raw.get("ec2InstanceId", ""),
        raw.get("status", ""),
        bool(raw.get("agentConnected")),
    )
