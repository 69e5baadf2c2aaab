"""What fits what, as dated data: stacks and their lifecycle, hosts, images against drivers, tensor degrees, precisions.

Everything answers with a Verdict: true, false, or None where no source speaks, which is never to be read as "fine".
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from stacks.domain.catalog.loading import read_data
from stacks.domain.software import (
    EcsNeuronAmi,
    Image,
    Verdict,
    choose_ami,
    driver_verdict,
    ecs_neuron_amis,
    images,
)

Lifecycle = Literal["current", "beta", "maintenance", "ended"]


@dataclass(frozen=True, slots=True)
class SoftwareStack:
    """A way of training or serving, on which SDKs and families, and how long it has to live. Bounds are inclusive."""

    name: str
    framework: str
    purpose: Literal["training", "inference", "serving"]
    sdk_min: str | None
    sdk_max: str | None
    families: frozenset[str]
    lifecycle: Lifecycle
    image: str
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """What a node starts from, by scheduler. `drivers` is None where no source states them."""

    name: str
    scheduler: str
    versions: str | None
    drivers: str | None
    lifecycle: Lifecycle
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class TensorDegrees:
    """Numbers of logical cores that share one layer, as far as a source names them for a chip at one LNC."""

    chip: str
    logical_core_size: int
    degrees: tuple[int, ...]
    multiples_of: int | None
    refuses_others: bool
    """The source says that there are no others; false: it only shows these."""
    source: str
    as_of: str
    note: str = ""

    def allows(self, degree: int) -> bool:
        return degree in self.degrees or (self.multiples_of is not None and degree % self.multiples_of == 0)


@dataclass(frozen=True, slots=True)
class Precisions:
    core_version: str
    precisions: tuple[str, ...]
    refuses_others: bool
    """The source says that there are no others."""
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """An image on a driver."""

    image: Image
    driver: str
    verdict: Verdict


@functools.cache
def software_stacks() -> tuple[SoftwareStack, ...]:
    return tuple(SoftwareStack(**{**row, "families": frozenset(row["families"])}) for row in _rows("stacks"))


@functools.cache
def hosts() -> tuple[Host, ...]:
    return tuple(Host(**row) for row in _rows("hosts"))


@functools.cache
def tensor_degrees() -> tuple[TensorDegrees, ...]:
    return tuple(
        TensorDegrees(**{**row, "degrees": tuple(row["degrees"])}) for row in _rows("tensor_degrees")
    )


@functools.cache
def precisions() -> tuple[Precisions, ...]:
    return tuple(Precisions(**{**row, "precisions": tuple(row["precisions"])}) for row in _rows("precisions"))


def pairs(of: Iterable[Image] | None = None) -> tuple[Pair, ...]:
    """Every image on every driver that an ECS Neuron AMI of the data has, oldest driver first."""
    drivers = dict.fromkeys(ami.driver for ami in ecs_neuron_amis() if ami.driver)
    return tuple(
        Pair(image, driver, driver_verdict(driver, image.runtime))
        for image in (images() if of is None else of)
        for driver in drivers
    )


def tensor_verdict(chip: str, logical_core_size: int, degree: int) -> Verdict:
    """Of a group of `degree` logical cores; a group of one needs no collectives."""
    row = next(
        (r for r in tensor_degrees() if (r.chip, r.logical_core_size) == (chip, logical_core_size)), None
    )
    if degree == 1:
        return Verdict(True, "one core needs no collectives")
    if row is None:
        return Verdict(None, f"no source names the tensor degrees of {chip} at LNC {logical_core_size}")
    named = ", ".join(str(d) for d in row.degrees)
    several = f" and multiples of {row.multiples_of}" if row.multiples_of else ""
    if row.allows(degree):
        return Verdict(True, f"{row.source}, {row.as_of}")
    if row.refuses_others:
        return Verdict(
            False, f"{named}{several} are what the runtime named ({row.source}, {row.as_of}); {row.note}"
        )
    return Verdict(
        None, f"sources show {named}{several} on {chip}, and do not speak of {degree} ({row.as_of})"
    )


def nearest_tensor_degrees(
    chip: str, logical_core_size: int, degree: int, fitting: Iterable[int]
) -> tuple[int, ...]:
    """The next smaller and the next larger one of `fitting` that no source refuses."""
    legal = sorted(d for d in fitting if tensor_verdict(chip, logical_core_size, d).accepted is not False)
    below = [d for d in legal if d < degree][-1:]
    above = [d for d in legal if d > degree][:1]
    return (*below, *above)


def precision_verdict(core_version: str | None, precision: str) -> Verdict:
    row = next((r for r in precisions() if r.core_version == core_version), None)
    if row is None:
        return Verdict(None, f"no source lists the precisions of NeuronCore {core_version}")
    if precision in row.precisions:
        return Verdict(True, f"{row.source}, {row.as_of}")
    if row.refuses_others:
        return Verdict(
            False,
            f"NeuronCore {core_version} computes in {', '.join(row.precisions)} ({row.source}, {row.as_of})",
        )
    return Verdict(
        None, f"the source of NeuronCore {core_version} does not speak of {precision} ({row.as_of})"
    )


def nearest_amis(image: Image, to_date: str | None = None) -> tuple[EcsNeuronAmi, ...]:
    """Those whose driver is known to start the image, nearest in date first; without a date the newest first."""
    fitting = [a for a in ecs_neuron_amis() if driver_verdict(a.driver, image.runtime).accepted]
    if to_date is None:
        return tuple(reversed(fitting))
    return tuple(sorted(fitting, key=lambda ami: abs(_days(ami.date) - _days(to_date))))


def nearest_images(framework: str, family: str | None, driver: str | None = None) -> tuple[Image, ...]:
    """Training images of the framework for the family (and that the driver starts, if named), newest first."""
    found = [
        image
        for image in images()
        if image.framework == framework
        and image.purpose == "training"
        and (family is None or family in image.families)
        and (driver is None or driver_verdict(driver, image.runtime).accepted)
    ]
    return tuple(sorted(found, key=lambda i: [int(part) for part in i.sdk.split(".")], reverse=True))


def nearest_shared_images(frameworks: Iterable[str], family: str) -> tuple[Image, ...]:
    """An image for each framework, all of the newest SDK for which one AMI starts them all; () where there is none."""
    candidates = [nearest_images(framework, family) for framework in sorted(frameworks)]
    for sdk in dict.fromkeys(image.sdk for found in candidates for image in found):
        chosen = [next((image for image in found if image.sdk == sdk), None) for found in candidates]
        together = tuple(image for image in chosen if image is not None)
        if len(together) == len(candidates) and choose_ami(together) is not None:
            return together
    return ()


def _days(date: str) -> int:
    """Enough to say which of two dates is nearer."""
    return int(date[:4]) * 372 + int(date[4:6]) * 31 + int(date[6:])


def _rows(table: str) -> list[dict[str, Any]]:
    return read_data("compatibility.json")[table]
