"""What a compute node group refers to has to exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from scripts.local_cloud import runtime
from scripts.local_cloud.pcs.errors import ValidationException


def check_references(account: str, region: str, request: Mapping[str, Any]) -> None:
    clients = runtime.current().clients
    _check_profile(clients.client("iam", account, region), request["iamInstanceProfileArn"])
    ec2 = clients.client("ec2", account, region)
    try:
        ec2.describe_subnets(SubnetIds=list(request["subnetIds"]))
    except ClientError as error:
        raise ValidationException(f"subnetIds: {error}") from error
    template = request.get("customLaunchTemplate")
    if not template:
        raise ValidationException("customLaunchTemplate is required where launchTemplateMode is not MANAGED.")
    try:
        ec2.describe_launch_template_versions(
            LaunchTemplateId=template["id"], Versions=[str(template["version"])]
        )
    except ClientError as error:
        raise ValidationException(f"customLaunchTemplate: {error}") from error


def _check_profile(iam: Any, arn: str) -> None:
    """PCS may pass a role only if its name begins with AWSPCS or its path is /aws-pcs/."""
    try:
        profile = iam.get_instance_profile(InstanceProfileName=arn.rsplit("/", 1)[-1])["InstanceProfile"]
    except ClientError as error:
        raise ValidationException(f"iamInstanceProfileArn: {error}") from error
    role = profile["Roles"][0] if profile["Roles"] else {"Path": "", "RoleName": ""}
    if not role["RoleName"].startswith("AWSPCS") and not role["Path"].endswith("/aws-pcs/"):
        raise ValidationException(
            f"The role ARN is invalid: the role of {arn} has neither a name that begins with AWSPCS nor the path /aws-pcs/."
        )
