"""Slurm on AWS PCS as dated data: versions, controller sizes, CPUs of a node, settings that the service takes.

PCS starts nodes with one thread a core, so a node has as many CPUs as cores, not as vCPUs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date
from typing import Literal

from stacks.domain.catalog.loading import read_data

SettingLevel = Literal["cluster", "node group", "queue"]

GRES_SINCE = "25.11"
"""The first version that the guide shows with GresCustomSettings."""
NODE_GROUP_NAME = r"[A-Za-z][A-Za-z0-9-]{2,24}"
QUEUE_NAME = NODE_GROUP_NAME
CLUSTER_NAME = r"(?!pcs_)[A-Za-z][A-Za-z0-9-]{2,39}"
"""botocore 1.44.8 pcs: 3 to 40 characters, node groups and queues 3 to 25."""


@dataclass(frozen=True, slots=True)
class SlurmVersion:
    version: str
    on_pcs: date | None
    end_of_life: date | None
    """On PCS; after it no cluster can be made. None: not published."""
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class ControllerSize:
    size: str
    nodes_max: int
    """Of all node groups together, the login node's included."""
    jobs_max: int
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class SlurmSetting:
    level: SettingLevel
    name: str
    since: str | None
    """The first Slurm version that takes it; None: all."""
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class ParentImage:
    """What a node image may start from."""

    reference: str
    root_device_name: str
    user: str
    """Who runs jobs on it."""
    source: str
    as_of: str


@functools.cache
def slurm_versions() -> dict[str, SlurmVersion]:
    """Oldest first."""
    return {
        row["version"]: SlurmVersion(
            row["version"], _date(row["on_pcs"]), _date(row["end_of_life"]), row["source"], row["as_of"]
        )
        for row in read_data("slurm.json")["versions"]
    }


@functools.cache
def controller_sizes() -> tuple[ControllerSize, ...]:
    """Smallest first."""
    return tuple(ControllerSize(**row) for row in read_data("slurm.json")["controller_sizes"])


def cpus_of_node(instance_type: str) -> int | None:
    """Slurm's CPUs of a node under PCS; None where nothing states its cores."""
    rows = read_data("slurm.json")["cpus"]
    return next((row["cpus"] for row in rows if row["type"] == instance_type), None)


@functools.cache
def slurm_settings(level: SettingLevel) -> dict[str, SlurmSetting]:
    rows = (SlurmSetting(**row) for row in read_data("slurm.json")["settings"])
    return {setting.name: setting for setting in rows if setting.level == level}


def node_groups_max() -> int:
    """Of one cluster, the login node's included."""
    return _limit("node_groups_max")


def clusters_max() -> int:
    """Of an account and region, unless it has a higher quota."""
    return _limit("clusters_max")


@functools.cache
def pcs_regions() -> frozenset[str]:
    return frozenset(row["region"] for row in read_data("slurm.json")["regions"])


def default_login_instance_type() -> str:
    name: str = read_data("slurm.json")["login_nodes"][0]["instance_type"]
    return name


def login_vcpus(instance_type: str) -> tuple[int, str] | None:
    """With the code of the quota that counts them; None for a type of the user's, of which the bundled data knows nothing."""
    rows = read_data("slurm.json")["login_nodes"]
    return next(
        ((row["vcpus"], row["quota_code"]) for row in rows if row["instance_type"] == instance_type), None
    )


def parent_image() -> ParentImage:
    """What node images start from unless the file says otherwise."""
    return ParentImage(**read_data("slurm.json")["parent_images"][0])


def _limit(name: str) -> int:
    value: int = next(row["value"] for row in read_data("slurm.json")["limits"] if row["name"] == name)
    return value


def is_older(version: str, than: str) -> bool:
    """Both like 25.11."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _date(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
