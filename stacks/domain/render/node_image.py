"""The components of a node image, as EC2 Image Builder runs them, and the versions that follow from their content.

Image Builder's components and recipes never change: whatever differs has to be a new version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from stacks.domain.node_image_plan import NodeImagePlan
from stacks.domain.node_image_sources import (
    apptainer,
    efs_installer_url,
    lustre_repository,
    pcs_packages,
    pyxis_sources,
)
from stacks.domain.render.engine import render
from stacks.domain.software import efa_installer

COMPONENT_CHARACTERS_MAX = 16_000
"""Image Builder API, CreateComponentRequest.data."""
_VERSION_DIGITS = 7
"""Of the hash: 28 bits, where Image Builder takes numbers below 2**30."""
_RUNTIME_CHECKS = {
    "apptainer": ("CheckApptainer", "apptainer --version"),
    "pyxis": ("CheckPyxis", "enroot version && test -s {plugstack}/spank_pyxis.so"),
}


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    """Short: what is in it."""
    description: str
    document: str

    @property
    def version(self) -> str:
        return _version(self.document)


@dataclass(frozen=True, slots=True)
class PcsDocument:
    template: ClassVar[str] = "node-image/pcs.yaml.j2"

    name: str
    description: str
    key_url: str
    key_fingerprint: str
    agent_url: str
    slurm_url: str
    slurm_directory: str
    library_directory: str
    library_file: str


@dataclass(frozen=True, slots=True)
class DevicesDocument:
    template: ClassVar[str] = "node-image/devices.yaml.j2"

    name: str
    description: str
    efa_installer_url: str
    efa_checksum_line: str
    """As `sha256sum --check` reads it."""


@dataclass(frozen=True, slots=True)
class FileSystemsDocument:
    template: ClassVar[str] = "node-image/file-systems.yaml.j2"

    name: str
    description: str
    lustre_url: str
    lustre_key_url: str
    lustre_package: str
    efs_installer_url: str


@dataclass(frozen=True, slots=True)
class ApptainerDocument:
    template: ClassVar[str] = "node-image/apptainer.yaml.j2"

    name: str
    description: str
    archive: str
    package: str


@dataclass(frozen=True, slots=True)
class PyxisDocument:
    template: ClassVar[str] = "node-image/pyxis.yaml.j2"

    name: str
    description: str
    repository_url: str
    commit: str
    enroot_urls: tuple[str, ...]
    slurm_directory: str
    plugstack_directory: str


@dataclass(frozen=True, slots=True)
class RuntimeCheck:
    name: str
    command: str


@dataclass(frozen=True, slots=True)
class TestDocument:
    template: ClassVar[str] = "node-image/test.yaml.j2"

    name: str
    description: str
    phases: tuple[str, ...]
    slurm_version: str
    slurm_directory: str
    library_file: str
    agent_least: str
    runtime_checks: tuple[RuntimeCheck, ...]


def node_image_components(image: NodeImagePlan, region: str) -> tuple[Component, ...]:
    """In the order in which they run."""
    return tuple(Component(d.name, d.description, render(d)) for d in _documents(image, region))


def recipe_version(image: NodeImagePlan, region: str) -> str:
    """Of everything that makes the image what it is; tags and where it is built do not."""
    components = [(component.name, component.document) for component in node_image_components(image, region)]
    content = [components, image.parent.id, image.parent.root_device_name, image.root_volume_gib]
    return _version(json.dumps(content))


def recipe_name(environment: str, slurm_version: str) -> str:
    return f"{environment}-slurm-{slurm_version.replace('.', '-')}"


def slurm_directory(slurm_version: str) -> str:
    return f"/opt/aws/pcs/scheduler/slurm-{slurm_version}"


def _version(content: str) -> str:
    return f"1.0.{int(hashlib.sha256(content.encode()).hexdigest()[:_VERSION_DIGITS], 16)}"


def _documents(
    image: NodeImagePlan, region: str
) -> Iterator[
    PcsDocument | DevicesDocument | FileSystemsDocument | ApptainerDocument | PyxisDocument | TestDocument
]:
    version = image.slurm_version
    yield _pcs(version, region)
    installer = efa_installer()
    yield DevicesDocument(
        "devices",
        "Neuron driver at boot, EFA, no restarts of slurmd",
        installer.url,
        f"{installer.sha256}  efa-installer.tar.gz",
    )
    lustre = lustre_repository()
    yield FileSystemsDocument(
        "file-systems",
        "clients of FSx for Lustre and EFS",
        lustre.url,
        lustre.key_url,
        lustre.package,
        efs_installer_url(),
    )
    if "apptainer" in image.container_runtimes:
        yield ApptainerDocument("apptainer", "Apptainer", apptainer().archive, apptainer().package)
    if "pyxis" in image.container_runtimes:
        yield _pyxis(version)
    yield _test(image, region)


def _pcs(version: str, region: str) -> PcsDocument:
    packages = pcs_packages(region, version)
    return PcsDocument(
        name="pcs",
        description=f"AWS PCS agent and Slurm {version}",
        key_url=packages.key_url,
        key_fingerprint=packages.key_fingerprint,
        agent_url=packages.agent_url,
        slurm_url=packages.slurm_url,
        slurm_directory=slurm_directory(version),
        library_directory=f"{slurm_directory(version)}/lib",
        library_file=_library_file(version),
    )


def _pyxis(version: str) -> PyxisDocument:
    sources = pyxis_sources()
    return PyxisDocument(
        name="pyxis",
        description=f"enroot, and pyxis for Slurm {version}",
        repository_url=sources.repository_url,
        commit=sources.commit,
        enroot_urls=sources.enroot_urls,
        slurm_directory=slurm_directory(version),
        plugstack_directory=_plugstack_directory(version),
    )


def _test(image: NodeImagePlan, region: str) -> TestDocument:
    checks = (_RUNTIME_CHECKS[runtime] for runtime in image.container_runtimes)
    plugstack = _plugstack_directory(image.slurm_version)
    return TestDocument(
        name="test",
        description="what can be tested without a Neuron device",
        phases=("validate", "test"),
        slurm_version=image.slurm_version,
        slurm_directory=slurm_directory(image.slurm_version),
        library_file=_library_file(image.slurm_version),
        agent_least=pcs_packages(region, image.slurm_version).agent_least,
        runtime_checks=tuple(
            RuntimeCheck(name, command.format(plugstack=plugstack)) for name, command in checks
        ),
    )


def _library_file(version: str) -> str:
    return f"slurm-{version}.conf"


def _plugstack_directory(version: str) -> str:
    """slurmd reads it (awsome-distributed-ai@95b939c aws-pcs, install-enroot-pyxis.sh)."""
    return f"/etc/aws/pcs/scheduler/slurm-{version}/plugstack.conf.d"
