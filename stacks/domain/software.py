"""Neuron SDKs, container images, ECS Neuron AMIs and runtime variables as dated data, and which of them fit together.

A driver is part of the AMI, a runtime part of the image: the two are chosen as a pair.
Versions are compared by their first two numbers ("2.34.10" is of the 2.34 line), as the sources state the rules.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from stacks.domain.catalog.loading import read_data

Framework = Literal["jax", "torch-neuronx", "torch-neuron", "vllm-neuron", "vllm-nxdi"]
Purpose = Literal["training", "inference", "serving"]
State = Literal["current", "last", "maintenance", "ended"]
"""current; last: nothing newer will come; maintenance: fixes only; ended: no longer supported."""

ECS_NEURON_AMI_PARAMETER = (
    "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/"
    "al2023-ami-ecs-neuron-hvm-2023.0.{date}-kernel-6.1-x86_64/image_id"
)


@dataclass(frozen=True, slots=True)
class Sdk:
    """A Neuron SDK release and what it shipped. None where the source was not read or does not say."""

    version: str
    date: str | None
    driver: str | None
    runtime: str | None
    efa_installer: str | None
    state: State
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    framework: Framework
    purpose: Purpose
    uri: str
    sdk: str
    runtime: str | None
    """The Neuron runtime library inside."""
    python: str
    families: frozenset[str]
    """Instance type families, such as "trn1n"."""
    state: State
    source: str
    as_of: str
    notes: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        return self.uri.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class EcsNeuronAmi:
    """One dated release of Amazon's ECS-optimized Neuron AMI (Amazon Linux 2023, x86_64)."""

    date: str
    """YYYYMMDD"""
    driver: str | None
    driver_is_derived: bool
    """From the AMI's date and the SDKs' release dates, not read from the AMI: may be off by a release at the edges."""
    source: str
    as_of: str
    root_device_name: str = "/dev/xvda"
    default_root_gib: int = 30

    @property
    def ssm_parameter(self) -> str:
        return ECS_NEURON_AMI_PARAMETER.format(date=self.date)


