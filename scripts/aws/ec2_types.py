"""EC2's word on an instance type: whether it knows the name, and what it says of its size and network cards."""

from __future__ import annotations

from typing import Any

from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError
from stacks.domain.live import LiveInstanceType

_MIB_PER_GIB = 1024


def find_type(cloud: Cloud, name: str) -> LiveInstanceType | None:
    """None when EC2 knows no such type."""
    try:
        answer = cloud.call("ec2", "describe_instance_types", InstanceTypes=[name])
    except AwsError as error:
        if error.code.startswith("InvalidInstanceType"):
            return None
        raise
    return next((_type(raw) for raw in answer.get("InstanceTypes") or ()), None)


def _type(raw: dict[str, Any]) -> LiveInstanceType:
    network = raw.get("NetworkInfo") or {}
    memory_mib = (raw.get("MemoryInfo") or {}).get("SizeInMiB")
    return LiveInstanceType(
        name=raw.get("InstanceType", ""),
        vcpus=(raw.get("VCpuInfo") or {}).get("DefaultVCpus"),
        memory_gib=memory_mib / _MIB_PER_GIB if memory_mib else None,
        network_cards=network.get("MaximumNetworkCards"),
        efa_interfaces=(network.get("EfaInfo") or {}).get("MaximumEfaInterfaces"),
    )
