"""What serves which model on which chips, as dated data: engines, tensor degrees, model families, parts of a start."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from stacks.domain.catalog.loading import read_data
from stacks.domain.software import Image, images


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine on some instance families, and the SDK of the image that the kit takes for it."""

    engine: str
    framework: str
    purpose: str
    families: frozenset[str]
    sdk: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class ServingDegrees:
    """Legal tensor-parallel degrees of a type; others are refused by the serving stacks."""

    type: str
    logical_cores: int
    degrees: tuple[int, ...]
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class ModelSupport:
    """A row means: named as supported; no row means "not listed", not "impossible"."""

    engine: str
    model_family: str
    families: frozenset[str]
    state: str
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class StartPart:
    engine: str
    """Or "any"."""
    what: str
    low_seconds: int
    high_seconds: int
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class GpuImage:
    uri: str
    vllm: str
    ami_reference: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an engine needs to be told for a family of models; a file's own words go before it."""

    engine: str
    model_family: str
    arguments: tuple[str, ...]
    gpu_arguments: tuple[str, ...]
    """What vLLM on GPUs needs to be told as well, so that both sides answer alike."""
    variables: tuple[tuple[str, str], ...]
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class BootDriver:
    """What a service of the ECS Neuron AMI installs at boot on a family, in place of the AMI's own driver."""

    family: str
    driver: str
    source: str
    as_of: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class GatedModels:
    """Hugging Face gives them only to accounts that were granted access. No row means "not known", not "open"."""

    prefix: str
    """Of ORG/NAME."""
    source: str
    as_of: str


@functools.cache
def engines() -> tuple[Engine, ...]:
    return tuple(
        Engine(**{**row, "families": frozenset(row["families"])})
        for row in read_data("serving.json")["engines"]
    )


@functools.cache
def serving_degrees() -> dict[str, ServingDegrees]:
    """By instance type; a type without a row has no table."""
    rows = read_data("serving.json")["tensor_degrees"]
    return {row["type"]: ServingDegrees(**{**row, "degrees": tuple(row["degrees"])}) for row in rows}


@functools.cache
def model_support() -> tuple[ModelSupport, ...]:
    return tuple(
        ModelSupport(**{**row, "families": frozenset(row["families"])})
        for row in read_data("serving.json")["models"]
    )


def start_parts(engine: str) -> tuple[StartPart, ...]:
    """In their order: the instance first."""
    rows = (StartPart(**row) for row in read_data("serving.json")["start_parts"])
    mine = [part for part in rows if part.engine in ("any", engine)]
    return tuple(sorted(mine, key=lambda part: part.engine != "any"))


def gpu_image() -> GpuImage:
    """What GPU replicas run unless the file says otherwise."""
    return GpuImage(**read_data("serving.json")["gpu_images"][0])


@functools.cache
def recipes() -> tuple[Recipe, ...]:
    return tuple(
        Recipe(
            **{
                **row,
                "arguments": tuple(row["arguments"]),
                "gpu_arguments": tuple(row["gpu_arguments"]),
                "variables": tuple(sorted(row["variables"].items())),
            }
        )
        for row in read_data("serving.json")["recipes"]
    )


def recipe(engine: str, model_family: str) -> Recipe | None:
    """None: nothing is known to be needed."""
    return next((r for r in recipes() if (r.engine, r.model_family) == (engine, model_family)), None)


def gate_of(hub_name: str) -> GatedModels | None:
    """Of ORG/NAME, as Hugging Face reads it: in any case."""
    rows = (GatedModels(**row) for row in read_data("serving.json")["gated_models"])
    return next((row for row in rows if hub_name.lower().startswith(row.prefix)), None)


def boot_driver(family: str) -> BootDriver | None:
    rows = (BootDriver(**row) for row in read_data("serving.json")["boot_drivers"])
    return next((row for row in rows if row.family == family), None)


def engine_on(engine: str, family: str) -> Engine | None:
    """None where the engine does not run on the instance family."""
    return next((e for e in engines() if e.engine == engine and family in e.families), None)


def serving_image(engine: str, family: str) -> Image | None:
    """The kit's choice; None where there is none (always with "custom")."""
    row = engine_on(engine, family)
    if row is None:
        return None
    return next(
        (i for i in images() if (i.framework, i.purpose, i.sdk) == (row.framework, row.purpose, row.sdk)),
        None,
    )
