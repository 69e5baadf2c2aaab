"""Whether a job could start on its queue's compute environments, and Batch's words for why it cannot.

The words are those of the Batch user guide's page on jobs that are stuck in RUNNABLE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from scripts.local_cloud.batch.definitions import resource_requirements
from scripts.local_cloud.batch.environments import ComputeEnvironment
from scripts.local_cloud.batch.job import Job

INVALID = "ACTION_REQUIRED - CE(s) associated with the job queue are invalid."
UNDETERMINED = "UNDETERMINED - Batch job is blocked, root cause is undetermined."
MAX_RESOURCE = (
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE - CE(s) associated with the job queue cannot meet the CPU "
    "requirement of the job."
)
JOB_RESOURCE = (
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that "
    "can be met by the CE(s) attached to the job queue."
)


@dataclass(frozen=True)
class Placement:
    """`environment` None: not now. `reason` None then means that the job only waits for its turn."""

    environment: ComputeEnvironment | None
    vcpus: int = 0
    reason: str | None = None


def place(job: Job, environments: list[ComputeEnvironment | None], in_use: Mapping[str, int]) -> Placement:
    """`in_use`: vCPUs of the instances that running jobs hold, by environment ARN."""
    existing = [item for item in environments if item is not None]
    if not existing or all(item.status != "VALID" for item in existing):
        return Placement(None, reason=INVALID)
    usable = [item for item in existing if item.status == "VALID" and item.state == "ENABLED"]
    if not usable:
        return Placement(None, reason=UNDETERMINED)
    reasons = []
    for environment in usable:
        instance_vcpus = _instance_vcpus(job, environment)
        if instance_vcpus is None:
            reasons.append(JOB_RESOURCE)
            continue
        # "Multi-node parallel job nodes are single-tenant": one node, one instance (Batch user guide).
        needed = instance_vcpus * len(job.nodes)
        limit = int(environment.resources.get("maxvCpus", needed))
        if needed > limit:
            reasons.append(MAX_RESOURCE)
        elif needed <= limit - in_use.get(environment.arn, 0):
            return Placement(environment, needed)
        else:
            return Placement(None)
    return Placement(None, reason=MAX_RESOURCE if MAX_RESOURCE in reasons else JOB_RESOURCE)


def _instance_vcpus(job: Job, environment: ComputeEnvironment) -> int | None:
    """The vCPUs of the smallest instance type of the environment that can hold any node of the job."""
    if job.definition.multinode and environment.resources.get("type") == "SPOT":
        # "Multi-node parallel jobs aren't supported on compute environments that use Spot" (mnp-ce).
        return None
    fitting = [
        kind["VCpuInfo"]["DefaultVCpus"]
        for kind in _types(environment)
        if all(_holds(kind, node.container) for node in job.nodes)
    ]
    return min(fitting, default=None)


def _types(environment: ComputeEnvironment) -> list[dict[str, Any]]:
    names = environment.resources.get("instanceTypes") or []
    return [
        kind
        for name, kind in INSTANCE_TYPES.items()
        if name in names or name.split(".")[0] in names or "optimal" in names
    ]


def _holds(kind: Mapping[str, Any], container: Mapping[str, Any]) -> bool:
    wanted = resource_requirements(container)
    if container.get("instanceType") and container["instanceType"] != kind["InstanceType"]:
        return False
    vcpus, memory_mib = int(kind["VCpuInfo"]["DefaultVCpus"]), int(kind["MemoryInfo"]["SizeInMiB"])
    gpus = sum(int(item["Count"]) for item in (kind.get("GpuInfo") or {}).get("Gpus", ()))
    # An instance never registers the whole of its nominal memory: the kernel and the ECS agent take their share.
    return wanted["VCPU"] <= vcpus and wanted["MEMORY"] < memory_mib and wanted.get("GPU", 0) <= gpus
