"""What AWS PCS takes, as its user guide (copies of 2025 and 2026) and botocore 1.44.8 say: the service's own knowledge.

Deliberately not read from the kit's data: what the kit believes is checked against this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from scripts.local_cloud.pcs.errors import ServiceQuotaExceededException, ValidationException

END_OF_LIFE = {
    "24.05": date(2025, 11, 30),
    "24.11": date(2026, 5, 31),
    "25.05": date(2026, 11, 30),
    "25.11": None,
    "26.05": None,
}
NODES_MAX = {"SMALL": 32, "MEDIUM": 512, "LARGE": 2048}
GROUPS_MAX = QUEUES_MAX = 10
CLUSTERS_MAX = 5
REGIONS = (
    "af-south-1",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ca-central-1",
    "eu-central-1",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-2",
    "us-gov-east-1",
    "us-gov-west-1",
)
"""With CloudFormation's PCS types (registry schemas of 2026-10-20); botocore lists none."""

_PRIORITY = " ".join(
    f"Priority{name}"
    for name in [
        "CalcPeriod",
        "DecayHalfLife",
        "FavorSmall",
        "Flags",
        "MaxAge",
        "UsageResetPeriod",
        "WeightAge",
        "WeightAssoc",
        "WeightFairshare",
        "WeightJobSize",
        "WeightPartition",
        "WeightQOS",
        "WeightTRES",
    ]
)
_CLUSTER = (
    "AccountingStorageEnforce AccountingStorageTRES AccountingStoreFlags AuthAltParameters CliFilterParameters "
    "CliFilterPlugins CommunicationParameters DefMemPerCPU Epilog EnforcePartLimits FairShareDampeningFactor FirstJobId "
    "HealthCheckInterval HealthCheckNodeState HealthCheckProgram JobRequeue LaunchParameters Licenses MetricsType MinJobAge "
    "OverTimeLimit PreemptExemptTime PreemptMode PreemptParameters PreemptType Prolog PrologFlags RequeueExit "
    "RequeueExitHold SchedulerParameters SelectTypeParameters SrunPortRange TaskEpilog TaskPluginParam TaskProlog "
    f"TrackWCKey UnkillableStepProgram UnkillableStepTimeout {_PRIORITY}"
)
_GROUP = "CpuSpecList Features Gres MemSpecLimit Parameters RealMemory Sockets Weight"
_QUEUE = (
    "AllowAccounts AllowQos Default DefaultTime DenyAccounts DenyQos ExclusiveUser GraceTime MaxTime OverSubscribe "
    "OverTimeLimit PowerDownOnIdle PreemptMode PriorityJobFactor PriorityTier QOS TRESBillingWeights"
)
_CGROUP = (
    "AllowedRAMSpace AllowedSwapSpace ConstrainCores ConstrainDevices ConstrainRAMSpace ConstrainSwapSpace IgnoreSystemd "
    "MaxRAMPercent MaxSwapPercent MinRAMSpace SignalChildrenProcesses"
)
SETTINGS = {
    "cluster": frozenset(_CLUSTER.split()),
    "compute node group": frozenset(_GROUP.split()),
    "queue": frozenset(_QUEUE.split()),
    "cgroup": frozenset(_CGROUP.split()),
}
_SINCE = {"MetricsType": "25.11", "Parameters": "25.11", "Sockets": "25.11"}
GRES_SINCE = "25.11"
_GRES_KEYS = frozenset(
    ["AutoDetect", "Name", "Type", "Count", "Cores", "Links", "Flags", "File", "MultipleFiles"]
)
_NAME = re.compile(r"(?!pcs_)[A-Za-z][A-Za-z0-9-]+")


def check_name(member: str, name: str, longest: int) -> None:
    if not 3 <= len(name) <= longest or not _NAME.fullmatch(name):
        raise ValidationException(
            f"Value '{name}' at '{member}' failed to satisfy constraint: 3 to {longest} characters that match "
            r"(?!pcs_)^[A-Za-z][A-Za-z0-9-]+",
            "fieldValidationFailed",
        )


def check_version(version: str, today: date) -> None:
    if version not in END_OF_LIFE:
        raise ValidationException(f"Slurm version {version} is not supported.")
    end = END_OF_LIFE[version]
    if end is not None and today >= end:
        raise ValidationException(
            f"Slurm version {version} reached its end of life on {end} and cannot be used for a new cluster."
        )


def check_settings(level: str, settings: Iterable[Mapping[str, str]], version: str) -> None:
    for setting in settings:
        name = setting["parameterName"]
        if name not in SETTINGS[level]:
            raise ValidationException(
                f"Slurm custom settings parameter {name} is not supported for a {level}."
            )
        since = _SINCE.get(name)
        if since and version < since:
            raise ValidationException(
                f"Slurm custom settings parameter {name} is only supported for Slurm version {since} or later"
            )


def check_scaling(scaling: Mapping[str, int], size: str, others: int) -> None:
    """`others`: the largest number of instances of all other groups of the cluster."""
    least, most = scaling["minInstanceCount"], scaling["maxInstanceCount"]
    if least not in (0, most) or least < 0:
        raise ValidationException(
            "minInstanceCount must be 0 or equal to maxInstanceCount: a compute node group has static or dynamic capacity, "
            "not a mix"
        )
    if most + others > NODES_MAX[size]:
        raise ServiceQuotaExceededException(
            f"A {size} cluster supports up to {NODES_MAX[size]} instances; its compute node groups would have {most + others}."
        )


def check_gres(configuration: Mapping[str, Any], version: str) -> None:
    """A `Gres` needs a record of at least its count; a record alone is taken."""
    records = configuration.get("gresCustomSettings") or ()
    if records and version < GRES_SINCE:
        raise ValidationException(
            f"gresCustomSettings is only supported for Slurm version {GRES_SINCE} or later"
        )
    for record in records:
        unknown = set(record) - _GRES_KEYS
        if unknown:
            raise ValidationException(f"GRES parameter {', '.join(sorted(unknown))} is not supported")
    for name, count in gres_of(configuration).items():
        recorded = sum(int(record.get("Count", 0)) for record in records if record.get("Name") == name)
        if recorded < count:
            raise ValidationException(
                f"Gres {name}:{count} exceeds the {recorded} of gresCustomSettings for {name}."
                if recorded
                else f"Gres {name} has no record in gresCustomSettings."
            )


def gres_of(configuration: Mapping[str, Any]) -> dict[str, int]:
    """The node's `Gres` setting: name[:type]:count, with commas."""
    counted: dict[str, int] = {}
    for word in filter(None, setting_of(configuration, "Gres").split(",")):
        parts = word.strip().split(":")
        counted[parts[0]] = int(parts[-1]) if len(parts) > 1 and parts[-1].isdigit() else 1
    return counted


def setting_of(configuration: Mapping[str, Any], name: str) -> str:
    """Empty where it is not set."""
    settings = configuration.get("slurmCustomSettings") or ()
    return next((str(item["parameterValue"]) for item in settings if item["parameterName"] == name), "")
