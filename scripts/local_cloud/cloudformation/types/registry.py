"""Every resource type that the local cloud really makes. A type that is not here fails its stack."""

from __future__ import annotations

from scripts.local_cloud.cloudformation.resource_type import ResourceType
from scripts.local_cloud.cloudformation.types import (
    batch,
    cdk,
    cloudwatch,
    ec2_addresses,
    ec2_flow_logs,
    ec2_launch_template,
    ec2_routing,
    ec2_security_groups,
    ec2_vpc,
    ecr,
    efs,
    fsx,
    iam,
    imagebuilder,
    kms,
    log_deliveries,
    logs,
    pcs,
    resource_groups,
    s3,
    sns,
    ssm,
)

_MODULES = (
    batch,
    cdk,
    cloudwatch,
    ec2_addresses,
    ec2_flow_logs,
    ec2_launch_template,
    ec2_routing,
    ec2_security_groups,
    ec2_vpc,
    ecr,
    efs,
    fsx,
    iam,
    imagebuilder,
    kms,
    log_deliveries,
    logs,
    pcs,
    resource_groups,
    s3,
    sns,
    ssm,
)

TYPES: dict[str, ResourceType] = {kind.name: kind for module in _MODULES for kind in module.TYPES}
