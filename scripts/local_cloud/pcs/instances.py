"""The EC2 instances that PCS starts for static node groups: none of them runs anything."""

from __future__ import annotations

from typing import Any

from scripts.local_cloud import runtime
from scripts.local_cloud.pcs.resources import NodeGroup


def start(account: str, region: str, group: NodeGroup, count: int) -> list[str]:
    """With the tags that PCS gives: users cannot, as they begin with "aws:"."""
    tags = {
        **_template_tags(account, region, group),
        "aws:pcs:cluster-id": group.cluster_id,
        "aws:pcs:compute-node-group-id": group.id,
        "AWSPCSManaged": "true",
    }
    client = runtime.current().clients.client("ec2", account, region)
    answer = client.run_instances(
        ImageId=group.request.get("amiId") or "ami-00000000",
        MinCount=count,
        MaxCount=count,
        InstanceType=group.instance_type,
        SubnetId=group.request["subnetIds"][0],
        SecurityGroupIds=_security_groups(account, region, group),
        IamInstanceProfile={"Arn": group.request["iamInstanceProfileArn"]},
        TagSpecifications=[
            {
                "ResourceType": "instance",
                "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            }
        ],
    )
    return [instance["InstanceId"] for instance in answer["Instances"]]


def end(account: str, region: str, instance_ids: list[str]) -> None:
    """Those that somebody ended already are passed over."""
    if not instance_ids:
        return
    client = runtime.current().clients.client("ec2", account, region)
    pages = client.describe_instances(
        Filters=[
            {"Name": "instance-id", "Values": instance_ids},
            {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]},
        ]
    )
    alive = [item for group in pages["Reservations"] for item in group["Instances"]]
    if not alive:
        return
    client.terminate_instances(InstanceIds=[item["InstanceId"] for item in alive])
    # Interfaces go with their instance; moto keeps those that it was not told to delete.
    interfaces = [
        interface["NetworkInterfaceId"] for item in alive for interface in item["NetworkInterfaces"]
    ]
    left = client.describe_network_interfaces(
        Filters=[{"Name": "network-interface-id", "Values": interfaces}]
    )["NetworkInterfaces"]
    for interface in left:
        client.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])


def launch_template(account: str, region: str, group: NodeGroup) -> dict[str, Any]:
    """The data of the version that the group names."""
    reference = group.request.get("customLaunchTemplate")
    if not reference:
        return {}
    client = runtime.current().clients.client("ec2", account, region)
    answer = client.describe_launch_template_versions(
        LaunchTemplateId=reference["id"], Versions=[str(reference["version"])]
    )
    return dict(answer["LaunchTemplateVersions"][0]["LaunchTemplateData"])


def _template_tags(account: str, region: str, group: NodeGroup) -> dict[str, str]:
    specifications = launch_template(account, region, group).get("TagSpecifications") or ()
    return {
        tag["Key"]: tag["Value"]
        for specification in specifications
        if specification["ResourceType"] == "instance"
        for tag in specification["Tags"]
    }


def _security_groups(account: str, region: str, group: NodeGroup) -> list[str]:
    template = launch_template(account, region, group)
    interfaces: list[dict[str, Any]] = template.get("NetworkInterfaces") or [{}]
    return list(template.get("SecurityGroupIds") or interfaces[0].get("Groups") or ())
