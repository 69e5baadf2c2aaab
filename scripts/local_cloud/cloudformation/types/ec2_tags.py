"""Tags of EC2 resources."""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.cloudformation.resource_type import Request


def tag_specifications(request: Request, resource_type: str) -> list[dict[str, Any]]:
    return [{"ResourceType": resource_type, "Tags": request.tag_list()}]


def retag(request: Request, resource_id: str) -> None:
    """Makes the resource carry exactly the request's tags."""
    ec2 = request.client("ec2")
    found = ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [resource_id]}])["Tags"]
    superfluous = [{"Key": tag["Key"]} for tag in found if tag["Key"] not in request.tags]
    if superfluous:
        ec2.delete_tags(Resources=[resource_id], Tags=superfluous)
    ec2.create_tags(Resources=[resource_id], Tags=request.tag_list())
