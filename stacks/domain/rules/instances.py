"""Instance types, regions and zones: does it exist, is it there, and is it counted in the right unit."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.domain.catalog import region_of_zone_id
from stacks.domain.findings import Severity, closest, one_of
from stacks.domain.live import CouldNotAsk
from stacks.domain.rules.node_blocks import (
    NodeBlock,
    logical_core_size_of,
    neuron_blocks,
    node_blocks,
    type_of,
)
from stacks.domain.rules.rule import Facts, Need, Problem, Rule

OTHER_PARTITIONS = ("us-gov-", "cn-", "us-iso", "eu-iso", "eusc-")
OFFERINGS_SOURCE = "EC2 DescribeInstanceTypeOfferings, captured about 2026-10-01 (moto 5.2.5)"
TYPES_SOURCE = "EC2 DescribeInstanceTypes, captured about 2026-10-01 (moto 5.2.5)"
ZONES_SOURCE = "EC2 DescribeAvailabilityZones, as recorded in the catalog"


def region_exists(facts: Facts) -> Iterator[Problem]:
    region = facts.environment.region
    if region not in facts.catalog.regions:
        near = closest(region, facts.catalog.regions)
        if region.startswith(OTHER_PARTITIONS):
            message, fix = (
                "GovCloud, China and isolated regions are not in the bundled data",
                "choose another region",
            )
        else:
            message, fix = "", f"did you mean {near!r}?" if near else ""
        yield Problem(("region",), repr(region), "a region of AWS's commercial partition", message, fix)


def zone_is_of_region(facts: Facts) -> Iterator[Problem]:
    zone_id, region = facts.environment.network.zone_id, facts.environment.region
    home = region_of_zone_id(zone_id)
    if region not in facts.catalog.regions or home == region:
        return
    where = f"a zone of {home}" if home else "a zone of no known region"
    yield Problem(
        ("network", "zone_id"),
        repr(zone_id),
        one_of(facts.catalog.regions[region]),
        f"{where}, but the region is {region}",
        "change the zone id, or the region",
    )


def zone_exists(facts: Facts) -> Iterator[Problem]:
    zone_id, region = facts.environment.network.zone_id, facts.environment.region
    known = facts.catalog.regions.get(region, ())
    if known and region_of_zone_id(zone_id) == region and zone_id not in known:
        yield Problem(("network", "zone_id"), repr(zone_id), one_of(known), "no such zone in the catalog")


def type_exists(facts: Facts) -> Iterator[Problem]:
    for block in node_blocks(facts.environment):
        is_projected = block.kind == "cluster" and facts.is_projected(block.name)
        if type_of(facts, block) is None and not is_projected:
            unverified = facts.catalog.unverified.get(block.type_name)
            yield Problem(
                (*block.path, "instance_type"),
                repr(block.type_name),
                "a type that `neuronkit catalog` lists",
                f"no such EC2 instance type{f' ({unverified.why})' if unverified else ''}",
                _fix_of_unknown_type(facts, block),
            )


def _fix_of_unknown_type(facts: Facts, block: NodeBlock) -> str:
    """A name of a family that no API names may be a real one that AWS gave to the user."""
    near = facts.catalog.closest(block.type_name)
    family = block.type_name.lower()
    shapes = [u.shape for u in facts.catalog.ultraservers if u.shape and family.startswith(_family(u.shape))]
    meant = f"did you mean {near!r}?" if near else ""
    if not shapes or block.kind != "cluster":
        return meant
    return f"if AWS gave you this name, say what a node is made of with `shape: {shapes[0]}` or {one_of(shapes[1:])}"


def _family(shape: str) -> str:
    return shape.partition("-")[0]


def type_has_chips(facts: Facts) -> Iterator[Problem]:
    for block in neuron_blocks(facts.environment):
        instance_type = type_of(facts, block)
        if instance_type is not None and not instance_type.is_neuron:
            is_cluster = block.kind == "cluster"
            what = (
                "a cluster of this kit trains on Neuron chips"
                if is_cluster
                else "a fleet serves on Neuron chips"
            )
            yield Problem(
                (*block.path, "instance_type"),
                repr(block.type_name),
                "a type with Neuron chips",
                f"has GPUs, and {what}",
                f"choose one from `neuronkit catalog`{'' if is_cluster else '; GPUs belong under fallback'}",
            )


def type_is_in_region(facts: Facts) -> Iterator[Problem]:
    region = facts.environment.region
    for block in node_blocks(facts.environment):
        instance_type = type_of(facts, block)
        if instance_type is None or not instance_type.api_known or region not in facts.catalog.regions:
            continue
        if region not in instance_type.regions:
            yield Problem(
                (*block.path, "instance_type"),
                repr(block.type_name),
                one_of(instance_type.regions) if instance_type.regions else "",
                f"not offered in {region}; it is in: {', '.join(instance_type.regions) or 'no region that is known'}",
                "change region and zone_id, or the type",
            )


def type_is_in_zone(facts: Facts) -> Iterator[Problem]:
    zone_id, region = facts.environment.network.zone_id, facts.environment.region
    for block in node_blocks(facts.environment):
        instance_type = type_of(facts, block)
        zones = instance_type.zone_ids.get(region, ()) if instance_type else ()
        if zones and region_of_zone_id(zone_id) == region and zone_id not in zones:
            yield Problem(
                ("network", "zone_id"),
                repr(zone_id),
                one_of(zones),
                f"{block.type_name} ({block.words}) is not offered in this zone",
                f"write {zones[0]}",
            )


def logical_core_size_fits_chip(facts: Facts) -> Iterator[Problem]:
    for block in neuron_blocks(facts.environment):
        instance_type, size = type_of(facts, block), logical_core_size_of(facts, block)
        chip = instance_type.chip if instance_type else None
        if chip and size and size not in chip.logical_core_sizes:
            yield Problem(
                (*block.path, "logical_core_size"),
                str(size),
                one_of(str(each) for each in chip.logical_core_sizes),
                f"{chip.name} cannot join its physical cores so",
                "leave the key out",
            )


def logical_core_size_is_known(facts: Facts) -> Iterator[Problem]:
    for block in neuron_blocks(facts.environment):
        instance_type = type_of(facts, block)
        chip = instance_type.chip if instance_type else None
        if chip and logical_core_size_of(facts, block) is None and chip.default_logical_core_size is None:
            yield Problem(
                block.path,
                "no logical_core_size",
                one_of(str(size) for size in chip.logical_core_sizes),
                f"no source states the default of {chip.name}: {chip.note}",
                "write logical_core_size: the number that the model is compiled for",
                at_key=True,
            )


def _types_without_offerings(facts: Facts) -> Iterator[object]:
    for block in node_blocks(facts.environment):
        instance_type = type_of(facts, block)
        if instance_type is not None and not instance_type.api_known:
            yield CouldNotAsk(f"no API names {instance_type.name}")


UNLISTED = Need("where and how EC2 sells a type that only the file names", _types_without_offerings)

RULES = (
    Rule("NK201", Severity.ERROR, "unknown region", "nothing can be looked up for it", ZONES_SOURCE, region_exists),
    Rule(
        "NK202", Severity.ERROR, "a zone of another region",
        "zone letters differ from account to account; zone ids belong to one region", ZONES_SOURCE, zone_is_of_region,
    ),
    Rule("NK203", Severity.WARNING, "unknown zone", "the subnet could not be made", ZONES_SOURCE, zone_exists),
    Rule(
        "NK204", Severity.ERROR, "unknown instance type",
        "lists elsewhere name types that do not exist", TYPES_SOURCE, type_exists,
    ),
    Rule("NK205", Severity.ERROR, "no Neuron chips", "images and runtime are Neuron's", TYPES_SOURCE, type_has_chips),
    Rule(
        "NK206", Severity.ERROR, "type not offered in the region",
        "an on-demand group of a type that is not there fails for ever", OFFERINGS_SOURCE, type_is_in_region, UNLISTED, can_be_forced=True,
    ),
    Rule(
        "NK207", Severity.ERROR, "type not offered in the zone",
        "nodes live in one zone, and few zones have the chips", OFFERINGS_SOURCE, type_is_in_zone, UNLISTED, can_be_forced=True,
    ),
    Rule(
        "NK208", Severity.ERROR, "logical core size the chip does not have",
        "a runtime with another LNC than the compiled model does not load it",
        "aws-neuron-sdk@81ce03ae about-neuron/arch/neuron-features/logical-neuroncore-config.rst", logical_core_size_fits_chip,
    ),
    Rule(
        "NK209", Severity.ERROR, "logical core size that nothing states", "compiled model, runtime and ranks must agree on it",
        "aws-neuron-sdk@81ce03ae about-neuron/arch/neuron-hardware/trainium3.rst, nki/api/nki/__init__.py:24", logical_core_size_is_known,
    ),
)  # fmt: skip
