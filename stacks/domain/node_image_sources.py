"""What goes into a node image, and where it comes from, as dated data."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from stacks.domain.catalog.loading import Row, read_data


@dataclass(frozen=True, slots=True)
class PcsPackages:
    """AWS's own packages of one region; a signature lies beside each, under its URL and `.sig`."""

    agent_url: str
    slurm_url: str
    key_url: str
    key_fingerprint: str
    agent_least: str
    """VERSION-RELEASE of the first agent that runs node lifecycle actions."""


@dataclass(frozen=True, slots=True)
class LustreRepository:
    url: str
    key_url: str
    package: str


@dataclass(frozen=True, slots=True)
class PyxisSources:
    repository_url: str
    commit: str
    """Git checks it: a commit's id is a hash of its content."""
    enroot_urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Apptainer:
    archive: str
    package: str


def pcs_packages(region: str, slurm_version: str) -> PcsPackages:
    row = _row("pcs_repositories")
    base = row["packages_url"].replace("REGION", region)
    return PcsPackages(
        agent_url=f"{base}/{row['agent']}",
        slurm_url=f"{base}/{row['slurm'].replace('VERSION', slurm_version)}",
        key_url=row["key_url"].replace("REGION", region),
        key_fingerprint=row["key_fingerprint"],
        agent_least=row["agent_least"],
    )


def lustre_repository() -> LustreRepository:
    row = _row("lustre_repositories")
    return LustreRepository(row["url"], row["key_url"], row["package"])


def efs_installer_url() -> str:
    url: str = _row("efs_installers")["url"]
    return url


def pyxis_sources() -> PyxisSources:
    row = _row("pyxis")
    return PyxisSources(row["repository_url"], row["commit"], tuple(row["enroot_urls"]))


def apptainer() -> Apptainer:
    row = _row("apptainer")
    return Apptainer(row["archive"], row["package"])


def builder_instance_type() -> str:
    """On which images are built and tested: without Neuron devices."""
    name: str = _row("builders")["instance_type"]
    return name


@functools.cache
def _row(kind: str) -> Row:
    return read_data("node_image.json")[kind][0]
