"""EC2 instances with a tag, and whether they run."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.aws.cloud import Cloud


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    state: str
    """pending, running, stopping, stopped, shutting-down"""


def with_tag(cloud: Cloud, key: str, value: str) -> tuple[Node, ...]:
    """Without those that are gone."""
    filters = [{"Name": f"tag:{key}", "Values": [value]}]
    reservations = cloud.pages("ec2", "describe_instances", "Reservations", Filters=filters)
    found = [
        Node(raw["InstanceId"], raw["State"]["Name"])
        for reservation in reservations
        for raw in reservation["Instances"]
    ]
    return tuple(node for node in found if node.state != "terminated")