@dataclass(frozen=True, slots=True)
class EfaInstaller:
    version: str
    url: str
    sha256: str
    signature_url: str
    key_url: str
    key_fingerprint: str
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RuntimeVariable:
    """An environment variable of the Neuron runtime, its frameworks or the network library under them."""

    name: str
    meaning: str
    allowed: str | None
    default: str | None
    recommended: str | None
    state: Literal["current", "removed", "deprecated", "undocumented"]
    removed_in_sdk: str | None
    scope: str | None
    """Where it means something; None: everywhere."""
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`accepted` is None where nothing states whether the pair works: not checked."""

    accepted: bool | None
    why: str


@functools.cache
def sdks() -> tuple[Sdk, ...]:
    """Newest first."""
    return tuple(Sdk(**row) for row in _rows("sdks"))


@functools.cache
def images() -> tuple[Image, ...]:
    return tuple(
        Image(**{**row, "families": frozenset(row["families"]), "notes": tuple(row["notes"])})
        for row in _rows("images")
    )


@functools.cache
def ecs_neuron_amis() -> tuple[EcsNeuronAmi, ...]:
    """Oldest first."""
    return tuple(_ami(row) for row in read_data("recorded.json")["ecs_neuron_amis"])


@functools.cache
def efa_installer() -> EfaInstaller:
    """The version that nodes install."""
    return EfaInstaller(**_rows("efa_installers")[0])


@functools.cache
def runtime_variables() -> tuple[RuntimeVariable, ...]:
    return tuple(RuntimeVariable(**row) for row in _rows("runtime_variables"))


def removed_variables(sdk: str) -> tuple[RuntimeVariable, ...]:
    """What a job on that SDK must not set."""
    return tuple(v for v in runtime_variables() if v.removed_in_sdk and _line(sdk) >= _line(v.removed_in_sdk))


def frameworks() -> tuple[str, ...]:
    """Those with a training image."""
    return tuple(dict.fromkeys(image.framework for image in images() if image.purpose == "training"))


def choose_image(framework: str, family: str, sdk: str = "auto") -> Image | None:
    """The newest training image that supports the instance family; None when there is none."""
    fitting = [
        image
        for image in images()
        if image.purpose == "training"
        and image.framework == framework
        and family in image.families
        and sdk in ("auto", image.sdk)
    ]
    return max(fitting, key=lambda image: _numbers(image.sdk), default=None)


def choose_ami(wanted: Iterable[Image]) -> EcsNeuronAmi | None:
    """The newest one whose driver accepts the runtime of every image; None when there is none.

    One with the driver that the images' SDK itself shipped goes before a newer one that nothing speaks against.
    """
    runtimes = [image.runtime for image in wanted]
    accepting = [
        ami for ami in ecs_neuron_amis() if all(driver_accepts_runtime(ami.driver, r) for r in runtimes)
    ]
    paired = [ami for ami in accepting if all(_shipped_together(ami.driver, r) for r in runtimes)]
    return max(paired or accepting, key=lambda ami: ami.date, default=None)


def find_image(uri: str) -> Image | None:
    """What is known of an image that a user named, by tag or by tag and digest."""
    return next((image for image in images() if image.uri == uri.partition("@")[0]), None)


def find_ami(reference: str) -> EcsNeuronAmi | None:
    """What is known of an AMI that a user named by its SSM parameter; an AMI id says nothing."""
    return next((ami for ami in ecs_neuron_amis() if ami.ssm_parameter == reference), None)


def driver_accepts_runtime(driver: str | None, runtime: str | None) -> bool | None:
    """None: not checked."""
    return driver_verdict(driver, runtime).accepted


def driver_verdict(driver: str | None, runtime: str | None) -> Verdict:
    """False where a published rule refuses the pair; true for a driver not older than the one which shipped with
    the runtime. An older driver may work, but nothing states it."""
    if driver is None or runtime is None:
        what = "driver" if driver is None else "runtime"
        return Verdict(None, f"the version of the {what} is not known")
    for rule in _rows("driver_rules"):
        if _refuses(rule, driver, runtime):
            return Verdict(False, f"{rule['why']} ({rule['source']})")
    shipped = _driver_shipped_with(runtime)
    if shipped is None:
        return Verdict(None, f"no SDK in the bundled data shipped runtime {runtime}")
    if _line(driver) < _line(shipped):
        return Verdict(None, f"driver {driver} is older than {shipped}, which shipped with runtime {runtime}")
    return Verdict(True, f"driver {driver} is not older than {shipped}, which shipped with runtime {runtime}")


def _refuses(rule: dict[str, Any], driver: str, runtime: str) -> bool:
    """A rule names the pairs that do not work; a bound that is null is open."""
    return _within(driver, rule["driver_min"], rule["driver_max"]) and _within(
        runtime, rule["runtime_min"], rule["runtime_max"]
    )


def _within(version: str, least: str | None, most: str | None) -> bool:
    return (least is None or _line(version) >= _line(least)) and (
        most is None or _line(version) <= _line(most)
    )


def _driver_shipped_with(runtime: str) -> str | None:
    return next(
        (s.driver for s in sdks() if s.driver and s.runtime and _line(s.runtime) == _line(runtime)), None
    )


def _shipped_together(driver: str | None, runtime: str | None) -> bool:
    shipped = _driver_shipped_with(runtime) if runtime else None
    return driver is not None and shipped is not None and _line(driver) == _line(shipped)


def _ami(recorded: dict[str, Any]) -> EcsNeuronAmi:
    date = recorded["date"]
    period = next(
        (p for p in _rows("ecs_neuron_ami_drivers") if p["first_date"] <= date <= p["last_date"]), None
    )
    return EcsNeuronAmi(
        date=date,
        driver=period["driver"] if period else None,
        driver_is_derived=True,
        source=f"{recorded['source']}; driver {period['source']}" if period else recorded["source"],
        as_of=recorded["as_of"],
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _line(version: str) -> tuple[int, ...]:
    return _numbers(version)[:2]


@functools.cache
def _software() -> dict[str, list[dict[str, Any]]]:
    return read_data("software.json")


def _rows(table: str) -> list[dict[str, Any]]:
    return _software()[table]
